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
    /// Whether it has carried a response before.
    pub(crate) reused: bool,
}

impl Link {
    /// Makes a connection. `first_byte` is the limit that its alarm will be set to first.
    pub(crate) fn new(dialled: Dialled, first_byte: Duration) -> Self {
        Self {
            stream: dialled.stream,
            alarm: alarm(Instant::now() + first_byte),
            reused: false,
        }
    }

    /// Whether it may be used: the server has neither closed it nor said anything. This asks the kernel, because what
    /// follows an answer must not be taken for the next one (RFC 9112 section 6.3).
    pub(crate) fn is_ready(&mut self) -> bool {
        self.stream.is_silent()
    }

    /// Whether the server has neither closed it nor said anything, as far as the runtime has looked.
    pub(crate) fn may_rest(&mut self) -> bool {
        self.stream.is_quiet()
    }
}
