//! A server allows a limited number of streams at a time (RFC 9113 section 5.1.2). Fetches that want one more wait here
//! for the end of another.

use super::Http2;
use bytes::Bytes;
use h2::client::SendRequest;
use std::{pin::pin, sync::atomic::Ordering::Relaxed};

/// Leave for one stream to be under way, and its connection.
#[derive(Debug)]
pub(crate) struct Slot(Http2);

impl Http2 {
    /// Waits until one more stream may be under way. `None`: the connection takes no more.
    pub(crate) async fn slot(self) -> Option<Slot> {
        loop {
            let mut freed = pin!(self.shared.freed.notified());
            freed.as_mut().enable();
            if self.is_closed() {
                return None;
            }
            let open = self.shared.open.load(Relaxed);
            if open < self.shared.streams.load(Relaxed) {
                self.shared.open.store(open + 1, Relaxed);
                if open == 0 {
                    self.shared.uses.fetch_add(1, Relaxed);
                }
                break;
            }
            freed.await;
        }
        Some(Slot(self))
    }
}

impl Slot {
    pub(crate) fn sender(&mut self) -> &mut SendRequest<Bytes> {
        &mut self.0.sender
    }

    /// Records that an answer has come on the connection.
    pub(crate) fn answered(&self) {
        self.0.shared.answered.store(true, Relaxed);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let shared = &self.0.shared;
        shared.open.fetch_sub(1, Relaxed);
        shared.freed.notify_one();
    }
}
