//! Stored responses that a full answer shows to be unsuitable for its request (RFC 9111 section 4.3.3).

use crate::walk::fetch::Fetch;
use std::sync::Arc;
use store::Stored;

impl Fetch<'_> {
    /// Returns what marks in the tiers below the responses that go when all of `new` is here.
    pub(super) fn outdated_below(&self, new: &Stored) -> Vec<Stored> {
        if self.worker.cache.disk.is_none() {
            return Vec::new();
        }
        let head = self.worker.cache.memory.log().head();
        let all = self.unsuitable(new).into_iter();
        all.map(|unsuitable| unsuitable.given_up(head)).collect()
    }

    /// Returns the response of another variant that goes when `new` comes: the one that would have answered the
    /// request.
    pub(super) fn unsuitable_here(&self, new: &Stored) -> Option<Arc<Stored>> {
        let held = self.worker.cache.memory.peek(self.ask.key.as_bytes())?;
        let is_held = |old: &Arc<Stored>| held.as_slice().iter().any(|held| held.stands_for(old));
        self.unsuitable(new).into_iter().next().filter(is_held)
    }

    /// Returns the responses that would have answered the request but for `new`: the one that was selected for it, and
    /// those that this fetch's condition named. A full response says that none of them is suitable (RFC 9111 section
    /// 4.3.3), whatever it names in `Vary`. The one that `new` replaces is not among them.
    pub(super) fn unsuitable(&self, new: &Stored) -> Vec<Arc<Stored>> {
        let candidates = self.validation_candidates().into_iter();
        let named = candidates.filter(|candidate| {
            let validators = candidate.validators();
            validators.matches && validators.has_any()
        });
        let mut all: Vec<Arc<Stored>> = self.need.selected.iter().cloned().collect();
        all.extend(named.map(|candidate| candidate.stored));
        all.dedup_by_key(|held| held.id());
        all.retain(|held| held.variant != new.variant);
        all
    }
}
