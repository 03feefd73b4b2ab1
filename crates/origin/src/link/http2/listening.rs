//! Whether anything comes on a connection while a fetch waits there: one that runs out of time in silence is the last to be sent there.

use super::{ConnectionState, Http2};
use std::sync::{Arc, Weak, atomic::Ordering::Relaxed};

/// What a fetch remembers of its connection, whether it is still there or not.
#[derive(Clone, Debug)]
pub(crate) struct Listening {
    shared: Weak<ConnectionState>,
    brought: u64,
}

impl Listening {
    /// A head has come for the fetch, or content.
    pub(crate) fn goes_on(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            self.brought = shared.brought.fetch_add(1, Relaxed) + 1;
        }
    }

    /// The fetch ran out of time. Where nothing has come since for anybody, no further one goes there: it would wait as long for what
    /// may never come.
    pub(crate) fn ran_out(&self) {
        if let Some(shared) = self.shared.upgrade()
            && shared.brought.load(Relaxed) == self.brought
        {
            shared.doubted.store(true, Relaxed);
            shared.freed.notify_waiters();
        }
    }
}

impl Http2 {
    /// What has been brought on it until now.
    pub(crate) fn listening(&self) -> Listening {
        Listening {
            shared: Arc::downgrade(&self.shared),
            brought: self.shared.brought.load(Relaxed),
        }
    }
}
