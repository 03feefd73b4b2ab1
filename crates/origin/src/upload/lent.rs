//! A request's content that is lent to an engine which does not give it back.

use super::{Cause, Outgoing};
use crate::RequestBody;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

/// Takes the content back, whatever the engine has read of it. While this exists, what was handed on is
/// [kept](Outgoing::keep).
pub(crate) struct Lent(Shared);

/// Both sides belong to one worker, so that nobody waits for the lock.
#[derive(Clone)]
struct Shared(Arc<Mutex<Outgoing>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Outgoing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outgoing {
    /// Makes it content that can be taken back, if it is short enough to be [kept](Self::keep).
    pub(crate) fn lend(&mut self) -> Option<Lent> {
        self.keep();
        if !self.is_kept() {
            return None;
        }
        let own = mem::replace(self, Self::empty());
        let shared = Shared(Arc::new(Mutex::new(own)));
        *self = Self::new(RequestBody::new(shared.clone()));
        Some(Lent(shared))
    }
}

impl Lent {
    /// Returns the content from its beginning, if it was kept. The engine gets no more of it.
    pub(crate) fn take_back(self) -> Option<Outgoing> {
        mem::replace(&mut *self.0.lock(), Outgoing::empty()).rewound()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.lock().forget();
    }
}

impl Body for Shared {
    type Data = Bytes;
    type Error = Cause;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cause>>> {
        Pin::new(&mut *self.lock()).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.lock().is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.lock().size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{BodyExt, Full};

    fn content(length: usize) -> Outgoing {
        let content = Full::new(vec![b'x'; length].into()).map_err(|never| match never {});
        Outgoing::new(RequestBody::new(content))
    }

    #[tokio::test]
    async fn what_is_lent_is_read_and_can_be_taken_back() {
        for is_read in [false, true] {
            let mut content = content(9);
            let lent = content.lend().unwrap();
            assert_eq!(content.size_hint().exact(), Some(9));
            if is_read {
                let frame = content.frame().await.unwrap().unwrap();
                assert_eq!(frame.into_data().unwrap(), "xxxxxxxxx");
            }
            let back = lent.take_back().unwrap();
            assert_eq!(back.collect().await.unwrap().to_bytes(), "xxxxxxxxx");
            assert!(content.is_end_stream(), "{is_read}");
        }
    }

    #[tokio::test]
    async fn what_will_not_be_taken_back_is_kept_no_more() {
        let mut sent = content(9);
        let lent = sent.lend().unwrap();
        let shared = lent.0.clone();
        drop(lent);
        assert!(!shared.lock().is_kept());
        assert_eq!(sent.collect().await.unwrap().to_bytes(), "xxxxxxxxx");
        assert!(content(1 << 20).lend().is_none());
    }
}
