//! What a worker hands over four times a second.

use super::{SPAN, Worker, queue};
use crate::{shape::Shape, tally::Tally, times::Times};
use rustix::time::{ClockId, clock_gettime};
use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// What a worker hands over.
#[derive(Debug)]
pub(crate) struct Slice {
    pub worker: usize,
    /// Which span of the run it is.
    pub span: u32,
    /// When it ended, since the begin of the run.
    pub end: Duration,
    pub tally: Tally,
    /// Users that were there, or connections in use, at its end.
    pub users: usize,
    /// CPU time of the worker's thread in it.
    pub cpu: Duration,
    /// How long the thread could have run and had no core.
    pub waited: Duration,
    /// With the last one: what was left.
    pub left: Option<Left>,
}

/// What had not been answered when a worker ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Left {
    /// Requests under way, and due ones that were not sent.
    pub requests: u64,
    /// Those that were not sent.
    pub unsent: u64,
    /// How long the oldest had waited.
    pub oldest: Duration,
}

impl Left {
    /// Counts one that waits `since` then, in `waits` too.
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

    /// Ends a slice: which span of the run it was, the thread's CPU time in it, and how long it waited for a core.
    pub(super) fn turn(&mut self, now: Instant) -> (u32, Duration, Duration) {
        let (length, cpu, waited) = (now - self.at, thread_cpu(), thread_waited());
        let used = cpu.saturating_sub(self.cpu);
        let lost = waited.saturating_sub(self.waited);
        (self.at, self.cpu, self.waited) = (now, cpu, waited);
        // The middle of the slice says which one it is, even where a pulse came late.
        let middle = (now - self.begin).saturating_sub(length / 2);
        let span = (middle.as_nanos() / SPAN.as_nanos()) as u32;
        self.span = span.max(self.span);
        (self.span, used, lost)
    }
}

fn thread_cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// How long this thread could have run and had no core, since it began; nothing where the kernel does not count it.
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
            users: self.present(),
            cpu,
            waited,
            left,
        }
    }

    fn present(&self) -> usize {
        match self.common.plan.shape {
            Shape::Open { .. } => self
                .flights
                .iter()
                .filter(|one| one.get().is_some())
                .count(),
            _ => self.users.get(),
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
