//! Assigns names: no two pages share a file, and none has a file where another needs a folder.

use super::name;
use std::collections::HashMap;

/// The names in use. The first page that asks for a name has it until it [releases](Names::release) it.
#[derive(Debug)]
pub struct Names {
    /// Whether the file system takes `A` and `a` for one name.
    folds_case: bool,
    files: HashMap<String, String>,
    /// The folders that are needed, and by how many files.
    folders: HashMap<String, usize>,
}

impl Names {
    /// No names yet. `folds_case` means that the file system treats upper and lower case as the same.
    pub fn new(folds_case: bool) -> Self {
        Self {
            folds_case,
            files: HashMap::new(),
            folders: HashMap::new(),
        }
    }

    /// Chooses a name for `target`, whose answer has this type: the [preferred](name::preferred) one if it is free,
    /// otherwise a [hidden](name::hidden) one.
    pub fn choose(&mut self, target: &str, kind: Option<&str>) -> String {
        if let Some(name) = name::preferred(target, kind)
            && self.claim(&name, target)
        {
            return name;
        }
        let mut again = 0;
        loop {
            let name = name::hidden(target, kind, again);
            if self.claim(&name, target) {
                return name;
            }
            again += 1;
        }
    }

    /// Takes `name` for `target`. Returns whether it was free, or already belonged to the target.
    pub fn claim(&mut self, name: &str, target: &str) -> bool {
        let name = self.folded(name);
        if let Some(owner) = self.files.get(&name) {
            return owner == target;
        }
        let taken = self.folders.contains_key(&name)
            || folders(&name).any(|folder| self.files.contains_key(folder));
        if taken {
            return false;
        }
        for folder in folders(&name) {
            *self.folders.entry(folder.to_owned()).or_default() += 1;
        }
        self.files.insert(name, target.to_owned());
        true
    }

    /// Releases a name of `target`.
    pub fn release(&mut self, name: &str, target: &str) {
        let name = self.folded(name);
        if self.files.get(&name).is_none_or(|owner| owner != target) {
            return;
        }
        self.files.remove(&name);
        for folder in folders(&name) {
            if let Some(count) = self.folders.get_mut(folder) {
                *count -= 1;
                if *count == 0 {
                    self.folders.remove(folder);
                }
            }
        }
    }

    /// Releases a name, whoever has it.
    pub fn forget(&mut self, name: &str) {
        if let Some(owner) = self.files.get(&self.folded(name)).cloned() {
            self.release(name, &owner);
        }
    }

    fn folded(&self, name: &str) -> String {
        if self.folds_case {
            name.to_lowercase()
        } else {
            name.to_owned()
        }
    }
}

/// The folders above a file, outermost first.
fn folders(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('/').filter_map(|(at, _)| name.get(..at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    const HTML: Option<&str> = Some("text/html");
    const DATA: Option<&str> = Some("application/x-own");

    #[test]
    fn pages_that_want_one_name() {
        for (first, second, kind) in [
            ("/a", "/a.html", HTML),
            ("/", "/index.html", HTML),
            ("/", "/index", HTML),
            ("/a.b", "/a.b/c.d", DATA),
            ("/a.b/c.d", "/a.b", DATA),
        ] {
            let mut names = Names::new(false);
            let (one, other) = (names.choose(first, kind), names.choose(second, kind));
            assert_eq!(Some(&one), name::preferred(first, kind).as_ref(), "{first}");
            assert_eq!(other, name::hidden(second, kind, 0), "{second}");
            names.release(&one, first);
            assert_eq!(
                Some(names.choose(second, kind)),
                name::preferred(second, kind),
                "{second}"
            );
        }
    }

    #[test]
    fn a_page_and_a_folder_of_one_name_do_not_collide() {
        let mut names = Names::new(false);
        let all = ["/a", "/a/", "/a/b", "/a/b/"].map(|target| names.choose(target, HTML));
        assert_eq!(
            all,
            ["a.html", "a/index.html", "a/b.html", "a/b/index.html"]
        );
    }

    #[test]
    fn case_counts_where_the_file_system_says_so() {
        let choose = |folds| {
            let mut names = Names::new(folds);
            ["/Page", "/page"].map(|target| names.choose(target, HTML))
        };
        assert_eq!(choose(false), ["Page.html", "page.html"]);
        assert_eq!(
            choose(true),
            ["Page.html".to_owned(), name::hidden("/page", HTML, 0)]
        );
    }

    proptest! {
        #[test]
        fn no_two_pages_share_a_file(
            targets in prop::collection::hash_set(r"/(a|A|b|\.html|\.b|/|\?x|index){0,6}", 0..20),
            folds: bool,
            html: bool,
        ) {
            let mut names = Names::new(folds);
            let kind = if html { HTML } else { DATA };
            let mut seen = HashSet::new();
            for target in &targets {
                let name = names.choose(target, kind);
                prop_assert!(name::is_safe(&name));
                prop_assert_eq!(&names.choose(target, kind), &name);
                let folded = if folds { name.to_lowercase() } else { name };
                prop_assert!(seen.insert(folded));
            }
            for file in &seen {
                prop_assert!(folders(file).all(|folder| !seen.contains(folder)));
            }
        }
    }
}
