//! A request that is being answered: its connection is not idle, and may be waiting for its client.

use super::watch::Watch;
use std::{mem, sync::Arc};

/// Counts a request as in flight until dropped.
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

/// As [`InFlight`], for a request that may be answered at once. Until it turns out otherwise, no reference to the watch
/// is counted.
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

/// An answer over HTTP/1 that is being sent, and whether it waits for the client.
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

    /// Sets whether the answer has more to give than the client has taken.
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
