//! The tier's health: whether the device works, and what the operator is told of it.

use super::event::{Doing, Event};
use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// Single reads that fail are told of once in this time.
const SELDOM: Duration = Duration::from_hours(1);
/// How long the tier leaves the device alone after a failure.
pub(super) const REST: Duration = Duration::from_secs(10);
/// After this many failed reads in a row, the device is left alone.
const PATIENCE: u64 = 8;
/// At most this many damaged places are remembered.
const MOST_DAMAGED: usize = 256;
/// At most this many events wait to be reported.
const MOST_EVENTS: usize = 64;

/// The health of one direction.
#[derive(Debug, Default)]
struct Line {
    /// When the device is tried again, in milliseconds since the tier was opened.
    rests_until: AtomicU64,
    is_failing: AtomicBool,
    in_a_row: AtomicU64,
    /// The last failure that did not put the device out of order.
    last: Mutex<Option<Event>>,
    /// When such a failure may be told of again, in milliseconds since the tier was opened.
    quiet_until: AtomicU64,
}

/// The tier's health.
#[derive(Debug)]
pub(super) struct Health {
    since: Instant,
    reading: Line,
    writing: Line,
    events: Mutex<VecDeque<Event>>,
    /// Damaged places that were told of, the latest last.
    damaged: Mutex<VecDeque<(PathBuf, u64)>>,
}

impl Health {
    /// The health of a tier that is opened now and works.
    pub fn new() -> Self {
        Self {
            since: Instant::now(),
            reading: Line::default(),
            writing: Line::default(),
            events: Mutex::default(),
            damaged: Mutex::default(),
        }
    }

    /// Time since the tier was opened.
    pub fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// Whether the device may be used.
    pub fn may(&self, doing: Doing) -> bool {
        let line = self.line(doing);
        // A hit does not read the clock while all is well.
        !line.is_failing.load(Relaxed)
            || self.age().as_millis() as u64 >= line.rests_until.load(Relaxed)
    }

    /// Whether the device failed and has not been seen to work since.
    pub fn is_failing(&self, doing: Doing) -> bool {
        self.line(doing).is_failing.load(Relaxed)
    }

    /// Notes that the device worked.
    pub fn worked(&self, doing: Doing) {
        let line = self.line(doing);
        if line.in_a_row.load(Relaxed) != 0 {
            line.in_a_row.store(0, Relaxed);
            let last = line
                .last
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if line.is_failing.swap(false, Relaxed) {
                self.tell(Event::Mended(doing));
            } else if let Some(last) = last {
                self.tell_seldom(line, last);
            }
        }
    }

    /// Notes that the device failed. One failed read may be one bad sector; one failed write is enough.
    pub fn failed(&self, doing: Doing, file: &Path, error: &io::Error) {
        let line = self.line(doing);
        let in_a_row = line.in_a_row.fetch_add(1, Relaxed) + 1;
        if doing == Doing::Reading && in_a_row < PATIENCE {
            let mut last = line.last.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some(Event::Unread {
                file: file.to_owned(),
                error: error.to_string(),
            });
            return;
        }
        let until = self.age().saturating_add(REST).as_millis() as u64;
        line.rests_until.store(until, Relaxed);
        if !line.is_failing.swap(true, Relaxed) {
            self.tell(Event::Failed {
                doing,
                file: file.to_owned(),
                error: error.to_string(),
            });
        }
    }

    /// Tells of single failures: the next time not before [`SELDOM`] has passed.
    fn tell_seldom(&self, line: &Line, event: Event) {
        let now = self.age().as_millis() as u64;
        let next = now.saturating_add(SELDOM.as_millis() as u64);
        let was = line.quiet_until.load(Relaxed);
        let is_due = now >= was;
        let takes = || {
            line.quiet_until
                .compare_exchange(was, next, Relaxed, Relaxed)
        };
        if is_due && takes().is_ok() {
            self.tell(event);
        }
    }

    /// Whether it was not yet said that the bytes at `offset` of `file` are damaged. Notes that it is.
    pub fn is_news(&self, file: &Path, offset: u64) -> bool {
        let damaged = self.damaged.lock();
        let mut damaged = damaged.unwrap_or_else(PoisonError::into_inner);
        let is_known = damaged
            .iter()
            .any(|(other, at)| *at == offset && other == file);
        if !is_known {
            if damaged.len() >= MOST_DAMAGED {
                damaged.pop_front();
            }
            damaged.push_back((file.to_owned(), offset));
        }
        !is_known
    }

    /// Queues `event` to be reported, unless too many wait.
    pub fn tell(&self, event: Event) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() < MOST_EVENTS {
            events.push_back(event);
        }
    }

    /// Takes the events to be reported.
    pub fn take(&self) -> Vec<Event> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.drain(..).collect()
    }

    fn line(&self, doing: Doing) -> &Line {
        match doing {
            Doing::Reading => &self.reading,
            Doing::Writing => &self.writing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_that_fail_among_others_are_told_of_once_and_a_device_that_fails_as_such() {
        let health = Health::new();
        let fail = || {
            let error = io::Error::from_raw_os_error(5);
            health.failed(Doing::Reading, Path::new("/file"), &error);
        };
        for _ in 0..PATIENCE {
            fail();
            health.worked(Doing::Reading);
        }
        assert!(!health.is_failing(Doing::Reading));
        assert!(matches!(&health.take()[..], [Event::Unread { .. }]));
        (0..PATIENCE).for_each(|_| fail());
        health.worked(Doing::Reading);
        let told = health.take();
        assert!(
            matches!(
                told[..],
                [Event::Failed { .. }, Event::Mended(Doing::Reading)]
            ),
            "{told:?}"
        );
    }
}
