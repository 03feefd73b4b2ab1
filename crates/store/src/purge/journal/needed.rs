//! Which purges a file must have.

use crate::purge::mark::EARLIER;
use std::{
    collections::{HashMap, hash_map::Entry},
    hash::Hash,
    mem,
};

/// Purges `P` by what they name, without those that a file need not have: where each names one thing, the same
/// [`Mark`](crate::purge::mark::Mark) comes of the rest as of all.
#[derive(Debug)]
pub(super) struct Needed<K, P> {
    /// The last of each.
    hard: HashMap<K, P>,
    soft: HashMap<K, Row<P>>,
}

/// Soft purges since the last hard one: a mark tells the last ones apart, and of those before them it has the moment of the first.
#[derive(Debug)]
struct Row<P> {
    last: P,
    /// The first, and those that a mark keeps besides the last, the latest at the end.
    before: Vec<P>,
    /// A hard one has come since. The last stays: it may not have reached those that the hard one came from
    /// ([`unsent`](super::Remembered::unsent)).
    is_over: bool,
}

impl<K, P> Default for Needed<K, P> {
    fn default() -> Self {
        Self {
            hard: HashMap::new(),
            soft: HashMap::new(),
        }
    }
}

impl<K: Eq + Hash, P> Needed<K, P> {
    /// Adds a later purge than all before. Returns those that are not needed any more.
    pub fn put(&mut self, what: K, soft: bool, purge: P) -> Vec<P> {
        if !soft {
            let row = self.soft.get_mut(&what);
            let mut gone = row.map(Row::end).unwrap_or_default();
            gone.extend(self.hard.insert(what, purge));
            return gone;
        }
        match self.soft.entry(what) {
            Entry::Occupied(mut row) => row.get_mut().put(purge),
            Entry::Vacant(none) => {
                none.insert(Row::of(purge));
                Vec::new()
            }
        }
    }

    /// Leaves those that are `live`; where one is, all later ones are.
    pub fn retain(&mut self, live: impl Fn(&P) -> bool) {
        self.hard.retain(|_, purge| live(purge));
        self.soft.retain(|_, row| {
            row.before.retain(&live);
            live(&row.last)
        });
    }

    /// All that are needed, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &P> {
        let rows = self.soft.values();
        let soft = rows.flat_map(|row| row.before.iter().chain([&row.last]));
        self.hard.values().chain(soft)
    }
}

impl<P> Row<P> {
    fn of(first: P) -> Self {
        Self {
            last: first,
            before: Vec::new(),
            is_over: false,
        }
    }

    fn put(&mut self, purge: P) -> Vec<P> {
        let last = mem::replace(&mut self.last, purge);
        if mem::take(&mut self.is_over) {
            return vec![last];
        }
        self.before.push(last);
        // The first, and the earlier ones.
        let over = (self.before.len() > 1 + EARLIER).then(|| self.before.remove(1));
        over.into_iter().collect()
    }

    fn end(&mut self) -> Vec<P> {
        self.is_over = true;
        mem::take(&mut self.before)
    }
}
