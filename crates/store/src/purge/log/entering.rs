//! How entries enter the log: applied here, from other nodes, or kept over a restart.

use super::Log;
use crate::purge::{Applied, Entry, Position, Purge, Remembered, TooMany, What, table::Table};
use rules::time::Time;
use std::sync::atomic::Ordering::Relaxed;

/// How a purge comes to be applied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    /// It is made here, and goes by no shared log.
    Here,
    /// It is made here, and is not in the shared log yet.
    Ahead,
    /// By the shared log, where it has this position.
    Shared(Position),
}

impl Log {
    /// Takes back what a journal kept. To be called before anything else is appended.
    pub fn restore(&self, remembered: Remembered) {
        let Remembered {
            entries,
            floor,
            head,
            position,
        } = remembered;
        let mut table = self.write();
        table.floor = floor;
        if let Some(position) = position {
            self.positions().begin(position, floor);
        }
        self.recent.kept(floor, self.head().max(head));
        for entry in entries {
            table.add(&entry.purge, entry.sequence, entry.at);
            self.recent.add(entry.sequence, &entry.purge);
            if let Some(position) = entry.position {
                self.positions().note(position, entry.sequence);
            }
        }
        self.advance(self.head().max(head));
    }

    /// Notes what took effect here before a restart and may not be in the shared log ([`Remembered::unsent`]), for the
    /// task that [sends it](Self::take_unsent).
    pub fn owe(&self, unsent: Vec<(u64, Purge)>) {
        *self.unsent() = unsent;
    }

    /// Returns what is [owed](Self::owe) to the shared log, to be sent now. Until [copies](Self::apply_copy) have come
    /// back, it counts as [applied ahead](Self::apply_ahead). Called once.
    pub fn take_unsent(&self) -> Vec<(u64, Purge)> {
        let unsent = std::mem::take(&mut *self.unsent());
        let mut positions = self.positions();
        for (sequence, _) in &unsent {
            positions.go_ahead(*sequence);
        }
        unsent
    }

    /// Checks that all of `purges` could be taken now. For purges that go by way of the shared log: others may take
    /// their room meanwhile.
    ///
    /// # Errors
    /// Too many regular expressions are still waiting for the sweep.
    pub fn admits(&self, purges: &[Purge]) -> Result<(), TooMany> {
        self.read().room_for(purges)
    }

    /// Whether an expression among `purges` is not known yet.
    pub fn needs_room(&self, purges: &[Purge]) -> bool {
        self.read().needs_room(purges)
    }

    /// Applies all of `purges`, or none on an error: no lookup that begins after this returns finds what they cover.
    ///
    /// # Errors
    /// Too many regular expressions are still waiting for the sweep.
    pub fn purge(&self, purges: Vec<Purge>, at: Time) -> Result<Vec<Applied>, TooMany> {
        // Under the lock, so that nobody else takes the room that was found.
        let mut table = self.write();
        table.room_for(&purges)?;
        let all = purges.into_iter();
        Ok(all
            .map(|purge| self.enter(&mut table, purge, at, Came::Here))
            .collect())
    }

    /// Like [`purge`](Self::purge), for a purge that cannot be refused: if there is no room, everything is forgotten.
    /// `position` is its position in the shared log, if it comes from there.
    pub fn apply(&self, purge: Purge, at: Time, position: Option<Position>) -> Applied {
        let came = position.map_or(Came::Here, Came::Shared);
        self.enter(&mut self.write(), purge, at, came)
    }

    /// Like [`apply`](Self::apply), for a purge that takes effect here before it is in the shared log. Until its copy
    /// has [come back](Self::apply_copy), no position of the shared log counts as later: other nodes may not know of
    /// the purge.
    pub fn apply_ahead(&self, purge: Purge, at: Time) -> Applied {
        self.enter(&mut self.write(), purge, at, Came::Ahead)
    }

    /// Like [`apply`](Self::apply), for the copy of what was [applied ahead](Self::apply_ahead) as `sequence`. `None`
    /// if it says nothing new: what was fetched since stays.
    pub fn apply_copy(
        &self,
        purge: Purge,
        at: Time,
        position: Position,
        sequence: u64,
    ) -> Option<Applied> {
        // A purge of everything in place of too many invalidations is more than was applied.
        let is_copy = purge.what != What::Everything;
        let applied = if is_copy && self.positions().is_next(sequence) {
            let table = self.write();
            let number = self.head.load(Relaxed) + 1;
            self.positions().note(position, sequence);
            // With its position, so that a restart reads on from there.
            self.keep(number, at, Some(position), purge);
            self.advance(number);
            drop(table);
            None
        } else {
            Some(self.apply(purge, at, Some(position)))
        };
        self.positions().come_back(sequence);
        applied
    }

    fn enter(&self, table: &mut Table, purge: Purge, at: Time, came: Came) -> Applied {
        let position = match came {
            Came::Shared(position) => Some(position),
            Came::Here | Came::Ahead => self.by_clock(at),
        };
        let sequence = self.head.load(Relaxed) + 1;
        let floor = table.floor;
        table.add(&purge, sequence, at);
        if let Some(journal) = self.journal.get()
            && table.floor > floor
        {
            journal.retire(table.floor);
        }
        self.counts.applied(&purge);
        let (mut carried, mut below) = (0, 0);
        if let What::Tags(tags) = &purge.what {
            for tag in tags {
                carried += self.tags.purged(tag, sequence, purge.soft);
                below += self.carried.purged(tag, sequence, purge.soft);
            }
        }
        if let Some(position) = position {
            self.positions().note(position, sequence);
        } else if came == Came::Ahead {
            self.positions().go_ahead(sequence);
        }
        self.recent.add(sequence, &purge);
        self.keep(sequence, at, position, purge);
        self.advance(sequence);
        Applied {
            sequence,
            carried,
            below,
        }
    }

    /// Gives an entry to the journal.
    fn keep(&self, sequence: u64, at: Time, position: Option<Position>, purge: Purge) {
        if let Some(journal) = self.journal.get() {
            journal.append(&Entry {
                sequence,
                at,
                position,
                purge,
            });
        }
    }
}
