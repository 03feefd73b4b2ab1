//! Counts how many stored responses below memory carry each tag: a purge does not look at what is there.

use super::name::tag_name;
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The name of a tag, in two halves: this way a million of them take a third less room.
type Name = [u32; 2];

/// How many stored responses below memory carry each tag, by its name. Counted only by the thread that keeps them
/// there.
#[derive(Debug, Default)]
pub struct Carried(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// The counts of responses that the tag's last hard purge did not cover.
    live: HashMap<Name, u32>,
    /// The sequence numbers of these purges, for tags that something carried then.
    purged: HashMap<Name, u64>,
}

impl Counts {
    /// Whether a response that carries `name` and was checked up to `checked` counts: what a purge has subtracted is
    /// not subtracted again.
    fn counts(&self, name: Name, checked: u64) -> bool {
        self.purged
            .get(&name)
            .is_none_or(|purged| *purged <= checked)
    }
}

impl Carried {
    /// Counts a stored response that carries `tags` and was checked up to `checked`.
    pub fn add<'a>(&self, tags: impl IntoIterator<Item = &'a str>, checked: u64) {
        let mut counts = self.lock();
        for name in tags.into_iter().map(name) {
            if counts.counts(name, checked) {
                *counts.live.entry(name).or_default() += 1;
            }
        }
    }

    /// Stops counting such a response, which is no longer kept.
    pub fn remove<'a>(&self, tags: impl IntoIterator<Item = &'a str>, checked: u64) {
        let mut counts = self.lock();
        for name in tags.into_iter().map(name) {
            if counts.counts(name, checked)
                && let Entry::Occupied(mut live) = counts.live.entry(name)
            {
                *live.get_mut() -= 1;
                if *live.get() == 0 {
                    live.remove();
                }
            }
        }
    }

    /// Applies a purge of `tag` with the number `sequence`. Returns how many responses carry the tag. After a hard
    /// purge they do not count any more.
    pub(super) fn purged(&self, tag: &str, sequence: u64, soft: bool) -> u64 {
        let (mut counts, name) = (self.lock(), name(tag));
        if soft {
            return counts.live.get(&name).copied().unwrap_or_default().into();
        }
        let Some(live) = counts.live.remove(&name) else {
            return 0;
        };
        counts.purged.insert(name, sequence);
        live.into()
    }

    /// Forgets purges up to `sequence`: nothing that they cover is kept any more.
    pub fn tidy(&self, sequence: u64) {
        let mut counts = self.lock();
        counts.purged.retain(|_, purged| *purged > sequence);
        if counts.live.capacity() > 4 * counts.live.len() + 64 {
            counts.live.shrink_to_fit();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn name(tag: &str) -> Name {
    let name = tag_name(tag);
    [name as u32, (name >> 32) as u32]
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
        let size = || {
            let counts = carried.lock();
            (counts.live.len(), counts.purged.len())
        };
        assert_eq!(size(), (1, 1), "c is still kept");
        carried.tidy(1);
        assert_eq!(size(), (1, 0));
    }
}
