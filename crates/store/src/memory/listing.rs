//! What is stored, by its keys.

use super::Memory;
use crate::purge::{Address, Standing};
use std::collections::BTreeSet;

impl Memory {
    /// What is stored and was not purged, as Souin names it: `most` names at most, each once, sorted. Takes a look at everything
    /// where there is less: not for a worker's thread.
    pub fn souin_names(&self, most: usize) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for (key, variants) in self.entries.iter() {
            let mut all = variants.as_slice().iter();
            if all.any(|stored| self.log.standing(&key, stored) != Standing::Gone) {
                names.insert(Address::of(&key).souin());
            }
            if names.len() >= most {
                break;
            }
        }
        names
    }
}
