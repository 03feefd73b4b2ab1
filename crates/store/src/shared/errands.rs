//! What this node still does at the server although no request waits for it: writes, and leases to give back.

use super::Inner;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};
use tokio::sync::Notify;

/// The number of errands, of all workers.
#[derive(Debug, Default)]
pub(super) struct Errands {
    count: AtomicUsize,
    none: Notify,
}

/// One errand, until it is done or given up.
pub(super) struct Errand(pub(super) Arc<Inner>);

impl Errands {
    /// Waits until none is left.
    pub(super) async fn done(&self) {
        loop {
            // Made before the count is read: it hears of an end between the two.
            let none = self.none.notified();
            if self.count.load(SeqCst) == 0 {
                return;
            }
            none.await;
        }
    }
}

impl Errand {
    pub(super) fn begin(shared: &Arc<Inner>) -> Self {
        shared.errands.count.fetch_add(1, SeqCst);
        Self(Arc::clone(shared))
    }
}

impl Drop for Errand {
    fn drop(&mut self) {
        if self.0.errands.count.fetch_sub(1, SeqCst) == 1 {
            self.0.errands.none.notify_waiters();
        }
    }
}
