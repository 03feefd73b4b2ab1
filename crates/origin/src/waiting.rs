//! A fetch under way, and how long it takes.

use crate::{Error, Fetching, ResponseBody, latency};
use http::Response;
use std::{
    future::Future,
    pin::Pin,
    task::{self, Poll, ready},
    time::Duration,
};
use tokio::time::Instant;

/// A fetch under way, and how long it takes.
pub struct TimedFetch<'a> {
    fetching: Fetching<'a>,
    began: Instant,
    took: Duration,
    /// The counts that get this time.
    counts: Option<&'a latency::Counts>,
}

impl<'a> TimedFetch<'a> {
    /// Makes a fetch that began at `began`. Its time is counted elsewhere.
    pub(crate) fn since(began: Instant, fetching: Fetching<'a>) -> Self {
        Self {
            fetching,
            began,
            took: Duration::ZERO,
            counts: None,
        }
    }

    /// Has the time of this fetch counted in `counts`.
    pub(crate) fn counted(self, counts: &'a latency::Counts) -> Self {
        let counts = Some(counts);
        Self { counts, ..self }
    }

    /// Returns how long it took until its final head or its failure. Zero before that.
    pub fn took(&self) -> Duration {
        self.took
    }
}

impl Future for TimedFetch<'_> {
    type Output = Result<Response<ResponseBody>, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(self.fetching.as_mut().poll(cx));
        self.took = self.began.elapsed();
        let was_asked = |error: &Error| !error.kind().asked_nobody();
        if let Some(counts) = self.counts
            && answer.as_ref().err().is_none_or(was_asked)
        {
            counts.count(self.took);
        }
        Poll::Ready(answer)
    }
}
