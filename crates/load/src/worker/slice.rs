//! The counts that a worker hands over four times a second.

use super::{SPAN, Worker, queue};
use crate::{tally::Tally, times::Times};
use rustix::time::{ClockId, clock_gettime};
use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// The counts of one span.
#[derive(Debug)]
pub(crate) struct Slice {
    pub worker: usize,
    /// The number of the span in the run.
    pub span: u32,
    /// When it ended, since the beginning of the run.
    pub end: Duration,
    pub tally: Tally,
    /// Users that were there at its end; in an open loop, requests under way.
    pub users: usize,
    /// CPU time of the worker's thread in it.
    pub cpu: Duration,
    /// How long the thread was ready to run and had no core.
    pub waited: Duration,
    /// What was left. Only in the last slice.
    pub left: Option<Left>,
}

/// What had not been answered when a worker ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Left {
    /// Requests under way, and due requests that were not sent.
    pub requests: u64,
    /// Those that were not sent.
    pub unsent: u64,
    /// How long the oldest had waited.
    pub oldest: Duration,
}

impl Left {
    /// Counts a request that has waited since `since`, and records that in `waits`.
    pub(super) fn count(&mut self, waits: &mut Times, since: Instant, now: Instant) {
        let wait = now.saturating_duration_since(since);
        self.requests += 1;
        self.oldest = self.oldest.max(wait);
        waits.record(wait);
    }
}

/// Where the last slice ended.
pub(super) struct Hand {
    begin: Instant,
    at: Instant,
    cpu: Duration,
    waited: Duration,
    span: u32,
}

impl Hand {
    pub(super) fn new(begin: Instant) -> Self {
        Self {
            begin,
            at: begin,
            cpu: thread_cpu(),
            waited: thread_waited(),
            span: 0,
        }
    }

    /// Ends a slice. Returns the number of its span in the run, the thread's CPU time in it, and how long the thread
    /// waited for a core.
    pub(super) fn turn(&mut self, now: Instant) -> (u32, Duration, Duration) {
        let (length, cpu, waited) = (now - self.at, thread_cpu(), thread_waited());
        let used = cpu.saturating_sub(self.cpu);
        let lost = waited.saturating_sub(self.waited);
        (self.at, self.cpu, self.waited) = (now, cpu, waited);
        // The middle of the slice decides which span it is, even if a pulse came late.
        let middle = (now - self.begin).saturating_sub(length / 2);
        let span = (middle.as_nanos() / SPAN.as_nanos()) as u32;
        self.span = span.max(self.span);
        (self.span, used, lost)
    }
}

fn thread_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Returns how long this thread was ready to run and had no core, since it began. Zero if the kernel does not count
/// this.
fn thread_waited() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').nth(1).and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

impl Worker {
    pub(super) fn slice(&self, hand: &mut Hand, now: Instant, over: bool) -> Slice {
        let mut tally = self.tally.take();
        tally.received = self.traffic.received.take();
        tally.sent = self.traffic.sent.take();
        let (span, cpu, waited) = hand.turn(now);
        let left = over.then(|| self.left(&mut tally.left, now));
        Slice {
            worker: self.index,
            span,
            end: now - self.common.begin,
            tally,
            users: self.users.get(),
            cpu,
            waited,
            left,
        }
    }

    fn left(&self, waits: &mut Times, now: Instant) -> Left {
        let under_way = self.flights.iter().filter_map(Cell::get);
        let mut left = Left::default();
        self.queue.each(|due| left.count(waits, due, now));
        queue::missed(self, now, |due| left.count(waits, due, now));
        left.requests += self.queue.turned_away();
        left.unsent = left.requests;
        under_way.for_each(|began| left.count(waits, began, now));
        left
    }
}
