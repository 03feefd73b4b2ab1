//! Changes a response in its current state, and what is made of its content.

use super::Memory;
use crate::{Coded, Derived, Stored, Variants};
use rules::coding;
use std::sync::Arc;

impl Memory {
    /// Changes the response of identity `id` in its current state. Returns the result; `None` if it is gone or
    /// unchanged.
    pub fn amend(
        &self,
        key: &[u8],
        id: u64,
        amend: impl FnOnce(&Stored) -> Option<Stored>,
    ) -> Option<Arc<Stored>> {
        let mut amended = None;
        self.change(key, Some(id), |held| {
            let old = held.as_slice().iter().find(|stored| stored.id() == id)?;
            let new = Arc::new(amend(old)?);
            amended = Some(new.clone());
            held.replaced(id, &new)
        });
        amended
    }

    /// Gives a form to the responses over `content`. Returns false if they are gone, would be too large with it, or may
    /// not be transformed any more.
    pub fn add_form(&self, key: &[u8], content: u64, coded: &Coded) -> bool {
        self.amend_content(key, content, |held| {
            let may = !coding::forbids(held.lines());
            may.then(|| held.with_form(coded.clone()))
        })
    }

    /// Keeps what was made of `content` beside the responses over it. Returns false if they are gone, have a `T`
    /// already, or would be too large with it.
    pub fn add_derived<T: Derived>(&self, key: &[u8], content: u64, derived: &Arc<T>) -> bool {
        self.amend_content(key, content, |held| {
            let is_new = held.derived::<T>().is_none();
            is_new.then(|| held.with_derived(derived.clone()))
        })
    }

    /// Changes the responses over `content`: mostly one, several if a 304 has made the content another variant's too.
    /// If there is no room for all variants, others are dropped, as for a new response. A response too large by itself
    /// stays unchanged.
    fn amend_content(
        &self,
        key: &[u8],
        content: u64,
        amend: impl Fn(&Stored) -> Option<Stored>,
    ) -> bool {
        let most = self.largest_body().saturating_mul(2);
        let most = most.min(self.heaviest(key));
        let amended = self.entries.peek(key).and_then(|held| {
            let mut all = held.as_slice().iter();
            all.find(|held| held.content() == content)
                .map(|held| held.id())
        });
        self.change(key, amended, |held| {
            let mut all = held.as_slice().to_vec();
            let mut is_changed = false;
            for stored in all.iter_mut().filter(|held| held.content() == content) {
                if let Some(new) = amend(stored).filter(|new| new.weight() <= most) {
                    *stored = Arc::new(new);
                    is_changed = true;
                }
            }
            is_changed.then_some(all).and_then(Variants::from_vec)
        })
    }
}
