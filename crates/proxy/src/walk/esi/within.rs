//! Which pages an include is part of.

use std::{cell::Cell, rc::Rc};

/// Pages within one another, at most.
const MOST_DEEP: usize = 5;

/// Includes for one request of a client, those of its fragments counted, at most.
const MOST_INCLUDES: usize = 256;

/// A page that is being composed, and those it is part of.
#[derive(Debug)]
pub struct Within {
    key: Box<[u8]>,
    outer: Option<Rc<Within>>,
    depth: usize,
    /// Includes that may still be asked for, of all of these pages together.
    left: Rc<Cell<usize>>,
    /// As the client's request has it.
    pub for_another: bool,
    /// It is no include, but the question which group of users asks.
    pub asks_group: bool,
}

impl Within {
    /// The page under `key`, itself within `outer`. No include has an empty key.
    pub fn new(key: &[u8], outer: Option<Rc<Self>>, for_another: bool) -> Rc<Self> {
        let depth = outer.as_ref().map_or(1, |outer| outer.depth + 1);
        let left = outer.as_ref().map(|outer| outer.left.clone());
        Rc::new(Self {
            key: key.into(),
            outer,
            depth,
            left: left.unwrap_or_else(|| Rc::new(Cell::new(MOST_INCLUDES))),
            for_another,
            asks_group: false,
        })
    }

    /// Whether one more include may be asked for. It is counted.
    pub fn admits(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0 && self.depth <= MOST_DEEP
    }

    /// Whether the page under `key` is one of these: it would include itself.
    pub fn has(&self, key: &[u8]) -> bool {
        *self.key == *key || self.outer.as_ref().is_some_and(|outer| outer.has(key))
    }
}
