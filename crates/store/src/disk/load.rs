//! Finds again what an earlier run left in the directory.

use super::{
    Doing,
    ending::Ending,
    event::Event,
    format::{Entry, FILE_HEAD, RECORD_HEAD},
    found::FoundSegment,
    index::{RecordPosition, Spot},
    keeper::Keeper,
    passing::{PAUSE, patiently},
    scan::{ScannedRecord, entry, scan},
    segment::{Opened, Segment},
};
use crate::codec::label;
use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Error, ErrorKind},
    sync::{
        Arc,
        atomic::Ordering::{Relaxed, Release},
    },
};

/// Keys and variants whose latest record has lost its content, because that was evicted. Earlier records of them were
/// superseded long ago, and must not be found again.
type Superseded = HashSet<(u64, u32)>;

impl Keeper {
    /// Loads all `segments`.
    pub fn load(&mut self, segments: Vec<FoundSegment>) {
        self.load_segments(segments);
        // Files that a crash left without a head, or that lost their last one.
        for id in self.ledger.unnamed_before(self.shared.first_large) {
            if let Some(bytes) = self.ledger.drop_unnamed(id) {
                self.remove_large(id, bytes);
            }
        }
        self.make_room(0);
        self.shared.withheld.end();
        self.shared.is_whole.store(true, Release);
        let (records, _) = self.shared.index.size();
        let took = self.shared.device.health.age();
        self.shared
            .device
            .health
            .tell(Event::Loaded { records, took });
    }

    /// Reads the index of each of `segments`. The latest comes first, because what was written last is asked for first.
    pub(super) fn load_segments(&mut self, mut segments: Vec<FoundSegment>) {
        let mut superseded = Superseded::default();
        while let Some(FoundSegment { id, file }) = segments.pop() {
            let loaded = file.and_then(|file| self.load_segment(id, file, &mut superseded));
            if let Err(error) = loaded {
                return self.abandon(&segments, id, &error);
            }
        }
    }

    /// Gives up `id`, which cannot be read or is damaged, and the `older` segments: what they have may have been replaced
    /// or given up there. Nor may they be found at the next start, because nobody notes what replaces them until then. So
    /// the oldest goes first.
    fn abandon(&self, older: &[FoundSegment], id: u32, error: &io::Error) {
        let device = &self.shared.device;
        device.unreadable(id, error, older.len());
        let remove = |id: u32| fs::remove_file(device.segment_path(id));
        let is_there = |removed: &io::Result<()>| {
            let error = removed.as_ref().err();
            error.is_some_and(|error| error.kind() != ErrorKind::NotFound)
        };
        let all = older.iter().map(|older| older.id).chain([id]);
        if all.map(remove).filter(is_there).count() > 0 {
            self.shared.purge_everything();
        }
    }

    fn load_segment(&mut self, id: u32, file: File, superseded: &mut Superseded) -> io::Result<()> {
        let path = self.shared.device.segment_path(id);
        let directory = self.shared.device.seed;
        let segment = match Segment::of(file, id, directory)? {
            Opened::Segment(segment) => segment,
            Opened::Damaged => {
                return Err(Error::new(ErrorKind::InvalidData, "its header is damaged"));
            }
            Opened::Foreign | Opened::Unwritten => {
                // Nothing in the file can be found, whether or not it can be removed.
                let _ = fs::remove_file(&path);
                return Ok(());
            }
        };
        let index = patiently(PAUSE, || segment.index())?;
        let entries = if let Some((trailer, entries)) = index {
            segment.checked.store(trailer.checked, Relaxed);
            entries
        } else {
            let unsealed = patiently(PAUSE, || Unsealed::read(&segment))?;
            if let Some(damage) = unsealed.damage() {
                return Err(damage);
            }
            // It can be used without its index. That is made again when its labels are wanted.
            if let Err(error) = unsealed.seal(&segment) {
                self.shared.device.failed(Doing::Writing, &path, &error);
            }
            unsealed.entries
        };
        if entries.is_empty() {
            let _ = fs::remove_file(&path);
            return Ok(());
        }
        self.total += segment.bytes.load(Relaxed);
        self.shared.segments_mut().insert(id, Arc::new(segment));
        // The latest comes first here too.
        for entry in entries.iter().rev() {
            self.load_record(id, entry, superseded);
        }
        Ok(())
    }

    fn load_record(&mut self, segment: u32, entry: &Entry, superseded: &mut Superseded) {
        let place = RecordPosition::new(segment, entry.unit);
        if superseded.contains(&(entry.key, entry.variant)) {
            return;
        }
        if let Some(key) = self.shared.withheld.key(entry.key) {
            // This withdraws it here and in memory, also after a restart.
            self.shared.purge(&key);
            return;
        }
        if entry.large != 0 {
            if !self.ledger.has(entry.large) {
                superseded.insert((entry.key, entry.variant));
                return;
            }
            self.ledger.name(place, entry.large, entry.key);
        }
        let spot = Spot::of(segment, entry);
        let insert = || self.shared.index.insert(spot);
        let forgotten = self.shared.withheld.unless_held(spot, insert);
        self.settle(forgotten.unwrap_or_else(|| vec![spot]));
    }
}

/// The sound records of a segment that was never sealed.
pub(super) struct Unsealed {
    entries: Vec<Entry>,
    labels: Vec<u8>,
    /// Where they end.
    end: u64,
    ending: Ending,
}

impl Unsealed {
    /// Reads the records.
    pub fn read(segment: &Segment) -> io::Result<Self> {
        let length = segment.file.metadata()?.len();
        let (mut entries, mut labels) = (Vec::new(), Vec::new());
        let end = scan(
            &segment.file,
            segment.nonce,
            FILE_HEAD as u64,
            length,
            |at, seen| {
                // A record with a damaged body hides what came before it, until it is read and given up.
                if let ScannedRecord::Sound(head, bytes) | ScannedRecord::BadBody(head, bytes) =
                    seen
                {
                    segment.note(head.checked);
                    let entry = entry(&head, at);
                    let own = bytes.get(RECORD_HEAD..head.sums()).unwrap_or_default();
                    if let Some(label) = label::of_head(own) {
                        label::add(&mut labels, entry.unit, &label);
                    }
                    entries.push(entry);
                }
            },
        )?;
        Ok(Self {
            ending: Ending::of(segment, &entries, end, length)?,
            entries,
            labels,
            end,
        })
    }

    /// Why the segment must be given up, if it is damaged.
    pub fn damage(&self) -> Option<Error> {
        let said = || {
            Error::new(
                ErrorKind::InvalidData,
                format!("damaged at byte {}", self.end),
            )
        };
        (self.ending == Ending::Damaged).then(said)
    }

    /// Cuts off what is torn, and seals the segment.
    pub fn seal(&self, segment: &Segment) -> io::Result<()> {
        if !self.entries.is_empty() {
            let length = segment.seal(&self.entries, &self.labels, self.end)?;
            segment.bytes.store(length, Relaxed);
        }
        Ok(())
    }
}
