//! The pages that an include is part of.

use std::{cell::Cell, rc::Rc};

/// The most pages within one another.
const MOST_DEEP: usize = 5;

/// The most includes for one request of a client, those of its fragments included.
const MOST_INCLUDES: usize = 256;

/// A page that is being composed, and the pages it is part of.
#[derive(Debug)]
pub struct Within {
    key: Box<[u8]>,
    outer: Option<Rc<Within>>,
    depth: usize,
    /// How many includes may still be asked for, in all of these pages together.
    left: Rc<Cell<usize>>,
    /// As for the client's request.
    pub for_another: bool,
    /// Whether it is no include but the request that asks which group the client belongs to.
    pub asks_group: bool,
}

impl Within {
    /// The page with the key `key`, itself within `outer`. No include has an empty key.
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

    /// Counts one more include, and returns whether it may be asked for.
    pub fn admits(&self) -> bool {
        let is_used_up = self.is_used_up();
        self.left.set(self.left.get().saturating_sub(1));
        !is_used_up
    }

    /// Whether no more includes may be asked for.
    pub fn is_used_up(&self) -> bool {
        self.left.get() == 0 || self.depth > MOST_DEEP
    }

    /// Whether the page with the key `key` is one of these, so that it would include itself.
    pub fn has(&self, key: &[u8]) -> bool {
        *self.key == *key || self.outer.as_ref().is_some_and(|outer| outer.has(key))
    }
}
