//! A server allows a limited number of streams at a time (RFC 9113 section 5.1.2). Fetches that want one more wait for
//! the end of another, on whichever of its connections that is, in the order in which they came.

use super::{ConnectionState, Http2, Listening};
use crate::http2::Inlet;
use bytes::Bytes;
use h2::{RecvStream, client::SendRequest};
use std::sync::{Arc, atomic::Ordering::Relaxed};
use tokio::sync::{Mutex, MutexGuard, Notify};

/// Leave for one stream to be under way, and its connection.
#[derive(Debug)]
pub(crate) struct StreamSlot(Http2);

impl Http2 {
    /// Whether the server allows one more stream now, and the connection takes it.
    pub(crate) fn has_room(&self) -> bool {
        !self.is_closed() && self.under_way() < self.shared.streams.load(Relaxed)
    }

    /// Takes a stream of it.
    pub(crate) fn slot(self) -> StreamSlot {
        if self.shared.open.fetch_add(1, Relaxed) == 0 {
            self.shared.uses.fetch_add(1, Relaxed);
        }
        StreamSlot(self)
    }
}

impl StreamSlot {
    pub(crate) fn sender(&mut self) -> &mut SendRequest<Bytes> {
        &mut self.0.sender
    }

    /// Returns the number of the connection.
    pub(crate) fn connection(&self) -> u64 {
        self.0.number()
    }

    /// Whether an answer has come on the connection before.
    pub(crate) fn has_answered(&self) -> bool {
        self.state().answered.load(Relaxed)
    }

    /// Records that an answer has come on the connection.
    pub(crate) fn answered(&self) {
        self.state().answered.store(true, Relaxed);
    }

    /// Makes the way in for the content of an answer on the connection.
    pub(crate) fn inlet(&self, content: RecvStream) -> Arc<Inlet> {
        self.state().gathering.inlet(content)
    }

    /// Begins to listen on the connection.
    pub(crate) fn listening(&self) -> Listening {
        self.0.listening()
    }

    fn state(&self) -> &ConnectionState {
        &self.0.shared
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.state().open.fetch_sub(1, Relaxed);
        self.state().queue.tell();
    }
}

/// The fetches that wait for a stream on any of a server's connections.
#[derive(Debug, Default)]
pub(crate) struct StreamQueue {
    /// Held by the first of them, who alone looks for room.
    first: Mutex<()>,
    /// Notified when there may be room.
    news: Notify,
}

impl StreamQueue {
    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.try_lock().is_ok()
    }

    /// Waits until nobody is before the caller, who is then the first as long as it holds this.
    pub(crate) async fn first(&self) -> MutexGuard<'_, ()> {
        self.first.lock().await
    }

    /// Tells the first that there may be room.
    pub(crate) fn tell(&self) {
        self.news.notify_one();
    }

    /// Waits until the first is told something, or has been since it last looked.
    pub(crate) async fn news(&self) {
        self.news.notified().await;
    }
}
