//! What moves on a connection, as told by its I/O.

use super::{Stage, Watch};
use std::sync::atomic::Ordering::Relaxed;

/// What newly read bytes belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::listen) enum Reading {
    HeadBegins,
    HeadGoesOn,
    /// A body, pipelined bytes, or HTTP/2 frames.
    Other,
}

impl Watch {
    /// Notes that bytes came. Returns whether they belong to a head being read, and if so, whether they are its first.
    pub(in crate::listen) fn read(&self) -> Reading {
        if self.in_flight.load(Relaxed) > 0 || self.stage() != Stage::Http1 {
            return Reading::Other;
        }
        if self.head_since.load(Relaxed) != 0 {
            return Reading::HeadGoesOn;
        }
        self.head_since.store(self.worker.now(), Relaxed);
        Reading::HeadBegins
    }

    /// Notes that a part of a head is here and the rest has yet to come. If its first bytes came while another request
    /// was in flight, its time begins now.
    pub(in crate::listen) fn awaits_head(&self) {
        if self.in_flight.load(Relaxed) == 0 {
            self.head_goes_on();
        }
    }

    /// Notes that a head has come only in part. Its time began when that was first so.
    pub(in crate::listen) fn head_goes_on(&self) {
        if self.head_since.load(Relaxed) == 0 {
            self.head_since.store(self.worker.now(), Relaxed);
        }
    }

    /// Notes that the first bytes of a connection may be those of a head, and may still turn out to be something else.
    pub(in crate::listen) fn may_have_head(&self) {
        self.enter(Stage::Http1);
        self.awaits_head();
    }

    /// Notes that they turned out to be something else.
    pub(in crate::listen) fn has_no_head(&self) {
        self.head_since.store(0, Relaxed);
    }

    /// Whether to wait before `hyper` learns that the client has ended its side.
    ///
    /// `hyper` would take a client that sends nothing more for one that left, and drop the request in flight. Some
    /// clients close their side right after their request and still read. So an answer that is ready within a step or
    /// two is sent, and then all of it that the client takes.
    pub(in crate::listen) fn waits_at_end(&self) -> bool {
        let serving = self.in_flight.load(Relaxed) > 0 && self.bodies_awaited.load(Relaxed) == 0;
        let answering = serving || self.write_blocked.load(Relaxed);
        if self.stage() != Stage::Http1 || !answering {
            return false;
        }
        let now = self.worker.now();
        if self.ended_at.load(Relaxed) == 0 {
            self.ended_at.store(now, Relaxed);
        }
        !self.has_left(now)
    }

    /// Whether the client ended its side some steps ago and has taken nothing since although it could.
    pub(super) fn has_left(&self, now: u32) -> bool {
        let ended_at = self.ended_at.load(Relaxed);
        let quiet = |began: u32| now.wrapping_sub(began) > 1;
        ended_at != 0 && quiet(ended_at) && quiet(self.written_at.load(Relaxed)) && !self.owes()
    }

    /// Whether an answer waits for the client.
    pub(super) fn owes(&self) -> bool {
        self.write_blocked.load(Relaxed) || self.bodies_owed.load(Relaxed) > 0
    }

    pub(in crate::listen) fn wrote(&self) {
        self.written_at.store(self.worker.now(), Relaxed);
        self.write_blocked.store(false, Relaxed);
    }

    /// Notes that the client takes something of what TLS has written.
    pub(in crate::listen) fn took(&self) {
        self.taken_at.store(self.worker.now(), Relaxed);
    }

    /// When the client last took something.
    pub(super) fn taken_at(&self) -> u32 {
        match self.taken_at.load(Relaxed) {
            0 => self.written_at.load(Relaxed),
            taken_at => taken_at,
        }
    }

    pub(in crate::listen) fn blocked(&self) {
        self.write_blocked.store(true, Relaxed);
    }

    /// Whether the client takes nothing of what is to be written.
    pub(in crate::listen) fn is_blocked(&self) -> bool {
        self.write_blocked.load(Relaxed)
    }

    /// Notes that nothing is held back below us: if we waited for the client, it has taken everything.
    pub(in crate::listen) fn flushed(&self) {
        if self.write_blocked.load(Relaxed) {
            self.wrote();
        }
    }

    /// Notes that the bytes of an answer begin to be written.
    pub(in crate::listen) fn message_begins(&self) {
        self.between.store(false, Relaxed);
    }

    /// Notes that everything that was written is sent.
    pub(in crate::listen) fn message_ends(&self) {
        self.between.store(true, Relaxed);
    }

    /// Whether everything that was written is sent.
    pub(in crate::listen) fn is_between(&self) -> bool {
        self.between.load(Relaxed)
    }
}
