//! Puts responses into the table, as far as there is room for them.

use super::{Memory, cache::entry_weight, capacity, leaving};
use crate::{Variants, body::Block};
use std::sync::atomic::Ordering::Relaxed;

/// The variants of a key for which there is room.
struct Fitting {
    variants: Option<Variants>,
    /// The blocks that only the others refer to.
    dropped: Vec<Block>,
    /// Whether the response that was to be kept is among the variants.
    is_put: bool,
}

impl Memory {
    /// Replaces what is stored by what `change` makes of it, like [`put`](Self::put). Returns false if `change` returns
    /// `None`.
    pub(super) fn change(
        &self,
        key: &[u8],
        kept: Option<u64>,
        change: impl FnOnce(&Variants) -> Option<Variants>,
    ) -> bool {
        let _guard = self.hold(key);
        let changed = self.entries.peek(key).and_then(|old| change(&old));
        let done = changed.is_some();
        if done {
            self.put(key, changed, kept);
        }
        done
    }

    /// Puts `variants` under `key`. The caller holds the key's stripe.
    ///
    /// If there is no room for all of them, the oldest are dropped, but not the one of identity `kept`, or the newest
    /// if that is `None`. If that one alone is too large, it is dropped and the others stay: then this returns false.
    pub(super) fn put(&self, key: &[u8], variants: Option<Variants>, kept: Option<u64>) -> bool {
        self.make_room();
        let Fitting {
            variants,
            mut dropped,
            is_put,
        } = self.fitting(key, variants, kept);
        if let Some(old) = self.entries.peek(key) {
            dropped.extend(leaving::blocks_of(&old, variants.as_ref()));
        }
        if let Some(variants) = &variants {
            self.evictions.leaving.comes_back(variants);
        }
        self.enter(key, variants);
        self.evictions.leaving.add(dropped);
        is_put
    }

    fn fitting(&self, key: &[u8], variants: Option<Variants>, kept: Option<u64>) -> Fitting {
        let most = self.heaviest(key);
        let all = match variants {
            Some(all) if all.weight() > most => all,
            variants => {
                return Fitting {
                    variants,
                    dropped: Vec::new(),
                    is_put: true,
                };
            }
        };
        let kept = kept.unwrap_or(all.newest());
        let fitting = all.clone().within(most, kept);
        let is_put = fitting.is_some();
        let others = || {
            let others = all.without(kept)?;
            let newest = others.newest();
            others.within(most, newest)
        };
        let variants = fitting.or_else(others);
        Fitting {
            dropped: leaving::blocks_of(&all, variants.as_ref()),
            variants,
            is_put,
        }
    }

    /// What the variants of `key` may weigh.
    pub(super) fn heaviest(&self, key: &[u8]) -> u64 {
        let capacity = self.capacity.load(Relaxed);
        capacity::heaviest(capacity, self.shards()).saturating_sub(entry_weight(key.len()))
    }

    fn enter(&self, key: &[u8], variants: Option<Variants>) {
        let Some(variants) = variants else {
            self.entries.remove(key);
            return;
        };
        if key.contains(&b'\n') {
            self.long_keys.store(true, Relaxed);
        }
        // `replace` keeps the entry's place in the eviction order; `insert` would count as a new arrival.
        if let Err((key, variants)) = self.entries.replace(key.into(), variants, true) {
            self.entries.insert(key, variants);
        }
    }
}
