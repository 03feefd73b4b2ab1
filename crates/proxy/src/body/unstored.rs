//! The content of an origin's answer that passes without being stored.

use crate::{
    error,
    outcome::{Counters, bump},
};
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use origin::ResponseBody;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// The content of an origin's answer that passes without being stored. If it breaks off, that is counted here.
#[derive(Debug)]
pub struct Unstored {
    body: ResponseBody,
    counters: Arc<Counters>,
}

impl Unstored {
    /// Makes it of `body`, to be counted in these counters of the worker that reads it.
    pub fn new(body: ResponseBody, counters: &Arc<Counters>) -> Self {
        Self {
            body,
            counters: Arc::clone(counters),
        }
    }

    /// See [`ResponseBody::take_whole`].
    pub fn take_whole(&mut self) -> Option<Bytes> {
        self.body.take_whole()
    }

    /// See [`ResponseBody::read_little_if`].
    pub fn read_little_if(&mut self, short: bool) {
        self.body.read_little_if(short);
    }

    /// See [`ResponseBody::unread`].
    pub fn unread(&self) -> u64 {
        self.body.unread()
    }

    /// The next frame; `None` at the end. After an error it is not polled again.
    pub fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, origin::Error>>> {
        let polled = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Err(error)) = &polled
            && error::is_of_the_origin(error.kind())
        {
            bump(&self.counters.origin_errors);
        }
        Poll::Ready(polled)
    }

    /// Whether it is known that nothing more comes.
    pub fn is_ended(&self) -> bool {
        self.body.is_end_stream()
    }

    /// What is known of its length.
    pub fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
