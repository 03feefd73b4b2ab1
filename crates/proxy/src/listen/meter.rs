//! The I/O below the protocols: counts bytes, tells the `Watch` what moves, keeps the raw head, and puts interim
//! responses between messages. The two directions are `read` and `write`; `head` handles heads that have come in part.

mod head;
mod read;
mod write;

pub(super) use head::SHORT;

use super::{
    check::request_length, config::Limits, limiter::ConnectionSlot, stream::Stream, watch::Watch,
};
use bytes::{Buf, Bytes};
use origin::http2::{Frames, Gathering};
use std::{mem, sync::Arc};
use store::Reservation;

/// The I/O of a connection. See the module.
#[derive(Debug)]
pub(super) struct Meter {
    stream: Stream,
    watch: Arc<Watch>,
    /// Bytes that were read already and are to be read again first.
    ahead: Bytes,
    /// How many of these were parsed as a head without reaching its end.
    parsed: usize,
    /// How many bytes `hyper` may still read, if its request has a known end.
    left: Option<usize>,
    /// What heads, and bytes sent ahead, take of the budget until the connection is at rest.
    room: Option<Reservation>,
    /// The most bytes of a request target and of a head, and the most field lines.
    target: usize,
    head: usize,
    fields: usize,
    /// An interim response that is being written, and how many of its bytes are sent.
    interim: Vec<u8>,
    interim_out: usize,
    /// What comes over HTTP/2.
    frames: Option<Box<(Frames, Gathering)>>,
    /// Whether the client has sent its last byte.
    ended: bool,
    /// Whether `hyper` has yet to learn of that end.
    end_held: bool,
    /// Held as long as the socket is open, through an upgrade too.
    _slot: ConnectionSlot,
}

impl Meter {
    pub(super) fn new(
        stream: Stream,
        watch: Arc<Watch>,
        limits: &Limits,
        slot: ConnectionSlot,
    ) -> Self {
        Self {
            stream,
            watch,
            ahead: Bytes::new(),
            parsed: 0,
            left: None,
            room: None,
            target: limits.target,
            head: limits.header_size,
            fields: limits.headers,
            interim: Vec::new(),
            interim_out: 0,
            frames: None,
            ended: false,
            end_held: false,
            _slot: slot,
        }
    }

    /// Makes `bytes`, which were read, be read again first.
    pub(super) fn put_back(&mut self, bytes: Bytes) {
        if bytes.is_empty() {
            // An empty piece would hold the memory in which it came.
            return;
        }
        self.parsed = 0;
        self.ahead = if self.ahead.is_empty() {
            bytes
        } else {
            Bytes::from([bytes, mem::take(&mut self.ahead)].concat())
        };
    }

    /// Makes `hyper` read no more than the request that begins [ahead](Self::ahead), if its end is known: what follows
    /// is a head, and more heads are understood than `hyper` knows.
    pub(super) fn bound(&mut self) {
        self.left = request_length(&self.ahead);
    }

    /// Makes everything that comes be read.
    pub(super) fn unbound(&mut self) {
        self.left = None;
    }

    /// Says that all that is still to be written is available, and that the connection is closed after it.
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

    /// Drops this many of the bytes that were put back.
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

    /// Whether everything is written through TLS.
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
