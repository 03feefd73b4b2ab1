//! Reads records: a head, and a body beside it or in a file of its own.

mod response;

use super::{
    DiskState,
    device::{Missed, ReadMode},
    format::{RECORD_HEAD, RecordHead},
    index::Spot,
    segment::Segment,
};
use crate::{Stored, codec::View};
use bytes::Bytes;
use std::sync::Arc;

/// Records up to this size are read whole, with their body. Of larger ones only the head is read.
const WHOLE: usize = (256 << 10) + 4096;
/// Like [`WHOLE`], where bodies are left on disk: a smaller body is read faster than it is sent from its file.
const SMALL: usize = (16 << 10) + 4096;
/// Bytes that are read first of a larger record, to get its head. If the head is longer, the record is read again.
const GUESS: usize = 4096;

/// What to do with bodies of middle size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// Read them into memory with their heads.
    Read,
    /// Leave them on disk, to be sent from there.
    Left,
}

/// A record that was read. What was read of it is sound.
pub(super) struct Record {
    segment: Arc<Segment>,
    spot: Spot,
    pub head: RecordHead,
    pub bytes: Bytes,
}

impl DiskState {
    /// Reads the stored response at `spot`; `None` if it is of another key, or gone.
    pub fn read(
        &self,
        key: &[u8],
        spot: Spot,
        mode: ReadMode,
        bodies: Bodies,
    ) -> Result<Option<Stored>, Missed> {
        let Some(segment) = self.segment(spot.place.segment()) else {
            return Ok(None);
        };
        let read = self
            .record(segment.clone(), spot, mode, bodies)
            .and_then(|record| self.stored(key, &record, mode));
        if matches!(read, Err(Missed::Damaged)) {
            let path = self.device.segment_path(segment.id);
            self.device.damaged(path, spot.place.offset());
            self.forget(spot);
        }
        read
    }

    /// Reads the stored response at `spot`, and its key.
    pub fn reread(&self, spot: Spot) -> Result<(Box<[u8]>, Stored), Missed> {
        let segment = self.segment(spot.place.segment()).ok_or(Missed::Damaged)?;
        let record = self.record(segment, spot, ReadMode::Blocking, Bodies::Read)?;
        let head = record.bytes.get(RECORD_HEAD..record.head.sums());
        let view = View::parse(head.unwrap_or_default()).map_err(|_| Missed::Damaged)?;
        let stored = self.stored(view.key, &record, ReadMode::Blocking)?;
        stored
            .map(|stored| (view.key.into(), stored))
            .ok_or(Missed::Damaged)
    }

    /// Reads the record at `spot`: all of it if it is small, otherwise everything before its body.
    pub fn record(
        &self,
        segment: Arc<Segment>,
        spot: Spot,
        mode: ReadMode,
        bodies: Bodies,
    ) -> Result<Record, Missed> {
        let (size, offset) = (spot.size(), spot.place.offset());
        let fill = |length: usize| {
            let mut bytes = vec![0; length];
            let path = || self.device.segment_path(segment.id);
            self.device
                .read(&segment.file, &mut bytes, offset, mode, path)?;
            Ok(bytes)
        };
        let most = match bodies {
            Bodies::Read => WHOLE,
            Bodies::Left => SMALL,
        };
        let first = if size <= most { size } else { GUESS };
        let mut bytes = fill(first)?;
        let head = RecordHead::read(&bytes).ok_or(Missed::Damaged)?;
        let is_it = head.key == spot.key
            && head.size() == size as u64
            && (head.large != 0) == spot.is_large();
        if !is_it {
            return Err(Missed::Damaged);
        }
        if head.meta() > bytes.len() {
            bytes = fill(head.meta())?;
        }
        if !head.is_sound(&bytes, segment.nonce, offset) {
            return Err(Missed::Damaged);
        }
        Ok(Record {
            segment,
            spot,
            head,
            bytes: bytes.into(),
        })
    }
}
