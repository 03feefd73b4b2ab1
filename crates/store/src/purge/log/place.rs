//! This node's position in the log that nodes share.

use super::Log;
use crate::purge::{Position, Purge};
use rules::time::Time;
use std::sync::atomic::Ordering::Relaxed;

impl Log {
    /// Notes that the shared log is read from `position` on. Earlier entries are not known.
    pub fn begin_at(&self, position: Position) {
        let table = self.write();
        let mut positions = self.positions();
        if !positions.have_begun() {
            // A number of its own: a fetch that began before this moment may have missed entries before `position`.
            let head = self.head() + 1;
            positions.begin(position, head);
            self.advance(head);
        }
        drop(table);
    }

    /// For a tier that nodes share without sharing a log: from now on, the clock gives entries their positions, in
    /// milliseconds since the Unix epoch. Responses get theirs from when their fetch began
    /// ([`sequence_at`](Self::sequence_at)). What was purged before `now` is known only if a journal kept it.
    pub fn place_by_clock(&self, now: Time) {
        self.clocked.store(true, Relaxed);
        if self.position().is_none() {
            // Also written to the journal, so that a restart knows from when on nothing is missing.
            self.apply(Purge::nothing(), now, None);
        }
    }

    /// The position of the last entry applied from the shared log, or where reading begins.
    pub fn position(&self) -> Option<Position> {
        self.positions().last().map(|(position, _)| position)
    }

    /// The last position of the shared log that was known on this node when its own log stood at `sequence`; the
    /// reverse of [`sequence_at`](Self::sequence_at). `None` if that is too long ago to know, or before the shared log
    /// was read.
    pub fn position_at(&self, sequence: u64) -> Option<Position> {
        self.positions().at(sequence)
    }

    /// The number on this node that corresponds to `position`: any node that knew the shared log up to there knew every
    /// purge up to this number. `None` if that is too long ago to know.
    pub fn sequence_at(&self, position: Position) -> Option<u64> {
        self.positions().number(position)
    }

    /// Notes that a clock gave a response this `position`: later entries come after it, even if that clock was ahead.
    pub(crate) fn come_after(&self, position: Position) {
        self.placed.fetch_max(position.0, Relaxed);
    }

    /// The position of an entry at this moment. It is after all others, even if the clock went back, and after
    /// responses that are known here.
    pub(super) fn by_clock(&self, at: Time) -> Option<Position> {
        let clocked = self.clocked.load(Relaxed);
        clocked.then(|| {
            let last = self.position().unwrap_or_default();
            let next = Position(last.0, last.1.saturating_add(1));
            let placed = Position(self.placed.load(Relaxed), 1);
            next.max(placed).max(Position(at.as_millis(), 0))
        })
    }
}
