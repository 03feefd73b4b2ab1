//! Lists what is stored, by key.

use super::Memory;
use crate::purge::{Address, Standing};
use std::collections::BTreeSet;

impl Memory {
    /// Returns the names that Souin would give to what is stored and was not purged, each once and sorted. The names
    /// take at most `most` bytes of memory together.
    ///
    /// If they take less, this goes over everything: not for a worker's thread.
    pub fn souin_names(&self, most: usize) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut room = most;
        for (key, variants) in self.entries.iter() {
            let mut all = variants.as_slice().iter();
            if all.all(|stored| self.log.standing(&key, stored) == Standing::Gone) {
                continue;
            }
            let name = Address::of(&key).souin();
            let Some(left) = room.checked_sub(name.len() + size_of::<String>()) else {
                break;
            };
            if names.insert(name) {
                room = left;
            }
        }
        names
    }
}
