//! A request that is being answered: its connection is not idle, and may wait for its client.

use super::watch::Watch;
use std::{mem, sync::Arc};

/// Counts a request as in flight; on drop no more.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) watch: Arc<Watch>,
}

impl InFlight {
    pub(super) fn new(watch: &Arc<Watch>) -> Self {
        watch.request_begins();
        Self {
            watch: Arc::clone(watch),
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.watch.request_ends();
    }
}

/// As [`InFlight`], of a request that may be answered at once: until it is not, it counts no reference to the watch.
#[derive(Debug)]
pub(super) struct AtOnce<'a> {
    watch: &'a Arc<Watch>,
}

impl<'a> AtOnce<'a> {
    pub(super) fn new(watch: &'a Arc<Watch>) -> Self {
        watch.request_begins();
        Self { watch }
    }
}

impl Drop for AtOnce<'_> {
    fn drop(&mut self) {
        self.watch.request_ends();
    }
}

impl From<AtOnce<'_>> for InFlight {
    fn from(at_once: AtOnce<'_>) -> Self {
        let watch = Arc::clone(at_once.watch);
        mem::forget(at_once);
        Self { watch }
    }
}

/// An answer over HTTP/1 that is on its way, and whether the client is what it waits for.
#[derive(Debug)]
pub(super) struct Owed {
    in_flight: InFlight,
    owed: bool,
}

impl Owed {
    pub(super) fn new(in_flight: InFlight) -> Self {
        let owed = false;
        Self { in_flight, owed }
    }

    /// Whether the answer has more to give than the client has taken.
    pub(super) fn set(&mut self, owed: bool) {
        if owed != self.owed {
            self.owed = owed;
            self.in_flight.watch.owe_body(owed);
        }
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        self.set(false);
    }
}
