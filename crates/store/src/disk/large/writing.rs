//! Writes what has arrived of a large body, on a thread of the tier.

use super::{Descriptor, Large, tail::wake};
use crate::disk::{
    Doing,
    format::{CHUNK, FileHead, Kind, large_sum},
    layout::{self, file_length},
    queue::Task,
};
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    sync::{
        Arc,
        atomic::Ordering::{Relaxed, Release},
        mpsc::sync_channel,
    },
};

/// Bytes of room that are asked for at a time.
const ROOM: u64 = 8 << 20;

impl Large {
    /// Has a thread of the tier write the chunks that wait. They take turns with those of other bodies. False if the
    /// tier is closed.
    pub(super) fn write_soon(self: Arc<Self>) -> bool {
        let (device, large) = (self.device.clone(), self.clone());
        let is_queued = device.writers.run_always(move || large.write());
        if !is_queued {
            self.fail();
        }
        is_queued
    }

    fn write(self: Arc<Self>) {
        let Some((chunk, is_last)) = self.take() else {
            return;
        };
        // All that came before may be written already.
        let written = (!chunk.is_empty()).then(|| self.write_chunk(&chunk));
        match written {
            Some(Ok(())) => self.device.health.worked(Doing::Writing),
            Some(Err(error)) => {
                if let Some(error) = error {
                    let path = self.device.large_path(self.id);
                    self.device.failed(Doing::Writing, &path, &error);
                }
                return self.fail();
            }
            None => {}
        }
        self.advance(is_last);
        if !is_last {
            self.write_soon();
        }
    }

    /// Takes a chunk that can be written now, and whether it is the last; `None` if there is none, and no thread writes
    /// any more. No more is copied: the budget counts what waits.
    fn take(&self) -> Option<(Vec<u8>, bool)> {
        let mut tail = self.tail();
        let is_last = tail.is_last && tail.bytes <= CHUNK;
        let bytes = tail.bytes.min(CHUNK);
        if (bytes < CHUNK && !is_last) || self.is_failed() || self.is_whole() {
            tail.is_busy = false;
            return None;
        }
        let mut out = Vec::with_capacity(bytes);
        while out.len() < bytes
            && let Some(mut piece) = tail.pieces.pop_front()
        {
            let rest = piece.split_off(piece.len().min(bytes - out.len()));
            out.extend_from_slice(&piece);
            if !rest.is_empty() {
                tail.pieces.push_front(rest);
            }
        }
        tail.bytes -= out.len();
        wake(tail);
        Some((out, is_last))
    }

    /// Writes one chunk behind the others. `Err(Some)` is an error of the device; `Err(None)` means that there is no
    /// room.
    pub(super) fn write_chunk(&self, chunk: &[u8]) -> Result<(), Option<io::Error>> {
        let readable = self.readable.load(Relaxed);
        let number = readable / CHUNK as u64;
        let end = readable + chunk.len() as u64;
        self.reserve(file_length(end)).then_some(()).ok_or(None)?;
        let file = self.made()?;
        file.write_all_at(chunk, layout::offset(number))?;
        let sum = large_sum(chunk, self.nonce, number);
        file.write_all_at(&sum, layout::sum_offset(number))?;
        let written = &self.device.counts.bytes_written;
        written.fetch_add((chunk.len() + sum.len()) as u64, Relaxed);
        self.readable.store(end, Release);
        Ok(())
    }

    /// Returns the file, which is made when it is first needed.
    fn made(&self) -> io::Result<Arc<File>> {
        if let Some(file) = self.file() {
            return Ok(file);
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let file = options.open(self.device.large_path(self.id))?;
        let head = FileHead {
            kind: Kind::Large,
            id: self.id,
            nonce: self.nonce,
            directory: self.device.seed,
        };
        file.write_all_at(&head.write(), 0)?;
        let file = Arc::new(file);
        *self.descriptor() = Descriptor::Own(file.clone());
        Ok(file)
    }

    /// Has the keeper make room for a file of `length` bytes.
    fn reserve(&self, length: u64) -> bool {
        let tail = self.tail();
        let (room, is_last, announced) = (tail.room, tail.is_last, tail.announced);
        drop(tail);
        if length <= room {
            return true;
        }
        let ahead = ROOM.max(length - room);
        let step = match announced {
            _ if is_last => length - room,
            Some(all) if all >= length => ahead.min(all - room),
            _ => ahead,
        };
        let has_room = |bytes| {
            let (answer, told) = sync_channel(1);
            self.device.tell_keeper(Task::Room(self.id, bytes, answer));
            told.recv() == Ok(true)
        };
        let got = [step, length - room]
            .into_iter()
            .find(|bytes| has_room(*bytes));
        self.tail().room = room + got.unwrap_or(0);
        got.is_some()
    }

    /// Gives back room that was not needed.
    fn give_back(&self) {
        let mut tail = self.tail();
        let needed = file_length(self.readable()).min(tail.room);
        let spare = tail.room - needed;
        tail.room = needed;
        drop(tail);
        if spare > 0 {
            self.device.tell_keeper(Task::Spare(self.id, spare));
        }
    }

    fn advance(&self, is_last: bool) {
        if is_last {
            self.is_whole.store(true, Release);
            self.give_back();
        }
        wake(self.tail());
    }
}
