//! The I/O under the protocols: counts bytes, tells the `Watch` what moves, keeps the raw head, and puts interim responses between
//! messages. The two directions are `read` and `write`; what has come of a head is `head`'s.

mod head;
mod read;
mod write;

pub(super) use head::SHORT;

use super::{http2::Frames, limiter::Slot, stream::Stream, watch::Watch};
use bytes::{Buf, Bytes};
use std::{mem, sync::Arc};
use store::Reservation;

/// See the module.
#[derive(Debug)]
pub(super) struct Meter {
    stream: Stream,
    watch: Arc<Watch>,
    /// What was read already and is to be read again first.
    ahead: Bytes,
    /// So many bytes of it were read as a head, which they are no whole one.
    parsed: usize,
    /// What heads and what was sent ahead take of the budget, until the connection is at rest.
    room: Option<Reservation>,
    /// Most bytes of a request target and of a head.
    target: usize,
    head: usize,
    /// An interim response under way, and how much of it is out.
    interim: Vec<u8>,
    interim_out: usize,
    /// How far a head has come over HTTP/2.
    frames: Option<Box<Frames>>,
    /// Whether the client has sent its last byte.
    ended: bool,
    /// Whether `hyper` has yet to hear of it.
    end_held: bool,
    /// Held as long as the socket is open, through an upgrade too.
    _slot: Slot,
}

impl Meter {
    pub(super) fn new(
        stream: Stream,
        watch: Arc<Watch>,
        (target, head): (usize, usize),
        slot: Slot,
    ) -> Self {
        Self {
            stream,
            watch,
            ahead: Bytes::new(),
            parsed: 0,
            room: None,
            target,
            head,
            interim: Vec::new(),
            interim_out: 0,
            frames: None,
            ended: false,
            end_held: false,
            _slot: slot,
        }
    }

    /// Has `bytes`, which were read, read again first.
    pub(super) fn put_back(&mut self, bytes: Bytes) {
        if bytes.is_empty() {
            // It would hold the memory that it came in.
            return;
        }
        self.parsed = 0;
        self.ahead = if self.ahead.is_empty() {
            bytes
        } else {
            Bytes::from([bytes, mem::take(&mut self.ahead)].concat())
        };
    }

    /// What is written from now on is at hand, and the connection is closed behind it.
    pub(super) fn end(&mut self) {
        self.stream.end();
    }

    /// What was put back and not yet read again.
    pub(super) fn ahead(&self) -> &[u8] {
        &self.ahead
    }

    /// Whether something was put back and not yet read again.
    pub(super) fn has_ahead(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// So many bytes of it are not read again after all.
    pub(super) fn skip_ahead(&mut self, bytes: usize) {
        self.parsed = 0;
        self.ahead.advance(bytes.min(self.ahead.len()));
        if self.ahead.is_empty() {
            self.ahead = Bytes::new();
        }
    }

    /// Whether an answer of our own could be written now without cutting into another.
    pub(super) fn is_clean(&self) -> bool {
        self.watch.is_between() && self.interim.is_empty()
    }

    /// Whether all that is written goes through TLS.
    pub(super) fn is_tls(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }

    /// See [`Stream::reset_at_close`].
    pub(super) fn reset_at_close(&self) {
        self.stream.reset_at_close();
    }

    /// Whether the client has closed its side.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }
}
