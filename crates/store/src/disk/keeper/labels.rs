//! The labels of a segment. If they are missing or damaged, they are made again from the heads of its records. A record
//! that cannot be compared with purges by expression would keep these from ever being forgotten, and the log takes only
//! so many.

use super::{Keeper, room::SecondChance};
use crate::{
    codec::label,
    disk::{
        Doing,
        device::{Missed, ReadMode},
        format::{Entry, RECORD_HEAD},
        index::{RecordPosition, Spot},
        load::Unsealed,
        record::Bodies,
        segment::Segment,
    },
};
use std::{
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
};

impl Keeper {
    /// Returns the labels of a segment; `None` if the segment is gone, or they cannot be read.
    pub(super) fn labels(&mut self, id: u32) -> Option<Vec<u8>> {
        if let Some(open) = &self.open
            && open.segment.id == id
        {
            return Some(open.labels.clone());
        }
        let segment = self.shared.segment(id)?;
        match segment.labels() {
            Ok(Some(labels)) => Some(labels),
            Ok(None) => self.made_again(&segment),
            Err(error) => {
                let device = &self.shared.device;
                device.failed(Doing::Reading, &device.segment_path(id), &error);
                None
            }
        }
    }

    fn made_again(&mut self, segment: &Arc<Segment>) -> Option<Vec<u8>> {
        if !self.shared.device.health.may(Doing::Writing) {
            return None;
        }
        let before = segment.bytes.load(Relaxed);
        if let Err(error) = self.seal_again(segment) {
            self.failed(&error);
        }
        let after = segment.bytes.load(Relaxed);
        self.total = (self.total + after).saturating_sub(before);
        segment.labels().ok()?
    }

    /// Writes index and labels again behind the records.
    fn seal_again(&mut self, segment: &Arc<Segment>) -> io::Result<()> {
        let Some((trailer, entries)) = segment.index()? else {
            // The segment could not be sealed when it was full.
            let unsealed = Unsealed::read(segment)?;
            if let Some(damage) = unsealed.damage() {
                self.give_up(segment.id, &damage);
                return Ok(());
            }
            return unsealed.seal(segment);
        };
        let Some(labels) = self.labels_of(segment, &entries) else {
            return Ok(());
        };
        let length = segment.seal(&entries, &labels, trailer.index)?;
        segment.bytes.store(length, Relaxed);
        Ok(())
    }

    /// Gives up segment `id`, which is damaged, and the older ones, as a start does: at the next one nobody would know
    /// what of them was replaced there.
    fn give_up(&mut self, id: u32, damage: &io::Error) {
        let older = self.shared.segments().range(..id).count();
        self.shared.device.unreadable(id, damage, older);
        while self.shared.segment(id).is_some() && self.evict(SecondChance::Refused) {}
    }

    /// Makes labels from the heads of records. A record that no longer says which purges cover it is given up. `None`
    /// if the device fails.
    fn labels_of(&mut self, segment: &Arc<Segment>, entries: &[Entry]) -> Option<Vec<u8>> {
        let mut labels = Vec::new();
        for entry in entries {
            let place = RecordPosition::new(segment.id, entry.unit);
            // Also for a record that was given up: it is found again at the next start, and must be compared with
            // purges then.
            let spot = self.shared.index.at(entry.key, place);
            let spot = spot.unwrap_or_else(|| Spot::of(segment.id, entry));
            let (segment, mode) = (segment.clone(), ReadMode::Blocking);
            let own = match self.shared.record(segment, spot, mode, Bodies::Left) {
                Ok(record) => record
                    .bytes
                    .get(RECORD_HEAD..record.head.sums())
                    .and_then(label::of_head),
                Err(Missed::Damaged) => None,
                Err(Missed::Failed | Missed::Rests | Missed::Waits) => return None,
            };
            if let Some(label) = own {
                label::add(&mut labels, entry.unit, &label);
            } else {
                let forgotten = self.shared.index.remove(entry.key, place);
                self.settle(forgotten);
            }
        }
        Some(labels)
    }
}
