//! A server that has closed, and what it said before.

use std::{
    io, mem,
    task::{Context, Poll, Waker},
};

/// What becomes of a server that takes no more.
#[derive(Debug)]
pub(super) enum Listens {
    /// Writing fails.
    No,
    /// Writing waits until the server has been heard to its end: whoever writes reads meanwhile, and comes to the answer that the server
    /// gave before it closed (RFC 9112 section 9.5).
    Yes,
    /// So it does now.
    Only(Waker),
}

impl Listens {
    /// What comes of writing, which came to `written`.
    pub(super) fn written<T>(
        &mut self,
        cx: &Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        use io::ErrorKind::{BrokenPipe, ConnectionReset};
        match (&written, &self) {
            (Poll::Ready(Err(cause)), Self::Yes | Self::Only(_))
                if matches!(cause.kind(), BrokenPipe | ConnectionReset) =>
            {
                *self = Self::Only(cx.waker().clone());
                Poll::Pending
            }
            _ => written,
        }
    }

    /// The server has been heard to its end: writing fails from now on.
    pub(super) fn ended(&mut self) {
        if let Self::Only(writer) = mem::replace(self, Self::No) {
            writer.wake();
        }
    }
}
