//! What came of asking a page store: counted, told to the log, reported.

use super::{Absent, Pages};
use crate::{Error, Report};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What came of asking, since the configuration was loaded.
#[derive(Debug, Default)]
pub(super) struct Counts {
    found: AtomicU64,
    absent: AtomicU64,
    bad: AtomicU64,
    failed: AtomicU64,
}

/// What came of asking a page store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PagesReport {
    /// A page.
    pub found: u64,
    /// No such page.
    pub absent: u64,
    /// Something that is no page.
    pub bad: u64,
    /// No answer from the store.
    pub failed: u64,
}

impl Pages {
    pub(super) fn count<T>(&self, found: &Result<Result<T, Absent>, Error>, path: &str) {
        let counts = &self.counts;
        let (count, why) = match found {
            Ok(Ok(_)) => (&counts.found, None),
            Ok(Err(Absent::Bad(bad))) => (&counts.bad, Some(bad.words().to_owned())),
            Ok(Err(_)) => (&counts.absent, None),
            Err(error) => (&counts.failed, Some(error.to_string())),
        };
        count.fetch_add(1, Relaxed);
        if let Some(why) = why
            && self.bad.now()
        {
            let origin = &self.config.name;
            tracing::warn!(origin, path, why, "a page is not taken from the store");
        }
    }

    /// A snapshot for metrics and the admin API.
    pub(crate) fn report(&self) -> Report {
        let read = |count: &AtomicU64| count.load(Relaxed);
        Report {
            name: self.config.name.clone(),
            active: self.gate.active(),
            queued: self.gate.waiting(),
            pages: Some(PagesReport {
                found: read(&self.counts.found),
                absent: read(&self.counts.absent),
                bad: read(&self.counts.bad),
                failed: read(&self.counts.failed),
            }),
            ..Report::default()
        }
    }
}
