//! Checks the records of a segment, and its index and labels if it is sealed.

use super::{Check, What};
use crate::{
    codec::{Head, label},
    disk::{
        ending::Ending,
        format::{ALIGN, Entry, FILE_HEAD, RECORD_HEAD},
        scan::{ScannedRecord, entry, scan},
        segment::Segment,
    },
};
use std::{io, path::Path};

/// What is in a segment, from the beginning on.
#[derive(Default)]
struct Scanned {
    /// The records whose heads are sound.
    entries: Vec<Entry>,
    /// How many of them are sound altogether.
    sound: u64,
    /// Where something is damaged, and what.
    faults: Vec<(u64, What)>,
}

impl Check<'_> {
    pub(super) fn records(&mut self, name: &Path, segment: &Segment) -> io::Result<()> {
        let index = segment.index()?;
        let length = segment.file.metadata()?.len();
        let end = index.as_ref().map_or(length, |(trailer, _)| trailer.index);
        let places = index
            .as_ref()
            .map_or_else(Vec::new, |(_, indexed)| places(indexed));
        let mut scanned = Scanned::default();
        let mut from = Some(FILE_HEAD as u64);
        while let Some(at) = from {
            let see = |at, seen: ScannedRecord<'_>| self.see(&mut scanned, at, &seen);
            let stopped = scan(&segment.file, segment.nonce, at, end, see)?;
            if stopped >= end {
                break;
            }
            let is_torn = index.is_none()
                && Ending::of(segment, &scanned.entries, stopped, end)? == Ending::Torn;
            let what = if is_torn { What::Torn } else { What::Record };
            scanned.faults.push((stopped, what));
            // A damaged head does not say how long its record is. The index says where the next one begins.
            let next = places.partition_point(|place| *place <= stopped);
            from = places.get(next).copied();
        }
        self.done.records += scanned.sound;
        self.done.bytes += length;
        let Scanned {
            entries,
            mut faults,
            ..
        } = scanned;
        if let Some((trailer, indexed)) = index
            && faults.is_empty()
        {
            if indexed.iter().any(|entry| !is_among(&entries, entry)) {
                faults.push((trailer.index, What::Index));
            } else if trailer.labels > 0 && !are_sound(segment.labels()?.as_deref(), &entries) {
                faults.push((trailer.labels_at(), What::Labels));
            }
        }
        for (at, what) in faults {
            self.fault(name, at, what);
        }
        Ok(())
    }

    /// Notes what the scan has found at `at`.
    fn see(&mut self, scanned: &mut Scanned, at: u64, seen: &ScannedRecord<'_>) {
        match seen {
            ScannedRecord::Sound(head, bytes) => {
                let own = bytes.get(RECORD_HEAD..head.sums()).unwrap_or_default();
                if Head::decode(own).is_err() {
                    scanned.faults.push((at, What::Record));
                }
                if head.large != 0 {
                    self.named.insert(head.large, (head.nonce, head.body));
                }
                scanned.entries.push(entry(head, at));
                scanned.sound += 1;
            }
            ScannedRecord::BadBody(head, _) => {
                scanned.entries.push(entry(head, at));
                scanned.faults.push((at, What::Body));
            }
            ScannedRecord::End => {}
        }
    }
}

/// Where these records begin, in order.
fn places(indexed: &[Entry]) -> Vec<u64> {
    let mut places: Vec<u64> = indexed
        .iter()
        .map(|entry| u64::from(entry.unit) * ALIGN)
        .collect();
    places.sort_unstable();
    places
}

/// Whether `all` contains `entry`. `all` is sorted by place.
fn is_among(all: &[Entry], entry: &Entry) -> bool {
    let at = all.binary_search_by_key(&entry.unit, |held| held.unit);
    at.ok().and_then(|at| all.get(at)) == Some(entry)
}

/// Whether `labels` are sound, and each belongs to one of `entries`.
fn are_sound(labels: Option<&[u8]>, entries: &[Entry]) -> bool {
    let Some(mut rest) = labels else { return false };
    while !rest.is_empty() {
        let Ok((unit, _, more)) = label::read(rest) else {
            return false;
        };
        if entries
            .binary_search_by_key(&unit, |held| held.unit)
            .is_err()
        {
            return false;
        }
        rest = more;
    }
    true
}
