//! Makes the stored response that a record holds.

use super::Record;
use crate::{
    Body, BodyPiece, Fields, Parts, Stored,
    codec::{Layout, View},
    disk::{
        DiskState, Doing, OnDisk,
        device::{Missed, ReadMode},
        format::{CHUNK, RECORD_HEAD, is_chunk_sound, seed},
        inline::Inline,
        large::Large,
        queue::Task,
    },
};
use rules::range::Span;
use std::{io::ErrorKind, sync::Arc};

impl DiskState {
    /// The response that `record` holds for `key`; `None` if it is of another key, or its body is gone.
    pub(super) fn stored(
        &self,
        key: &[u8],
        record: &Record,
        mode: ReadMode,
    ) -> Result<Option<Stored>, Missed> {
        let head = record.bytes.get(RECORD_HEAD..record.head.sums());
        let view = View::parse(head.unwrap_or_default()).map_err(|_| Missed::Damaged)?;
        if view.layout.stored() != record.head.body {
            return Err(Missed::Damaged);
        }
        if view.key != key {
            return Ok(None);
        }
        let Some(piece) = self.piece(record, mode)? else {
            self.forget(record.spot);
            return Ok(None);
        };
        let fields = record.bytes.slice_ref(view.fields);
        let fields = match &piece {
            // They share the allocation with the body, unless that is small.
            BodyPiece::Memory(_) | BodyPiece::Mapped(_) => Fields::from_packed(fields),
            BodyPiece::Disk(_) => Fields::from_packed(fields).map(|fields| fields.detached()),
        };
        let fields = fields.ok_or(Missed::Damaged)?;
        let unsent = view.unsent().map_err(|_| Missed::Damaged)?;
        let checked = self.checked(&record.segment, view.checked);
        let body = laid_out(&view.layout, piece).ok_or(Missed::Damaged)?;
        let marks = self.log.tags().marks(view.tags, checked);
        let stored = Stored::new(
            checked,
            view.status,
            fields,
            view.facts,
            view.variant,
            marks,
            body,
        );
        Ok(Some(stored.with_unsent(unsent).with_uses(view.uses)))
    }

    /// The body of a record; `None` if it is gone. It is in memory if it was read with its head.
    fn piece(&self, record: &Record, mode: ReadMode) -> Result<Option<BodyPiece>, Missed> {
        let head = &record.head;
        if head.large != 0 {
            let large = self.large(head.large, head.nonce, head.body, mode)?;
            return Ok(large.map(|large| OnDisk::large(large, head.body).into()));
        }
        let sums = record.bytes.get(head.sums()..head.meta());
        let sums = sums.unwrap_or_default();
        let end = head.meta() + head.inline();
        if record.bytes.len() < end {
            let device = self.device.clone();
            let inline = Inline::new(device, &record.segment, record.spot, head, sums);
            return Ok(Some(OnDisk::inline(Arc::new(inline), head.body).into()));
        }
        let body = record.bytes.slice(head.meta()..end);
        let own = seed(record.segment.nonce, record.spot.place.offset());
        let mut chunks = body.chunks(CHUNK).enumerate();
        let is_sound = chunks.all(|(number, chunk)| is_chunk_sound(chunk, sums, number, own));
        is_sound.then(|| Some(body.into())).ok_or(Missed::Damaged)
    }

    /// The large file `id`; `None` if it is gone. It is opened if nobody has it open, which may wait.
    fn large(
        &self,
        id: u64,
        nonce: u64,
        length: u64,
        mode: ReadMode,
    ) -> Result<Option<Arc<Large>>, Missed> {
        if let Some(large) = self.open_files.get(id) {
            let is_it = large.nonce == nonce && large.readable() >= length;
            return Ok(is_it.then_some(large));
        }
        if mode == ReadMode::NonBlocking {
            return Err(Missed::Waits);
        }
        let (path, device) = (self.device.large_path(id), &self.device);
        match Large::open(id, nonce, length, device.clone()) {
            Ok((large, file)) => Ok(Some(self.keep_open(Arc::new(large), file))),
            // It made room meanwhile, or somebody removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::InvalidData | ErrorKind::UnexpectedEof
                ) =>
            {
                device.damaged(path, 0);
                device.tell_keeper(Task::LargeDamaged(id));
                Ok(None)
            }
            Err(error) => {
                device.failed(Doing::Reading, &path, &error);
                Err(Missed::Failed)
            }
        }
    }
}

/// Makes the body from `piece`, the bytes that lie beside the head.
fn laid_out(layout: &Layout, piece: BodyPiece) -> Option<Body> {
    let Layout::Parts { length, parts } = layout else {
        return Some(piece.into());
    };
    let mut at = 0;
    let cut = |(first, length): &(u64, u64)| {
        let span = Span {
            first: at,
            last: at + length.checked_sub(1)?,
        };
        at += length;
        let part = piece.cut(0, span)?;
        (part.len() == *length).then_some((*first, part))
    };
    let parts = parts.iter().map(cut).collect::<Option<_>>()?;
    Parts::from_pieces(*length, parts).map(|parts| Body::Parts(Arc::new(parts)))
}
