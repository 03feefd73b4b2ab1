//! The counts that a worker hands over four times a second.

use crate::{cached::Cached, fault::Fault, http1::Answer, times::Times};
use std::time::Duration;

/// Lowest status that counts as an error.
pub const ERROR: u16 = 400;

/// Counts of a span of time.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Latencies of answers below 400.
    pub good: Times,
    /// Latencies of answers from 400 on.
    pub bad: Times,
    /// How long the requests without an answer at the end had waited.
    pub left: Times,
    /// How long connections took to open, TLS handshake included.
    pub connecting: Times,
    /// How late the tool's own loop ran compared to its schedule. It may add this to a latency.
    pub lag: Times,
    /// In an open loop: how late requests were sent although a connection was free.
    pub late: Times,
    /// In an open loop: requests that were due while every connection was busy.
    pub queued: u64,
    /// Answers by status.
    pub statuses: Vec<(u16, u64)>,
    /// Requests without a complete answer, in the order of [`Fault::ALL`].
    pub faults: [u64; Fault::ALL.len()],
    /// Answers by what a cache said: unsaid, hit, stale, miss.
    pub cached: [u64; 4],
    /// Bytes of content.
    pub body: u64,
    /// Bytes received from the wire.
    pub received: u64,
    /// Bytes sent to the wire.
    pub sent: u64,
    /// Connections that were opened.
    pub opened: u64,
    /// When the last request of the span was over, since the beginning of the run.
    pub last: Duration,
}

impl Tally {
    /// Counts a complete answer.
    pub(crate) fn answer(&mut self, answer: &Answer, took: Duration) {
        if answer.status < ERROR {
            self.good.record(took);
        } else {
            self.bad.record(took);
        }
        self.body += answer.body;
        if let Some(count) = self.cached.get_mut(answer.cached as usize) {
            *count += 1;
        }
        self.status(answer.status, 1);
    }

    fn status(&mut self, status: u16, count: u64) {
        // A run has few different statuses.
        match self.statuses.iter_mut().find(|(one, _)| *one == status) {
            Some((_, before)) => *before += count,
            None => self.statuses.push((status, count)),
        }
    }

    /// Counts a request without a complete answer.
    pub(crate) fn fault(&mut self, fault: Fault) {
        if let Some(count) = self.faults.get_mut(fault as usize) {
            *count += 1;
        }
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Self) {
        self.good.add(&other.good);
        self.bad.add(&other.bad);
        self.left.add(&other.left);
        self.connecting.add(&other.connecting);
        self.lag.add(&other.lag);
        self.late.add(&other.late);
        self.queued += other.queued;
        for (status, count) in &other.statuses {
            self.status(*status, *count);
        }
        for (sum, count) in self.faults.iter_mut().zip(other.faults) {
            *sum += count;
        }
        for (sum, count) in self.cached.iter_mut().zip(other.cached) {
            *sum += count;
        }
        self.body += other.body;
        self.received += other.received;
        self.sent += other.sent;
        self.opened += other.opened;
        self.last = self.last.max(other.last);
    }

    /// Returns the number of answers of which a cache said this.
    pub fn cached(&self, said: Cached) -> u64 {
        self.cached.get(said as usize).copied().unwrap_or(0)
    }

    /// Returns the number of requests without a complete answer.
    pub fn faulty(&self) -> u64 {
        self.faults.iter().sum()
    }

    /// Returns the number of requests without a complete answer and of answers from 400 on.
    pub fn errors(&self) -> u64 {
        self.bad.count() + self.faulty()
    }

    /// Returns the number of all requests that are over.
    pub fn requests(&self) -> u64 {
        self.good.count() + self.errors()
    }
}
