//! The results of asking a page store: counted, logged, reported.

use super::{Absent, Pages};
use crate::{Error, Report};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The results of asking, since the configuration was loaded.
#[derive(Debug, Default)]
pub(super) struct Counts {
    found: AtomicU64,
    absent: AtomicU64,
    bad: AtomicU64,
    failed: AtomicU64,
}

/// The results of asking a page store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PagesReport {
    /// Pages found.
    pub found: u64,
    /// Requests without such a page.
    pub absent: u64,
    /// Values that were no page.
    pub bad: u64,
    /// Requests without an answer from the store.
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
            tracing::warn!(origin, path, why, "a page of the store cannot be used");
        }
    }

    /// Returns a snapshot for metrics and the admin API.
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
