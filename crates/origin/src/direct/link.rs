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
    /// `Place::epoch` when it was made.
    pub(crate) epoch: u64,
    /// It has carried a response before.
    pub(crate) reused: bool,
}

impl Link {
    /// `first_byte`: the limit that its alarm will be set to first.
    pub(crate) fn new(dialled: Dialled, first_byte: Duration) -> Self {
        Self {
            stream: dialled.stream,
            alarm: alarm(Instant::now() + first_byte),
            epoch: dialled.epoch,
            reused: false,
        }
    }

    /// The server has neither closed it nor said anything.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.stream.is_quiet()
    }
}
