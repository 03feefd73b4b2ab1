//! What is done when a server has closed, but may have answered before.

use std::{
    io, mem,
    task::{Context, Poll, Waker},
};

/// What happens when a server takes no more.
#[derive(Debug)]
pub(super) enum Listens {
    /// Writing fails.
    No,
    /// Writing waits until the server has been read to its end. The task that writes also reads meanwhile, and reaches
    /// the answer that the server gave before it closed (RFC 9112 section 9.5).
    Yes,
    /// Writing waits for this now.
    Only(Waker),
}

impl Listens {
    /// Returns the result of writing, given the socket's own result `written`.
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

    /// Records that the server has been read to its end. Writing fails from now on.
    pub(super) fn ended(&mut self) {
        if let Self::Only(writer) = mem::replace(self, Self::No) {
            writer.wake();
        }
    }
}
