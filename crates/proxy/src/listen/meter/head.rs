//! Heads that have not come as a whole yet, and what a client sends ahead of its turn. While a head is read without `hyper` it is kept once,
//! and `hyper` gets it when it has come, or is not well formed; either way it counts in the budget until the connection is at rest.

use super::Meter;
use crate::listen::{
    http2::Frames,
    version::{WrittenVersion, lowered, written},
    watch::Order,
};
use bytes::{Bytes, BytesMut};
use std::{
    mem,
    sync::{MutexGuard, PoisonError},
};

/// A head up to this length, in bytes, may take the last of the budget; a longer one leaves a quarter to others.
pub(in crate::listen) const SHORT: usize = 4 * 1024;

impl Meter {
    /// How much of what lies [ahead](Self::ahead) was read as a head already, which it is no whole one.
    pub(in crate::listen) fn parsed(&self) -> usize {
        self.parsed
    }

    /// See [`parsed`](Self::parsed).
    pub(in crate::listen) fn set_parsed(&mut self, bytes: usize) {
        self.parsed = bytes;
    }

    /// Keeps what was read of a head until there is more of it; `parsed` as [`Self::parsed`] has it. Where that cannot be, the connection's
    /// task is told.
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
    pub(in crate::listen) fn follow(&mut self, frames: Frames) {
        self.frames = Some(Box::new(frames));
    }

    /// Follows the frames of HTTP/2 on. What is kept of a head that has not come as a whole has its time, and counts.
    pub(super) fn follow_on(&mut self, bytes: &[u8]) {
        let Some(frames) = &mut self.frames else {
            return;
        };
        let kept = frames.go_on(bytes);
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

    /// Puts more of a head behind what was [left](Self::leave_head) of it.
    pub(in crate::listen) fn add_to_head(&mut self, bytes: &[u8]) {
        self.extend_ahead(bytes);
        self.left_head();
    }

    /// Puts more behind what lies [ahead](Self::ahead): in place, so that a client that sends byte by byte has nothing copied with each.
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

    /// Has `hyper` read what was read of a head, or of what is none, and all that was left of it.
    pub(in crate::listen) fn hand_head_over(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.put_back(Bytes::copy_from_slice(bytes));
        }
        if self.ahead.is_empty() {
            return;
        }
        self.watch.awaits_head();
        self.judge_version();
        let ahead = self.ahead.clone();
        if !self.keep_head(true, &ahead) {
            self.watch.tell(Order::TargetTooLong);
        } else if !self.has_room_for_head(2 * ahead.len()) {
            // It is kept here beside what `hyper` reads.
            self.watch.tell(Order::NoRoom);
        }
    }

    /// Judges the version of the head that lies [ahead](Self::ahead) for `hyper`, which knows two: one of a later HTTP/1 is of 1.1.
    fn judge_version(&mut self) {
        let is_foreign = || written(&self.ahead) == Some(WrittenVersion::Foreign);
        if let Some(lowered) = lowered(&self.ahead) {
            self.ahead = lowered.into();
        } else if self.watch.order() <= Order::Drain && is_foreign() {
            self.watch.tell(Order::ForeignVersion);
        }
    }

    /// Keeps what a client sent while it is being answered, which is no reason to break that off.
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

    /// Whether there is room for the head of so many bytes that is answered next, as [`Self::has_room_for_head`] has it. What counted for
    /// the one before does not any more.
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

    /// Keeps the raw head that `hyper` reads. `false` when the target alone outgrows its limit: `hyper` would call that 431.
    pub(super) fn keep_head(&self, begins: bool, bytes: &[u8]) -> bool {
        let mut head = self.kept();
        if begins {
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

    /// Whether the target in what has come of a head may still be short enough. 32 bytes are for the method and white space; a complete
    /// request line is judged exactly once it is parsed.
    fn has_room_for_target(&self, head: &[u8]) -> bool {
        let line = head.get(2..).unwrap_or_default();
        head.len() <= self.target + 32 || memchr::memchr(b'\n', line).is_some()
    }

    /// Whether there is room for a head of which so many bytes are kept until it is answered. A short one needs none.
    #[inline]
    pub(in crate::listen) fn has_room_for_head(&mut self, bytes: usize) -> bool {
        bytes <= SHORT || self.count_head(bytes)
    }

    /// Takes room for so many bytes that are held of a head, where somebody counts.
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

    /// Forgets the raw head: what comes next is read by who keeps none.
    pub(in crate::listen) fn forget_head(&self) {
        *self.kept() = Vec::new();
    }
}
