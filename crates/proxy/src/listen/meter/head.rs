//! Heads that have come only in part, and what a client sends ahead of its turn.
//!
//! While a head is read without `hyper`, it is kept once. `hyper` gets it when it is complete, or is malformed. In
//! either case it counts in the budget until the connection is at rest.

use super::Meter;
use crate::listen::{
    direct::encoded,
    version::{WrittenVersion, lowered, written},
    watch::{Order, Reading},
};
use bytes::{Bytes, BytesMut};
use origin::http2::{Frames, Gathering};
use std::{
    mem,
    sync::{MutexGuard, PoisonError},
};

/// A head up to this length, in bytes, may take the last of the budget. A longer one leaves a quarter to others.
pub(in crate::listen) const SHORT: usize = 4 * 1024;

/// What of a head has come.
struct HeadSize {
    bytes: usize,
    /// Its field lines.
    fields: usize,
    is_whole: bool,
}

impl HeadSize {
    /// That of the head that `bytes` begin with. Content may follow.
    fn of(bytes: &[u8]) -> Self {
        let (mut end, mut lines) = (0, 0_usize);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            end += line.len();
            let is_ended = matches!(line, b"\r\n" | b"\n");
            // Its end may not have come.
            let is_empty = is_ended || line == b"\r";
            if is_ended && lines > 0 {
                return Self::new(end, lines, true);
            }
            // Empty lines before the first one are ignored (RFC 9112 section 2.2).
            lines += usize::from(!is_empty);
        }
        Self::new(end, lines, false)
    }

    const fn new(bytes: usize, lines: usize, is_whole: bool) -> Self {
        Self {
            bytes,
            fields: lines.saturating_sub(1),
            is_whole,
        }
    }
}

impl Meter {
    /// How many of the bytes [ahead](Self::ahead) were parsed as a head already without reaching its end.
    pub(in crate::listen) fn parsed(&self) -> usize {
        self.parsed
    }

    /// Sets [`parsed`](Self::parsed).
    pub(in crate::listen) fn set_parsed(&mut self, bytes: usize) {
        self.parsed = bytes;
    }

    /// Keeps the part of a head that was read until more comes; `parsed` is as in [`Self::parsed`]. If there is no room
    /// for it, the connection's task is told.
    pub(in crate::listen) fn leave_head(&mut self, bytes: &[u8], parsed: usize) {
        if bytes.is_empty() {
            self.room = None;
            return;
        }
        self.put_back(Bytes::copy_from_slice(bytes));
        self.parsed = parsed;
        self.left_head();
    }

    /// Follows the frames of HTTP/2 from the beginning.
    pub(in crate::listen) fn follow(&mut self, frames: Frames, gathering: Gathering) {
        self.frames = Some(Box::new((frames, gathering)));
    }

    /// Whether what has come over HTTP/2 is to be gathered before more is read.
    pub(super) fn is_to_be_gathered(&self) -> bool {
        let frames = self.frames.as_ref();
        frames.is_some_and(|frames| frames.1.is_due())
    }

    /// Continues to follow the frames of HTTP/2. A head that has come only in part has a time limit, and its bytes
    /// count.
    pub(super) fn follow_on(&mut self, bytes: &[u8]) {
        let Some((frames, gathering)) = self.frames.as_deref_mut() else {
            return;
        };
        let kept = frames.go_on(bytes);
        gathering.read(bytes.len(), frames.take_small());
        if kept == 0 || frames.has_ended() {
            self.watch.has_no_head();
        }
        if kept == 0 {
            self.room = None;
            return;
        }
        self.watch.head_goes_on();
        if !self.has_room_for_head(kept) {
            self.watch.tell(Order::NoRoom);
        }
    }

    /// Appends more of a head to what was [kept](Self::leave_head) of it.
    pub(in crate::listen) fn add_to_head(&mut self, bytes: &[u8]) {
        self.extend_ahead(bytes);
        self.left_head();
    }

    /// Appends `bytes` to what is [ahead](Self::ahead). It does so in place, so that a client that sends single bytes
    /// does not cause a copy with each.
    fn extend_ahead(&mut self, bytes: &[u8]) {
        let mut ahead = match mem::take(&mut self.ahead).try_into_mut() {
            Ok(ahead) => ahead,
            Err(shared) => BytesMut::from(&shared[..]),
        };
        ahead.extend_from_slice(bytes);
        self.ahead = ahead.freeze();
    }

    fn left_head(&mut self) {
        self.watch.awaits_head();
        if !self.has_room_for_target(&self.ahead) {
            self.watch.tell(Order::TargetTooLong);
        } else if !self.count_head(self.ahead.len()) {
            self.watch.tell(Order::NoRoom);
        }
    }

    /// Makes `hyper` read `bytes`, read as a head or as what is not one, and all that was kept of it before.
    pub(in crate::listen) fn hand_head_over(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.put_back(Bytes::copy_from_slice(bytes));
        }
        if self.ahead.is_empty() {
            return;
        }
        self.watch.awaits_head();
        self.judge_version();
        let size = HeadSize::of(&self.ahead);
        if let Some(encoded) = encoded(&self.ahead) {
            self.ahead = encoded.into();
        }
        let ahead = self.ahead.clone();
        if !self.keep_head(Reading::HeadBegins, &ahead) {
            self.watch.tell(Order::TargetTooLong);
        } else if let Some(order) = self.beyond(&size) {
            self.watch.tell(order);
        } else if !self.has_room_for_head(2 * ahead.len()) {
            // It is kept here beside what `hyper` reads.
            self.watch.tell(Order::NoRoom);
        }
        self.bound();
    }

    /// Returns the answer to a head of this size if that is beyond the limits. `hyper` would not say why. A head that is
    /// refused already is not judged.
    fn beyond(&self, size: &HeadSize) -> Option<Order> {
        if self.watch.order() > Order::Drain {
            None
        } else if size.bytes > self.head || (!size.is_whole && size.bytes == self.head) {
            Some(Order::HeadTooLarge)
        } else {
            (size.fields > self.fields).then_some(Order::TooManyFields)
        }
    }

    /// Judges the version of the head [ahead](Self::ahead) for `hyper`, which knows two. A later version of HTTP/1
    /// becomes 1.1.
    fn judge_version(&mut self) {
        let is_foreign = || written(&self.ahead) == Some(WrittenVersion::Foreign);
        if let Some(lowered) = lowered(&self.ahead) {
            self.ahead = lowered.into();
        } else if self.watch.order() <= Order::Drain && is_foreign() {
            self.watch.tell(Order::ForeignVersion);
        }
    }

    /// Keeps what a client sends while it is being answered. That is no reason to break the answer off.
    pub(in crate::listen) fn keep_ahead(&mut self, bytes: &[u8]) {
        self.extend_ahead(bytes);
        if let Some(memory) = &self.watch.worker.memory {
            let room = self
                .room
                .get_or_insert_with(|| memory.budget().reservation());
            room.take(bytes.len() as u64);
            memory.make_room();
        }
    }

    /// Whether there is room for the head of this many bytes that is answered next, see [`Self::has_room_for_head`].
    /// What was taken for the previous head is given back.
    #[inline]
    pub(in crate::listen) fn has_room_for_next(&mut self, bytes: usize) -> bool {
        let ahead = self.ahead.len();
        if let Some(room) = &mut self.room {
            room.shrink_to(ahead as u64);
            if ahead == 0 {
                self.room = None;
            }
        }
        bytes <= SHORT || self.count_head(bytes + ahead)
    }

    /// Keeps the raw head that `hyper` reads. Returns `false` if the target alone exceeds its limit, for which `hyper`
    /// would answer 431.
    pub(super) fn keep_head(&self, reading: Reading, bytes: &[u8]) -> bool {
        let mut head = self.kept();
        if reading == Reading::HeadBegins {
            head.clear();
        }
        let room = self.head.saturating_sub(head.len());
        head.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        self.has_room_for_target(&head)
    }

    fn kept(&self) -> MutexGuard<'_, Vec<u8>> {
        let head = self.watch.head.lock();
        head.unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the target in a part of a head may still be short enough. 32 bytes are for the method and white space; a
    /// complete request line is judged exactly once it is parsed.
    fn has_room_for_target(&self, head: &[u8]) -> bool {
        let line = head.get(2..).unwrap_or_default();
        head.len() <= self.target + 32 || memchr::memchr(b'\n', line).is_some()
    }

    /// Whether there is room for a head of which this many bytes are kept until it is answered. A short one needs none.
    #[inline]
    pub(in crate::listen) fn has_room_for_head(&mut self, bytes: usize) -> bool {
        bytes <= SHORT || self.count_head(bytes)
    }

    /// Takes room for this many bytes of a head, if memory is counted.
    fn count_head(&mut self, bytes: usize) -> bool {
        let Some(memory) = &self.watch.worker.memory else {
            return true;
        };
        let room = self
            .room
            .get_or_insert_with(|| memory.budget().reservation());
        let more = (bytes as u64).saturating_sub(room.bytes());
        let fits = if bytes <= SHORT {
            room.grow(more)
        } else {
            room.grow_sparing(more)
        };
        memory.make_room();
        fits
    }

    /// Forgets the raw head: what comes next is read without keeping one.
    pub(in crate::listen) fn forget_head(&self) {
        *self.kept() = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_of_a_head_has_come() {
        for (bytes, fields, length, is_whole) in [
            ("", 0, 0, false),
            ("GET / HT", 0, 8, false),
            ("GET / HTTP/1.1\r\nA: b\r\n\r\nGET", 1, 24, true),
            ("\r\nGET / HTTP/1.1\nA: b\nC: d\n\n", 2, 28, true),
            // Its last line has not come to its end: it is empty, and no field.
            ("GET / HTTP/1.1\r\nA: b\r\n\r", 1, 23, false),
            ("GET / HTTP/1.1\r\nA: b\r\nC", 2, 23, false),
        ] {
            let size = HeadSize::of(bytes.as_bytes());
            let found = (size.fields, size.bytes, size.is_whole);
            assert_eq!(found, (fields, length, is_whole), "{bytes:?}");
        }
    }
}
