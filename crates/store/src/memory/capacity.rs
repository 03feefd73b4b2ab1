//! How much may be stored, in steps for which the arithmetic of the cache below loses nothing.
//!
//! Of a shard `quick_cache` has two figures besides its capacity: how much of that is for what is asked for often, and how many keys it
//! remembers of what it has evicted. By those it knows what is asked for again, and takes it in for good. When the capacity changes, it
//! reckons each anew from what it was last, and drops what is behind the point. After enough changes it would remember nothing, and take in
//! nothing new any more. So both are whole numbers at each step here, and these are what it reckons: from all to a step it divides by a
//! power of two, and on the way back it comes out too, but for [one](UNEVEN). Between two other steps it would not always, so all
//! ways lead by way of all.

use super::cache::for_stored;
use quick_cache::{Lifecycle, Weighter, sync::Cache};
use std::hash::{BuildHasher, Hash};

/// Into how many steps all that may be stored is divided.
const STEPS: u64 = 64;

/// What is 49 of 64 parts is, by numbers of double precision, less than all when multiplied by 64/49. The step below is taken.
const UNEVEN: u64 = 49;

/// One in so many bytes is for what was asked for once.
const COLD: u64 = 32;

/// How much of a shard is for what is asked for often: the others.
pub(super) const HOT: f64 = 31.0 / 32.0;

/// All that may be stored of a tier's `limit`, in `shards`.
pub(super) fn most(limit: u64, shards: u64) -> u64 {
    step(limit, shards) * STEPS
}

/// What may be stored while `taken` bytes are in flight: a step at least.
pub(super) fn beside(limit: u64, shards: u64, taken: u64) -> u64 {
    let step = step(limit, shards);
    let left = for_stored(limit).saturating_sub(taken);
    let steps = left.checked_div(step).unwrap_or(1).clamp(1, STEPS);
    step * (steps - u64::from(steps == UNEVEN))
}

fn step(limit: u64, shards: u64) -> u64 {
    let unit = COLD * shards;
    for_stored(limit) / STEPS / unit * unit
}

/// How many entries a cache is to expect in `shards` where `about` so many fit: a power of two in each. It remembers half as many keys, which
/// are to be a multiple of the steps.
pub(super) fn expected(about: u64, shards: u64) -> u64 {
    shards << (about / shards).max(1).ilog2()
}

/// What an entry may weigh where `capacity` bytes may be stored, in `shards`. The cache drops what is heavier, and what that would take the
/// place of.
pub(super) const fn heaviest(capacity: u64, shards: u64) -> u64 {
    let shard = capacity / shards;
    shard - shard / COLD
}

/// Gives `cache` the capacity `wanted`, one that [`beside`] gives, as its last one was. For a moment it has that of [`most`]: what others put
/// into it meanwhile, and is too much, is evicted at once.
pub(super) fn change<K, V, W, B, L>(cache: &Cache<K, V, W, B, L>, most: u64, wanted: u64)
where
    K: Eq + Hash,
    V: Clone,
    W: Weighter<K, V> + Clone,
    B: BuildHasher + Clone,
    L: Lifecycle<K, V> + Clone,
{
    cache.set_capacity(most);
    if wanted != most {
        cache.set_capacity(wanted);
    }
}

#[cfg(test)]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "as the library reckons"
)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Of one shard, what `CacheShard` has of it: capacity, what of it is for what is asked for often, keys remembered.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Shard(u64, u64, u64);

    impl Shard {
        fn new(limit: u64, shards: u64) -> Self {
            let capacity = most(limit, shards).div_ceil(shards);
            let expected = expected((limit / 4096).clamp(128, 1 << 20), shards).div_ceil(shards);
            let hot = (capacity as f64 * HOT) as u64;
            Self(capacity, hot, (expected as f64 * 0.5) as u64)
        }

        /// As `CacheShard::set_capacity`.
        fn set(&mut self, new: u64) {
            let on = new as f64 / self.0 as f64;
            let hot = self.1 as f64 / self.0 as f64;
            *self = Self(new, (new as f64 * hot) as u64, (self.2 as f64 * on) as u64);
        }

        /// As [`change`].
        fn change(&mut self, limit: u64, shards: u64, taken: u64) {
            self.set(most(limit, shards).div_ceil(shards));
            self.set(beside(limit, shards, taken).div_ceil(shards));
        }
    }

    #[test]
    fn nothing_is_lost_by_any_step() {
        for (limit, shards) in [(1 << 20, 1), (200 << 20, 2), (512 << 20, 4), (7 << 40, 128)] {
            let first = Shard::new(limit, shards);
            let mut shard = first;
            let each = most(limit, shards) / STEPS;
            for step in 1..=STEPS {
                shard.change(limit, shards, for_stored(limit) - step * each);
                let Shard(capacity, hot, remembered) = shard;
                let step = if step == UNEVEN { step - 1 } else { step };
                assert_eq!(capacity * shards, step * each, "{limit} {step}");
                assert_eq!(hot, heaviest(step * each, shards), "{limit} {step}");
                assert_eq!(remembered, first.2 / STEPS * step, "{limit} {step}");
            }
            shard.change(limit, shards, 0);
            assert_eq!(shard, first, "{limit}");
        }
    }

    proptest! {
        #[test]
        fn what_is_taken_and_what_is_stored_stay_within_the_limit(
            limit in (1_u64 << 20)..(1 << 50),
            shards in 0_u32..10,
            taken in prop::collection::vec(0_u64..1200, 1..50),
        ) {
            let shards = (1 << shards).min((limit >> 20).next_power_of_two());
            let first = Shard::new(limit, shards);
            let mut shard = first;
            for taken in taken {
                let taken = limit / 1000 * taken;
                let beside = beside(limit, shards, taken);
                let all = most(limit, shards);
                prop_assert!(beside + taken <= for_stored(limit) || beside == all / STEPS);
                prop_assert!(beside + taken + 2 * all.div_ceil(STEPS) > all.min(for_stored(limit)));
                shard.change(limit, shards, taken);
            }
            shard.change(limit, shards, 0);
            prop_assert_eq!(shard, first);
        }
    }
}
