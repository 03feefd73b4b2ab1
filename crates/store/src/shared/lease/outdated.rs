//! Whether it is worth waiting for the fetch of a lease: the rule by which nobody joins a flight that is outdated.

use super::Held;
use crate::{
    Body,
    codec::Head,
    purge::{Label, Position, Standing},
    shared::{Inner, Question, record},
};
use bytes::Bytes;

/// Why nobody waits for the fetch of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::shared) enum Outdated {
    /// What it brings was purged since it began.
    Purged,
    /// A reload has overruled it.
    Overruled,
}

impl Inner {
    /// Why `question` does not wait for the fetch of the lease that the server holds as `lease`; `None` if it waits.
    /// `record` is what is kept under the key.
    pub(in crate::shared) fn outdated(
        &self,
        question: &Question<'_>,
        lease: &[u8],
        record: Option<&Bytes>,
    ) -> Option<Outdated> {
        let held = Held::read(lease)?;
        if question.leaves_own && held.process == self.process {
            return Some(Outdated::Overruled);
        }
        let began = held.began?;
        // No client waits for a refresh, so one is enough, however often what it brings is purged softly.
        let softly = !question.is_refresh;
        self.has_purged(question, began, record, softly)
            .then_some(Outdated::Purged)
    }

    /// The position that a lease for `question` tells whose fetch begins now. `None` if by that position the fetch would
    /// count as outdated at once: a purge that is known here is not in the shared log yet. Otherwise nodes would take
    /// each other's leases from each other.
    pub(in crate::shared) fn begins_at(
        &self,
        question: &Question<'_>,
        record: Option<&Bytes>,
    ) -> Option<Position> {
        let position = self.guard.remote().position_now(self.log())?;
        let is_told = !self.has_purged(question, position, record, true);
        is_told.then_some(position)
    }

    /// Whether purges since `began` cover what a fetch for `question` brings; with `softly`, also soft ones. If it is not
    /// known, then yes: this node could not use what it brings.
    fn has_purged(
        &self,
        question: &Question<'_>,
        began: Position,
        record: Option<&Bytes>,
        softly: bool,
    ) -> bool {
        let (log, key) = (self.log(), question.key);
        if log.position().is_none() {
            // A fetch of this node's own would be of no use to any other.
            return false;
        }
        let Some(since) = self.guard.remote().sequence(log, began) else {
            return true;
        };
        if !softly {
            return log.refuses(key, None, since);
        }
        let label = Label {
            key,
            checked: since,
            content_type: &[],
            tags: Vec::new(),
        };
        log.has_touched(&label) || self.has_purged_known(question, since, record)
    }

    /// Whether purges since `since` cover what `record` has for the request: the answer will have its tags.
    fn has_purged_known(
        &self,
        question: &Question<'_>,
        since: u64,
        record: Option<&Bytes>,
    ) -> bool {
        let log = self.log();
        let Some(record) = record.filter(|_| since < log.head()) else {
            return false;
        };
        let entries = record::read(record.clone()).unwrap_or_default();
        let mut scratch = Vec::new();
        entries.iter().any(|entry| {
            let Ok(head) = Head::decode(&entry.head) else {
                return false;
            };
            let is_of_key = *head.key == *question.key;
            let nothing = Body::Whole(Bytes::new());
            let stored = head.stored(nothing, Some(since), log.tags());
            let standing = log.standing(question.key, &stored);
            is_of_key
                && matches!(standing, Standing::Gone | Standing::Stale { .. })
                && stored.matches(question.request, &mut scratch)
        })
    }
}

#[cfg(test)]
mod tests;
