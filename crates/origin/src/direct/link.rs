//! One HTTP/1.1 connection of our own.

use crate::{
    connect::Dialled,
    link::{Alarm, alarm},
    stream::Stream,
};
use std::time::Duration;
use tokio::time::Instant;

/// A connection, held by one exchange at a time or idle in the pool. Dropping it closes the socket.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) stream: Stream,
    pub(crate) alarm: Alarm,
    /// It has carried a response before.
    pub(crate) reused: bool,
}

impl Link {
    /// `first_byte`: the limit that its alarm will be set to first.
    pub(crate) fn new(dialled: Dialled, first_byte: Duration) -> Self {
        Self {
            stream: dialled.stream,
            alarm: alarm(Instant::now() + first_byte),
            reused: false,
        }
    }

    /// It may be used: the server has neither closed it nor said anything. What comes behind an answer must not be taken for the next
    /// (RFC 9112 section 6.3), so that the kernel is asked.
    pub(crate) fn is_ready(&mut self) -> bool {
        self.stream.is_silent()
    }

    /// The server has neither closed it nor said anything, as far as the runtime has looked.
    pub(crate) fn may_rest(&mut self) -> bool {
        self.stream.is_quiet()
    }
}
