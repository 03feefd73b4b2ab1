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
        let was_asked = |error: &Error| !error.asked_nobody();
        if let Some(counts) = self.counts
            && answer.as_ref().err().is_none_or(was_asked)
        {
            counts.count(self.took);
        }
        Poll::Ready(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use std::future::ready;

    /// An attempt may have been made before there was no turn, or no healthy server, for another.
    #[tokio::test]
    async fn time_counts_unless_nobody_was_asked() {
        for (kind, was_sent, counted) in [
            (Kind::NoHealthyServer, false, 0),
            (Kind::NoHealthyServer, true, 1),
            (Kind::QueueTimeout, false, 0),
            (Kind::QueueTimeout, true, 1),
            (Kind::NoUpgrade, false, 0),
            (Kind::RequestBody, false, 0),
            (Kind::RequestBody, true, 1),
            (Kind::Refused, false, 1),
        ] {
            let counts = latency::Counts::default();
            let error = Error::new(kind).having_sent_if(was_sent);
            let fetching = Box::pin(ready(Err(error)));
            let fetch = TimedFetch::since(Instant::now(), fetching).counted(&counts);
            assert!(fetch.await.is_err());
            let seen: u64 = counts.read().buckets.iter().sum();
            assert_eq!(seen, counted, "{kind:?}, sent: {was_sent}");
        }
    }
}
