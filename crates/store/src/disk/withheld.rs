//! Keys and variants of which something newer came, or was forgotten, before it was known what else an earlier run left
//! of them.

use super::index::Spot;
use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// At most this many keys are remembered.
const MOST: usize = 4096;
/// At most this many variants are remembered exactly.
const MOST_VARIANTS: usize = 65_536;
/// The bits for further variants are numbered with so many binary digits: they take 128 KiB in all.
const DIGITS: u32 = 20;

/// The keys and variants. What is found of them while the tier is loaded is given up. `None` once all is loaded.
#[derive(Debug)]
pub(super) struct Withheld(Mutex<Option<Held>>);

#[derive(Debug, Default)]
struct Held {
    /// Whole keys by their hashes.
    keys: HashMap<u64, Box<[u8]>>,
    variants: Variants,
}

/// A set of variants of keys, by their hashes, that has room for any number. Beyond [`MOST_VARIANTS`], several share a
/// bit: then others may seem to be in the set, which have to be fetched again.
#[derive(Debug, Default)]
struct Variants {
    exact: HashSet<(u64, u32)>,
    /// Made when it is needed.
    further: Box<[u64]>,
}

impl Variants {
    fn add(&mut self, key: u64, variant: u32) {
        if self.exact.len() < MOST_VARIANTS {
            self.exact.insert((key, variant));
            return;
        }
        if self.further.is_empty() {
            self.further = vec![0; 1 << (DIGITS - u64::BITS.ilog2())].into();
        }
        let (word, bit) = Self::place(key, variant);
        if let Some(bits) = self.further.get_mut(word) {
            *bits |= bit;
        }
    }

    fn may_have(&self, key: u64, variant: u32) -> bool {
        let (word, bit) = Self::place(key, variant);
        let is_further = || self.further.get(word).is_some_and(|bits| bits & bit != 0);
        self.exact.contains(&(key, variant)) || is_further()
    }

    /// The word that has the variant's bit, and that bit.
    fn place(key: u64, variant: u32) -> (usize, u64) {
        /// Spreads a variant over all digits.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = key ^ u64::from(variant).wrapping_mul(SPREAD);
        let number = mixed >> (u64::BITS - DIGITS);
        let word = number / u64::from(u64::BITS);
        (word as usize, 1 << (number % u64::from(u64::BITS)))
    }
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

    /// Remembers a variant of the key with this hash. Does nothing once all is loaded.
    pub fn add_variant(&self, hash: u64, variant: u32) {
        if let Some(held) = &mut *self.lock() {
            held.variants.add(hash, variant);
        }
    }

    /// The remembered key with this hash, if there is one.
    pub fn key(&self, hash: u64) -> Option<Box<[u8]>> {
        self.lock().as_ref()?.keys.get(&hash).cloned()
    }

    /// Does `act`, unless `found` is of a remembered variant, or seems to be. A variant that is added at this moment is
    /// added before or after `act`.
    pub fn unless_held<T>(&self, found: Spot, act: impl FnOnce() -> T) -> Option<T> {
        let held = self.lock();
        let is_held = |held: &Held| held.variants.may_have(found.key, found.variant);
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
