//! Makes room: evicts the oldest, unless it was asked for.

use super::{Keeper, Leaving, Refused};
use crate::{
    Stored,
    disk::{
        format::Entry,
        index::{RecordPosition, Spot},
        segment::Segment,
        statistics::count,
    },
};
use std::{fs, sync::atomic::Ordering::Relaxed};

/// What is evicted while clients read it takes its room until they are done. For that, up to this part of the tier's size
/// is evicted in addition. Beyond it nothing is written until they are done: slow clients shall not empty the tier.
const HELD: u64 = 4;

/// A record of an evicted segment that is to be written again. It is found where it was until then: the file of the
/// segment has no name any more, but stays open. So it is never unknown. Whoever forgets it meanwhile forgets it for
/// good, because the copy only takes its place in the index ([`Index::replace`](crate::disk::index::Index::replace)).
struct Again {
    spot: Spot,
    key: Box<[u8]>,
    stored: Stored,
}

/// What becomes of an evicted record that was asked for since it was written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SecondChance {
    /// It is written again: the heads of large files, and others up to a quarter of the segment's bytes.
    Given,
    /// It goes like the others.
    Refused,
}

impl SecondChance {
    /// Given while any of `chances` is left.
    const fn of(chances: u64) -> Self {
        if chances > 0 {
            Self::Given
        } else {
            Self::Refused
        }
    }
}

impl Keeper {
    /// Evicts the oldest until there is room for `bytes`. False if there is none.
    pub fn make_room(&mut self, bytes: u64) -> bool {
        let mut chances = self.shared.segments().len() as u64 + self.ledger.count();
        while self.wanted(bytes) > self.shared.size {
            if !self.evict(SecondChance::of(chances)) {
                return false;
            }
            chances = chances.saturating_sub(1);
        }
        self.has_room(bytes) && (!self.is_tight || self.make_way(bytes, SecondChance::of(chances)))
    }

    /// What would have to fit into the tier's size if it took `bytes` now. Of what is evicted and still read, a part.
    fn wanted(&self, bytes: u64) -> u64 {
        let held = self.held().min(self.shared.size / HELD);
        self.total.saturating_add(held).saturating_add(bytes)
    }

    /// Whether `bytes` more would still be within the tier's size.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.taken().saturating_add(bytes) <= self.shared.size
    }

    /// Bytes of all files together, with those that have no name any more and are still read.
    pub(super) fn taken(&self) -> u64 {
        self.total.saturating_add(self.held())
    }

    /// Bytes of files that have no name any more and are still read.
    fn held(&self) -> u64 {
        let read = self.leaving.iter().filter(|(_, left)| left.is_read());
        read.map(|(_, left)| left.bytes()).sum()
    }

    /// Evicts the oldest: a large file that the oldest segment names, or else that segment. False if there is no
    /// segment.
    pub(super) fn evict(&mut self, chance: SecondChance) -> bool {
        // What is written again may need room itself. Then the next segment goes, and nothing of that is kept.
        let evicted = self.evicted;
        let chance = match evicted {
            None => chance,
            Some(_) => SecondChance::Refused,
        };
        let oldest = {
            let segments = self.shared.segments();
            let mut others = segments.values().filter(|other| evicted != Some(other.id));
            others.next().cloned()
        };
        let Some(segment) = oldest else {
            return false;
        };
        let named = self.ledger.of_segment(segment.id);
        let deserves = |(place, key): &(RecordPosition, u64)| {
            let spot = self.shared.index.at(*key, *place);
            chance == SecondChance::Given && spot.is_some_and(|spot| spot.is_used())
        };
        // Evicts each large file by itself: with the segment, all would go at once.
        if let Some((place, key)) = named.iter().find(|named| !deserves(named)) {
            let (key, place) = (*key, *place);
            let forgotten = self.shared.index.remove(key, place);
            self.settle(forgotten);
            self.unname(place);
            count(&self.shared.device.counts.evicted);
            return true;
        }
        self.evict_segment(&segment, chance);
        for (place, _) in named {
            self.unname(place);
        }
        true
    }

    fn evict_segment(&mut self, segment: &Segment, chance: SecondChance) {
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.segment.id == segment.id)
            && let Err(error) = self.seal()
        {
            self.failed(&error);
        }
        self.uncount_all(segment);
        let entries = segment.index().ok().flatten().map(|(_, entries)| entries);
        let again = entries.map(|entries| self.leave(segment, &entries, chance));
        if again.is_none() {
            self.shared.index.remove_segment(segment.id);
        }
        self.unlink_segment(segment);
        let outer = self.evicted.replace(segment.id);
        for again in again.into_iter().flatten() {
            self.write_again(&again);
        }
        self.evicted = outer;
        self.remove_segment(segment.id);
    }

    /// Reads what is at `spot`, unless a purge covers it.
    fn worth_keeping(&self, spot: Spot) -> Option<Again> {
        let (key, stored) = self.shared.reread(spot).ok()?;
        let standing = self.shared.log.standing_on_disk(&key, &stored);
        self.may_write(standing, stored.checked())
            .then_some(Again { spot, key, stored })
    }

    fn write_again(&mut self, Again { spot, key, stored }: &Again) {
        let written = self
            .content(stored)
            .and_then(|content| self.append(key, stored, &content, Some(spot.place)));
        let Err(refused) = written else { return };
        self.shared.index.remove(spot.key, spot.place);
        if let Refused::Failed(error) = refused {
            self.failed(&error);
        }
    }

    /// Removes the records of `segment` from the index, except those that deserve to be written again. Reads and returns
    /// these.
    fn leave(&mut self, segment: &Segment, entries: &[Entry], chance: SecondChance) -> Vec<Again> {
        let mut left = segment.bytes.load(Relaxed) / 4;
        let mut again = Vec::new();
        for entry in entries {
            let at = RecordPosition::new(segment.id, entry.unit);
            let Some(spot) = self.shared.index.at(entry.key, at) else {
                continue;
            };
            let size = if spot.is_large() {
                0
            } else {
                spot.size() as u64
            };
            let deserves = chance == SecondChance::Given && spot.is_used() && size <= left;
            if let Some(found) = deserves.then(|| self.worth_keeping(spot)).flatten() {
                left -= size;
                again.push(found);
            } else {
                count(&self.shared.device.counts.evicted);
                self.shared.index.remove(spot.key, spot.place);
            }
        }
        again
    }

    /// Takes the name of the segment's file, which no longer counts.
    fn unlink_segment(&mut self, segment: &Segment) {
        // If somebody else removed the file, it is gone as well.
        let _ = fs::remove_file(self.shared.device.segment_path(segment.id));
        self.total = self.total.saturating_sub(segment.bytes.load(Relaxed));
    }

    /// Removes the segment of that number: nobody begins to read it any more.
    fn remove_segment(&mut self, id: u32) {
        let removed = self.shared.segments_mut().remove(&id);
        if let Some(segment) = removed {
            segment.leave();
            self.leaves(Leaving::Segment(segment));
        }
    }

    pub(super) fn unname(&mut self, place: RecordPosition) {
        if let Some((id, bytes)) = self.ledger.unname(place) {
            self.remove_large(id, bytes);
        }
    }

    /// Stops keeping the large file `id` open.
    pub(super) fn close_large(&mut self, id: u64) {
        if let Some(file) = self.shared.open_files.remove(id) {
            self.leaves(Leaving::Large(file));
        }
    }

    /// Removes the large file `id` of `bytes` bytes. If it cannot be removed, it counts as gone all the same.
    pub fn remove_large(&mut self, id: u64, bytes: u64) {
        let _ = fs::remove_file(self.shared.device.large_path(id));
        self.close_large(id);
        self.total = self.total.saturating_sub(bytes);
    }
}
