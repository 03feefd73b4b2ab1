//! The requests of a connection, as told by the code that serves them.

use super::{Order, Stage, Wait, Watch};
use std::{
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    task::Waker,
};

impl Watch {
    /// Says that `hyper` must keep the connection until [`let_go`](Self::let_go): it alone knows where the present
    /// request ends.
    pub(in crate::listen) fn keep(&self) {
        raise(&self.kept);
    }

    /// Says that `hyper` need not keep the connection any longer for one reason to [keep](Self::keep) it.
    pub(in crate::listen) fn let_go(&self) {
        lower(&self.kept);
        if self.in_flight.load(Relaxed) == 0 {
            // If the content outlasts the answer, nothing else tells that the request is over.
            self.wake();
        }
    }

    /// Notes that `hyper`'s turn begins.
    pub(in crate::listen) fn turn(&self) {
        self.answered.store(false, Relaxed);
    }

    /// Whether `hyper`'s turn is over: it has answered, everything is sent, and all content of requests was read.
    pub(in crate::listen) fn is_at_rest(&self) -> bool {
        self.has_answered() && self.kept.load(Relaxed) == 0
    }

    /// Whether the next request is not for `hyper` to read: its turn [is over](Self::is_at_rest), and what comes next
    /// is a head from its first byte.
    pub(in crate::listen) fn leaves_next(&self) -> bool {
        self.stage() == Stage::Http1 && self.order() == Order::Serve && self.is_at_rest()
    }

    /// Whether `hyper` has answered, and everything is sent, also what only `hyper` knows of and could not write or
    /// flush.
    pub(in crate::listen) fn has_answered(&self) -> bool {
        self.in_flight.load(Relaxed) == 0
            && self.answered.load(Relaxed)
            && self.is_between()
            && !self.write_blocked.load(Relaxed)
    }

    /// Whether every request that has come, or begun to, is answered, and everything is sent.
    pub(in crate::listen) fn is_quiet(&self) -> bool {
        self.in_flight.load(Relaxed) == 0
            && self.head_since.load(Relaxed) == 0
            && !self.write_blocked.load(Relaxed)
    }

    pub(in crate::listen) fn request_begins(&self) {
        // Over HTTP/2, the head that has come in part may be another request's.
        if self.stage() != Stage::Http2 {
            self.head_since.store(0, Relaxed);
        }
        self.in_flight
            .store(self.in_flight.load(Relaxed) + 1, Relaxed);
    }

    pub(in crate::listen) fn request_ends(&self) {
        let left = self.in_flight.load(Relaxed).saturating_sub(1);
        self.in_flight.store(left, Relaxed);
        if left == 0 {
            self.since.store(self.worker.now(), Relaxed);
            self.answered.store(true, Relaxed);
        }
    }

    /// Counts an HTTP/2 request that ended, `cancelled` by the client or not. A client that has cancelled `most` more
    /// than it let finish is cut (RFC 9113 section 10.5).
    pub(in crate::listen) fn tally(&self, cancelled: bool, most: u32) {
        let counter = if cancelled {
            &self.cancelled
        } else {
            &self.finished
        };
        let count = counter.load(Relaxed).saturating_add(1);
        counter.store(count, Relaxed);
        if cancelled && count > self.finished.load(Relaxed).saturating_add(most) {
            self.tell(Order::Close);
        }
    }

    /// Notes that a task waits for a piece of a request's body. The wait is to be ended with
    /// [`body_came`](Self::body_came).
    pub(in crate::listen) fn await_body(&self, waker: &Waker) -> Wait {
        // Waiting begins now, however long ago the last byte came.
        let since = self.worker.now();
        self.awaited_since.store(since, Relaxed);
        raise(&self.bodies_awaited);
        let waker = (self.stage() == Stage::Http2).then_some(waker);
        self.contents.begin(since, waker)
    }

    /// Notes that another task waits for the piece now.
    pub(in crate::listen) fn hand_body_over(&self, wait: Wait, waker: &Waker) {
        self.contents.hand_over(wait, waker);
    }

    /// Notes that the awaited piece has come, or that no task waits any more.
    pub(in crate::listen) fn body_came(&self, wait: Wait) {
        lower(&self.bodies_awaited);
        self.contents.end(wait);
    }

    /// Whether the awaited piece is late.
    pub(in crate::listen) fn is_late(&self, wait: Wait) -> bool {
        self.contents.is_late(wait)
    }

    /// Notes whether an answer's body has more to give than the client takes (HTTP/1).
    pub(in crate::listen) fn owe_body(&self, owed: bool) {
        self.written_at.store(self.worker.now(), Relaxed);
        if owed {
            raise(&self.bodies_owed);
        } else {
            lower(&self.bodies_owed);
        }
    }

    /// Notes that a request's content was left unread: a close right after the answer would reset the connection before
    /// the client has read it.
    pub(in crate::listen) fn leave_unread(&self) {
        self.unread.store(true, Relaxed);
    }

    pub(in crate::listen) fn has_unread(&self) -> bool {
        self.unread.load(Relaxed)
    }

    /// Sets whether the client holds back the content of its request until it is told to continue (RFC 9110 section
    /// 10.1.1).
    pub(in crate::listen) fn hold_back(&self, held: bool) {
        self.held_back.store(held, Relaxed);
    }

    /// Whether an answer that begins now ends the connection: content of its request is not read, has come only in
    /// part, or is not even sent. A server that answers so early may not read the rest (RFC 9112 section 9.6).
    pub(in crate::listen) fn ends_with_answer(&self) -> bool {
        self.has_unread() || self.held_back.load(Relaxed) || self.kept.load(Relaxed) > 0
    }

    /// Whether no final answer has begun for the client's last request (HTTP/1).
    pub(in crate::listen) fn may_answer(&self) -> bool {
        self.in_flight.load(Relaxed) == 0 || !self.outbox.is_closed()
    }
}

fn raise(counter: &AtomicU32) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

fn lower(counter: &AtomicU32) {
    counter.store(counter.load(Relaxed).saturating_sub(1), Relaxed);
}
