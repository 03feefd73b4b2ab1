//! Keys of which something newer came, and was not taken, before it was known what an earlier run left of them.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// At most this many are remembered.
const MOST: usize = 4096;

/// What is found of these keys while the tier is loaded is given up. By hash, with the whole key; `None` once all is loaded.
#[derive(Debug)]
pub(super) struct Withheld(Mutex<Option<HashMap<u64, Box<[u8]>>>>);

impl Default for Withheld {
    fn default() -> Self {
        Self(Mutex::new(Some(HashMap::new())))
    }
}

impl Withheld {
    /// Remembers a key. False where all is loaded, or there are too many.
    pub fn add(&self, hash: u64, key: &[u8]) -> bool {
        let mut held = self.lock();
        match &mut *held {
            Some(keys) if keys.len() < MOST || keys.contains_key(&hash) => {
                keys.insert(hash, key.into());
                true
            }
            Some(_) | None => false,
        }
    }

    /// The key of this hash, if it is one of them.
    pub fn key(&self, hash: u64) -> Option<Box<[u8]>> {
        self.lock().as_ref()?.get(&hash).cloned()
    }

    /// All is loaded.
    pub fn end(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, Box<[u8]>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
