//! Keys and variants of which something newer came and was not taken, before it was known what an earlier run left of
//! them.

use super::index::Spot;
use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// At most this many keys are remembered.
const MOST: usize = 4096;
/// At most this many variants are remembered. Each takes a few bytes.
pub(super) const MOST_VARIANTS: usize = 1 << 16;

/// The keys and variants. What is found of them while the tier is loaded is given up. `None` once all is loaded.
#[derive(Debug)]
pub(super) struct Withheld(Mutex<Option<Held>>);

#[derive(Debug, Default)]
struct Held {
    /// Whole keys by their hashes.
    keys: HashMap<u64, Box<[u8]>>,
    /// Each with the hashes of a key and of one of its variants.
    variants: HashSet<(u64, u32)>,
}

impl Default for Withheld {
    fn default() -> Self {
        Self(Mutex::new(Some(Held::default())))
    }
}

impl Withheld {
    /// Remembers a key. False if all is loaded, or there are too many.
    pub fn add(&self, hash: u64, key: &[u8]) -> bool {
        let mut held = self.lock();
        match &mut *held {
            Some(Held { keys, .. }) if keys.len() < MOST || keys.contains_key(&hash) => {
                keys.insert(hash, key.into());
                true
            }
            Some(_) | None => false,
        }
    }

    /// Remembers a variant of the key with this hash. False if there are too many. Does nothing once all is loaded.
    pub fn add_variant(&self, hash: u64, variant: u32) -> bool {
        let mut held = self.lock();
        let Some(Held { variants, .. }) = &mut *held else {
            return true;
        };
        let has_room = variants.len() < MOST_VARIANTS || variants.contains(&(hash, variant));
        if has_room {
            variants.insert((hash, variant));
        }
        has_room
    }

    /// The remembered key with this hash, if there is one.
    pub fn key(&self, hash: u64) -> Option<Box<[u8]>> {
        self.lock().as_ref()?.keys.get(&hash).cloned()
    }

    /// Does `act`, unless `found` is of a remembered variant. A variant that is added at this moment is added before or
    /// after `act`.
    pub fn unless_held<T>(&self, found: Spot, act: impl FnOnce() -> T) -> Option<T> {
        let held = self.lock();
        let is_held = |held: &Held| held.variants.contains(&(found.key, found.variant));
        (!held.as_ref().is_some_and(is_held)).then(act)
    }

    /// Notes that all is loaded.
    pub fn end(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
