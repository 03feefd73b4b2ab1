//! The targets still to fetch: each once, in the order in which they were found, within bounds.

use std::{
    collections::{HashSet, VecDeque},
    rc::Rc,
};

/// How far a crawl goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The most targets, including redirects and pages that do not exist.
    pub pages: usize,
    /// The most links between a starting point and a page.
    pub depth: u32,
}

/// A target that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Path and query.
    pub target: Rc<str>,
    /// The number of links from the starting point; 0 for the starting point itself.
    pub depth: u32,
    /// The page on which it was found first; `None` for a starting point.
    pub on: Option<Rc<str>>,
}

/// Targets that were found and will not be fetched, because of one bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// How many, at least. If there were too many targets, each counts as often as it was found.
    pub count: u64,
    /// The first of them.
    pub example: Option<Rc<str>>,
}

impl LeftOut {
    fn add(&mut self, target: &Rc<str>) {
        self.count += 1;
        self.example.get_or_insert_with(|| target.clone());
    }
}

/// Targets that were found and not yet taken.
#[derive(Debug)]
pub struct Frontier {
    bounds: Bounds,
    known: HashSet<Rc<str>>,
    /// The part of `known` that is left out because of its depth. Such a target may be found again nearer to a start.
    deep: HashSet<Rc<str>>,
    waiting: VecDeque<Found>,
    found: usize,
    many: LeftOut,
}

impl Frontier {
    /// An empty frontier. Targets in `known` are not taken, even if they are found.
    pub fn new(bounds: Bounds, known: impl IntoIterator<Item = Rc<str>>) -> Self {
        Self {
            bounds,
            known: known.into_iter().collect(),
            deep: HashSet::new(),
            waiting: VecDeque::new(),
            found: 0,
            many: LeftOut::default(),
        }
    }

    /// Adds a starting point.
    pub fn start(&mut self, target: &str) {
        self.add(target, 0, None);
    }

    /// Adds a starting point that has to be fetched, however many there are already. It counts like the others.
    pub fn must(&mut self, target: &str) {
        if !self.known.contains(target) {
            self.put(target.into(), 0, None);
        }
    }

    /// Adds a target that is linked on `page`.
    pub fn link(&mut self, target: &str, page: &Found) {
        self.add(target, page.depth.saturating_add(1), Some(&page.target));
    }

    fn add(&mut self, target: &str, depth: u32, on: Option<&Rc<str>>) {
        let is_deep = depth > self.bounds.depth;
        if self.known.contains(target) && (is_deep || !self.deep.contains(target)) {
            return;
        }
        let target: Rc<str> = target.into();
        if self.found >= self.bounds.pages {
            self.many.add(&target);
            return;
        }
        if is_deep {
            // Bounded like the others: an endless calendar may show thousands of days on its last page.
            if self.deep.len() < self.bounds.pages {
                self.known.insert(target.clone());
                self.deep.insert(target);
            }
            return;
        }
        self.deep.remove(&target);
        self.put(target, depth, on);
    }

    fn put(&mut self, target: Rc<str>, depth: u32, on: Option<&Rc<str>>) {
        self.known.insert(target.clone());
        self.found += 1;
        let on = on.cloned();
        self.waiting.push_back(Found { target, depth, on });
    }

    /// Takes the next target to fetch.
    pub fn take(&mut self) -> Option<Found> {
        self.waiting.pop_front()
    }

    /// How many targets were found that were or will be fetched.
    pub fn found(&self) -> usize {
        self.found
    }

    /// The targets left out because there were too many.
    pub fn too_many(&self) -> &LeftOut {
        &self.many
    }

    /// The targets left out because they are too far from the start.
    pub fn too_deep(&self) -> LeftOut {
        LeftOut {
            count: self.deep.len() as u64,
            example: self.deep.iter().min().cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(frontier: &mut Frontier) -> Vec<String> {
        std::iter::from_fn(|| Some(frontier.take()?.target.to_string())).collect()
    }

    #[test]
    fn each_target_is_taken_once() {
        let bounds = Bounds {
            pages: 10,
            depth: 1,
        };
        let mut frontier = Frontier::new(bounds, ["/known".into()]);
        frontier.start("/");
        let root = frontier.take().expect("a start");
        for target in ["/", "/a", "/a", "/known", "/b"] {
            frontier.link(target, &root);
        }
        assert_eq!(names(&mut frontier), ["/a", "/b"]);
        assert_eq!(frontier.found(), 3);
    }

    #[test]
    fn what_is_too_deep_may_be_found_nearer() {
        let mut frontier = Frontier::new(
            Bounds {
                pages: 10,
                depth: 1,
            },
            [],
        );
        frontier.start("/");
        let root = frontier.take().expect("a start");
        frontier.link("/a", &root);
        let a = frontier.take().expect("a link");
        frontier.link("/a/b", &a);
        frontier.link("/a/c", &a);
        assert_eq!(frontier.too_deep().count, 2);
        frontier.link("/a/b", &root);
        assert_eq!(names(&mut frontier), ["/a/b"]);
        let left = frontier.too_deep();
        assert_eq!((left.count, left.example.as_deref()), (1, Some("/a/c")));
    }

    #[test]
    fn there_are_never_too_many() {
        let mut frontier = Frontier::new(Bounds { pages: 2, depth: 9 }, []);
        for target in ["/1", "/2", "/3", "/4"] {
            frontier.start(target);
        }
        assert_eq!(names(&mut frontier), ["/1", "/2"]);
        let left = frontier.too_many();
        assert_eq!((left.count, left.example.as_deref()), (2, Some("/3")));
        for target in ["/4", "/4", "/1"] {
            frontier.must(target);
        }
        frontier.start("/5");
        assert_eq!(
            (names(&mut frontier), frontier.found()),
            (vec!["/4".to_owned()], 3)
        );
    }
}
