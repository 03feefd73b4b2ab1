//! A fetch under way, and the time it takes.

use crate::{Error, Fetching, ResponseBody, latency};
use http::Response;
use std::{
    future::Future,
    pin::Pin,
    task::{self, Poll, ready},
};
use tokio::time::Instant;

/// A fetch under way, and where it is counted how long it took.
pub struct Waiting<'a> {
    fetching: Fetching<'a>,
    timed: Option<(&'a latency::Counts, Instant)>,
}

impl<'a> Waiting<'a> {
    /// One whose time is counted elsewhere.
    pub fn untimed(fetching: Fetching<'a>) -> Self {
        let timed = None;
        Self { fetching, timed }
    }

    /// One that began then.
    pub fn timed(fetching: Fetching<'a>, counts: &'a latency::Counts, began: Instant) -> Self {
        let timed = Some((counts, began));
        Self { fetching, timed }
    }
}

impl Future for Waiting<'_> {
    type Output = Result<Response<ResponseBody>, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(self.fetching.as_mut().poll(cx));
        let was_asked = |error: &Error| !error.kind().is_of_the_queue();
        if let Some((counts, began)) = self.timed
            && answer.as_ref().err().is_none_or(was_asked)
        {
            counts.count(began.elapsed());
        }
        Poll::Ready(answer)
    }
}
