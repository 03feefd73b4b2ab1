//! The I/O under `hyper`: counts bytes, tells the `Watch` what moves, keeps the raw head, and puts interim responses between
//! messages. The two directions are `read` and `write`.

mod read;
mod write;

use super::{shared::Slot, stream::Stream, watch::Watch};
use bytes::Bytes;
use std::{mem, sync::Arc};

/// See the module.
#[derive(Debug)]
pub(super) struct Meter {
    stream: Stream,
    watch: Arc<Watch>,
    /// What was read already and is to be read again first.
    ahead: Bytes,
    /// Most bytes of a request target and of a head.
    target: usize,
    head: usize,
    /// An interim response under way, and how much of it is out.
    interim: Vec<u8>,
    interim_out: usize,
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
            target,
            head,
            interim: Vec::new(),
            interim_out: 0,
            ended: false,
            end_held: false,
            _slot: slot,
        }
    }

    /// Has `bytes`, which were read, read again first.
    pub(super) fn put_back(&mut self, bytes: Bytes) {
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

    /// Whether something was put back and not yet read again.
    pub(super) fn has_ahead(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// Whether an answer of our own could be written now without cutting into another.
    pub(super) fn is_clean(&self) -> bool {
        self.watch.is_between() && self.interim.is_empty()
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
