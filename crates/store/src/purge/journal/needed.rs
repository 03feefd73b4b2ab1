//! Finds the purges that a file must have.

use crate::purge::last::EARLIER;
use std::{
    collections::{HashMap, hash_map::Entry},
    hash::Hash,
    mem,
};

/// Purges `P` by what they name, without those that a file does not need: if each names one thing, the rest makes the
/// same [`LastPurges`](crate::purge::last::LastPurges) as all of them.
#[derive(Debug)]
pub(super) struct Needed<K, P> {
    /// The last hard purge of each thing.
    hard: HashMap<K, P>,
    soft: HashMap<K, Row<P>>,
}

/// The soft purges since the last hard one. A mark tells the last ones apart, and of those before them it has the time
/// of the first.
#[derive(Debug)]
struct Row<P> {
    last: P,
    /// The first, and those that a mark keeps besides the last, the latest at the end.
    before: Vec<P>,
    /// A hard purge has come since. The last soft one stays, because it may not have reached the nodes from which the
    /// hard one came ([`unsent`](super::Remembered::unsent)).
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
    /// Adds a purge that is later than all before. Returns the purges that are not needed any more.
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

    /// Keeps the purges that are `live`. If one is, so are all later ones.
    pub fn retain(&mut self, live: impl Fn(&P) -> bool) {
        self.hard.retain(|_, purge| live(purge));
        self.soft.retain(|_, row| {
            row.before.retain(&live);
            live(&row.last)
        });
    }

    /// All purges that are needed, in no order.
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
        // The first, and the earlier ones that a mark keeps.
        let over = (self.before.len() > 1 + EARLIER).then(|| self.before.remove(1));
        over.into_iter().collect()
    }

    fn end(&mut self) -> Vec<P> {
        self.is_over = true;
        mem::take(&mut self.before)
    }
}
