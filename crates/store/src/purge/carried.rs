//! How many stored responses below memory carry each tag: what is there is not looked at when it is purged.

use super::name::tag_name;
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// One tag.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// Stored responses that carry it and were not covered by its last hard purge.
    live: u64,
    /// The sequence number of that purge.
    purged: u64,
}

/// How many stored responses below memory carry each tag, by its name. Whoever keeps them there counts them, one thread alone.
#[derive(Debug, Default)]
pub struct Carried(Mutex<HashMap<u64, Count>>);

impl Carried {
    /// A stored response is kept that carries `tags` and was checked up to `checked`.
    pub fn add<'a>(&self, tags: impl IntoIterator<Item = &'a str>, checked: u64) {
        let mut counts = self.lock();
        for tag in tags {
            let count = counts.entry(tag_name(tag)).or_default();
            if count.purged <= checked {
                count.live += 1;
            }
        }
    }

    /// It is not kept any more.
    pub fn remove<'a>(&self, tags: impl IntoIterator<Item = &'a str>, checked: u64) {
        let mut counts = self.lock();
        for tag in tags {
            let Entry::Occupied(mut entry) = counts.entry(tag_name(tag)) else {
                continue;
            };
            let count = entry.get_mut();
            // What a purge has taken off already is not taken off again.
            if count.purged <= checked {
                count.live = count.live.saturating_sub(1);
            }
            if count.live == 0 && count.purged == 0 {
                entry.remove();
            }
        }
    }

    /// A purge of `tag` takes effect at `sequence`: how many carry it. After a hard one they count no more.
    pub(super) fn purged(&self, tag: &str, sequence: u64, soft: bool) -> u64 {
        let mut counts = self.lock();
        let Some(count) = counts.get_mut(&tag_name(tag)) else {
            return 0;
        };
        if soft {
            return count.live;
        }
        count.purged = sequence;
        std::mem::take(&mut count.live)
    }

    /// Nothing that purges up to `sequence` cover is kept any more: what only remembered them is forgotten.
    pub fn tidy(&self, sequence: u64) {
        let mut counts = self.lock();
        counts.retain(|_, count| count.live > 0 || count.purged > sequence);
        if counts.capacity() > 4 * counts.len() + 64 {
            counts.shrink_to_fit();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Count>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_carries_a_tag_is_counted_until_it_is_purged_or_goes() {
        let carried = Carried::default();
        carried.add(["a", "b"], 0);
        carried.add(["a"], 0);
        assert_eq!(carried.purged("a", 1, true), 2);
        assert_eq!(carried.purged("a", 2, false), 2);
        assert_eq!(carried.purged("a", 3, false), 0, "they count once");
        carried.add(["a"], 3);
        carried.remove(["a", "b"], 0);
        carried.remove(["a"], 0);
        assert_eq!(carried.purged("a", 4, true), 1, "what came later stays");
        assert_eq!(carried.purged("b", 4, true), 0);
        carried.remove(["a"], 3);
        assert_eq!(carried.purged("a", 5, false), 0);
    }

    #[test]
    fn what_was_purged_before_it_was_counted_does_not_count() {
        let carried = Carried::default();
        carried.add(["a"], 0);
        carried.purged("a", 1, false);
        carried.add(["a"], 0);
        assert_eq!(carried.purged("a", 2, true), 0);
    }

    #[test]
    fn nothing_is_remembered_of_what_is_not_kept() {
        let carried = Carried::default();
        carried.add(["a", "b", "c"], 0);
        carried.remove(["b"], 0);
        assert_eq!(carried.purged("a", 1, false), 1);
        assert_eq!(carried.purged("d", 2, false), 0);
        assert_eq!(carried.lock().len(), 2);
        carried.tidy(1);
        assert_eq!(carried.lock().len(), 1, "c is still kept");
    }
}
