//! How much may be stored, in steps at which the cache below loses nothing by rounding.
//!
//! Beside its capacity, a shard of `quick_cache` has two figures: how much of the capacity is for what is asked for
//! often, and how many evicted keys it remembers. By these keys it recognises what is asked for again, and keeps it.
//! When the capacity changes, the cache computes each figure from its last value and truncates the result. After enough
//! changes it would remember nothing, and keep nothing new any more.
//!
//! So both figures are whole numbers at each step here, and the cache computes exactly these. From the full capacity to
//! a step it divides by a power of two. The way back comes out exactly too, except from [some](is_uneven) steps.
//! Between two other steps it would not always, so every change goes through the full capacity.

use super::cache::for_stored;
use quick_cache::{Lifecycle, Weighter, sync::Cache};
use std::hash::{BuildHasher, Hash};

/// The least number of steps into which the full capacity is divided.
const FEWEST_STEPS: u64 = 64;

/// The bytes of a step of a large tier. This many may be evicted at once, while others wait.
const STEP: u64 = 4 << 20;

/// One byte in this many is for what was asked for once.
const COLD: u64 = 32;

/// The share of a shard that is for what is asked for often: all other bytes.
pub(super) const HOT: f64 = 31.0 / 32.0;

/// The steps of a tier's capacity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    for_stored: u64,
    /// The bytes of one step.
    each: u64,
    /// The number of steps: a power of two.
    all: u64,
}

impl Steps {
    /// The steps of a tier of `limit` bytes in `shards`. There are no more steps than keys that a shard remembers,
    /// because each step must be a whole number of these.
    pub fn of(limit: u64, shards: u64) -> Self {
        let for_stored = for_stored(limit);
        let wanted = for_stored.div_ceil(STEP).next_power_of_two();
        let remembered = expected(about(limit), shards) / shards / 2;
        let all = wanted.min(remembered).max(FEWEST_STEPS);
        let unit = COLD * shards;
        Self {
            for_stored,
            each: for_stored / all / unit * unit,
            all,
        }
    }

    /// The most bytes that may be stored.
    pub const fn most(&self) -> u64 {
        self.each * self.all
    }

    /// The bytes that may be stored while `taken` bytes are in flight: at least one step.
    pub fn beside(&self, taken: u64) -> u64 {
        let left = self.for_stored.saturating_sub(taken);
        let steps = left.checked_div(self.each).unwrap_or(1);
        let mut steps = steps.clamp(1, self.all);
        while is_uneven(steps) {
            steps -= 1;
        }
        self.each * steps
    }
}

/// Whether going back from so many steps to all comes out less than all, in double precision. 49 of 64 are the first
/// for which it does.
#[expect(clippy::cast_precision_loss, reason = "as the library reckons")]
fn is_uneven(steps: u64) -> bool {
    let steps = steps as f64;
    steps * (1.0 / steps) < 1.0
}

/// About how many entries fit into a tier of `limit` bytes.
pub(super) fn about(limit: u64) -> u64 {
    (limit / 4096).clamp(128, 1 << 20)
}

/// How many entries a cache in `shards` is told to expect if `about` so many fit: a power of two in each shard. It
/// remembers half as many keys, which must be a multiple of the steps.
pub(super) fn expected(about: u64, shards: u64) -> u64 {
    shards << (about / shards).max(1).ilog2()
}

/// What an entry may weigh if `capacity` bytes may be stored in `shards`. The cache drops a heavier entry, and the
/// entry that it would replace.
pub(super) const fn heaviest(capacity: u64, shards: u64) -> u64 {
    let shard = capacity / shards;
    shard - shard / COLD
}

/// Gives `cache` the capacity `wanted`. Both this and the last one come from [`Steps::beside`].
///
/// For a moment the cache has the capacity of [`Steps::most`]: what others put into it meanwhile is evicted at once if
/// it is too much.
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

    /// One shard, as `CacheShard` has it: capacity, how much of it is for what is asked for often, keys remembered.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Shard(u64, u64, u64);

    impl Shard {
        fn new(limit: u64, shards: u64) -> Self {
            let capacity = Steps::of(limit, shards).most().div_ceil(shards);
            let expected = expected(about(limit), shards).div_ceil(shards);
            let hot = (capacity as f64 * HOT) as u64;
            Self(capacity, hot, (expected as f64 * 0.5) as u64)
        }

        /// Like `CacheShard::set_capacity`.
        fn set(&mut self, new: u64) {
            let on = new as f64 / self.0 as f64;
            let hot = self.1 as f64 / self.0 as f64;
            *self = Self(new, (new as f64 * hot) as u64, (self.2 as f64 * on) as u64);
        }

        /// Like [`change`].
        fn change(&mut self, steps: &Steps, shards: u64, taken: u64) {
            self.set(steps.most().div_ceil(shards));
            self.set(steps.beside(taken).div_ceil(shards));
        }
    }

    #[test]
    fn nothing_is_lost_by_any_step() {
        for (limit, shards, all) in [
            (1 << 20, 1, 64),
            (200 << 20, 2, 64),
            (512 << 20, 4, 128),
            (8 << 30, 64, 2048),
            (7 << 40, 128, 4096),
        ] {
            let steps = Steps::of(limit, shards);
            assert_eq!(steps.all, all, "{limit}");
            let first = Shard::new(limit, shards);
            let mut shard = first;
            let (each, mut even) = (steps.each, 0);
            for step in 1..=all {
                shard.change(&steps, shards, for_stored(limit) - step * each);
                let Shard(capacity, hot, remembered) = shard;
                even = if is_uneven(step) { even } else { step };
                assert_eq!(capacity * shards, even * each, "{limit} {step}");
                assert_eq!(hot, heaviest(even * each, shards), "{limit} {step}");
                assert_eq!(remembered, first.2 / all * even, "{limit} {step}");
            }
            shard.change(&steps, shards, 0);
            assert_eq!(shard, first, "{limit}");
        }
    }

    #[test]
    fn what_is_evicted_in_one_go_is_little_however_much_there_is() {
        for (limit, shards, most) in [
            (1 << 20, 1, 1 << 20),
            (256 << 20, 2, 8 << 20),
            (8 << 30, 64, 20 << 20),
            (64 << 30, 128, 80 << 20),
        ] {
            let steps = Steps::of(limit, shards);
            let mut before = steps.beside(0);
            for taken in (0..limit / 2).step_by(1 << 19) {
                let now = steps.beside(taken);
                assert!(now <= before && before - now <= most, "{limit} {taken}");
                before = now;
            }
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
            let steps = Steps::of(limit, shards);
            let first = Shard::new(limit, shards);
            let mut shard = first;
            for taken in taken {
                let taken = limit / 1000 * taken;
                let (beside, all, step) = (steps.beside(taken), steps.most(), steps.each);
                prop_assert!(beside + taken <= for_stored(limit) || beside == step);
                prop_assert!(beside + taken + 6 * step > all.min(for_stored(limit)));
                shard.change(&steps, shards, taken);
            }
            shard.change(&steps, shards, 0);
            prop_assert_eq!(shard, first);
        }
    }
}
