//! What must not be answered any more although it may still be found: cache groups (RFC 9875) and URIs whose stored
//! responses cannot be enumerated because their keys hold more than the URI.
//!
//! Each invalidation gets the next number of a sequence. A stored response that carries [`Marks`] knows the number at
//! which its fetch began; it is dead when any of its marks was invalidated later. Responses without marks ask nothing.

use std::{
    collections::HashMap,
    sync::{
        RwLock,
        atomic::{
            AtomicU64,
            Ordering::{AcqRel, Acquire, Relaxed},
        },
    },
};

/// The names under which a stored response can be invalidated, besides its key.
#[derive(Debug)]
pub struct Marks {
    names: Box<[Box<str>]>,
    /// The sequence number up to which `names` are known to be good.
    checked: AtomicU64,
}

impl Marks {
    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// Marks for a response whose fetch began when the sequence stood at `began`.
    pub fn new(names: Vec<String>, began: u64) -> Self {
        Self {
            names: names.into_iter().map(String::into_boxed_str).collect(),
            checked: AtomicU64::new(began),
        }
    }
}

/// At most this many names are remembered; past it the table is emptied and every marked response that was fetched
/// before counts as invalidated: forgetting errs towards fetching again.
const MOST_NAMES: usize = 65_536;

/// The log of invalidations by name.
#[derive(Debug, Default)]
pub struct Invalidations {
    /// The number of the last invalidation. Read on each hit of a marked response; written rarely.
    head: AtomicU64,
    table: RwLock<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// Responses fetched before this number are dead, if marked.
    floor: u64,
    names: HashMap<Box<str>, u64>,
}

impl Invalidations {
    /// The number to note when a fetch begins.
    pub fn now(&self) -> u64 {
        self.head.load(Acquire)
    }

    /// Invalidates every response that carries `name` and whose fetch began before this call returns.
    pub fn append(&self, name: &str) {
        let mut table = self
            .table
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let number = self.head.load(Relaxed) + 1;
        if table.names.len() >= MOST_NAMES && !table.names.contains_key(name) {
            table.names.clear();
            table.floor = number;
        }
        table.names.insert(name.into(), number);
        self.head
            .store(number, std::sync::atomic::Ordering::Release);
    }

    /// Whether a response with these marks is still good. One compare where nothing was invalidated since the last look.
    pub fn good(&self, marks: &Marks) -> bool {
        let head = self.now();
        let checked = marks.checked.load(Acquire);
        if checked >= head {
            return true;
        }
        let table = self
            .table
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let dead = checked < table.floor
            || marks.names.iter().any(|name| {
                table
                    .names
                    .get(name)
                    .is_some_and(|number| *number > checked)
            });
        drop(table);
        if !dead {
            let _ = marks
                .checked
                .compare_exchange(checked, head, AcqRel, Relaxed);
        }
        !dead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_fetched_before_and_bears_the_name_is_dead() {
        let log = Invalidations::default();
        let before = Marks::new(vec!["a".into(), "b".into()], log.now());
        let other = Marks::new(vec!["c".into()], log.now());
        log.append("b");
        let after = Marks::new(vec!["b".into()], log.now());
        assert!(!log.good(&before));
        assert!(!log.good(&before), "stays dead");
        assert!(log.good(&other));
        assert!(log.good(&after));
    }

    #[test]
    fn the_table_is_bounded_and_forgetting_invalidates() {
        let log = Invalidations::default();
        let old = Marks::new(vec!["never named".into()], log.now());
        for number in 0..=MOST_NAMES {
            log.append(&format!("n{number}"));
        }
        assert!(!log.good(&old));
        assert!(log.good(&Marks::new(vec!["x".into()], log.now())));
    }
}
