//! What is stored, by its keys.

use super::Memory;
use crate::purge::{Address, Standing};
use std::collections::BTreeSet;

impl Memory {
    /// What is stored and was not purged, as Souin names it, each once and sorted: names that together take `most` bytes of memory at
    /// most. Takes a look at everything where there is less: not for a worker's thread.
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
