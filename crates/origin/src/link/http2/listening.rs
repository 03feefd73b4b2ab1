//! Whether anything comes on a connection while a fetch waits there. If a fetch runs out of time in silence, no other
//! is sent there.

use super::{ConnectionState, Http2};
use std::sync::{Arc, Weak, atomic::Ordering::Relaxed};

/// What a fetch remembers of its connection, whether that still exists or not.
#[derive(Clone, Debug)]
pub(crate) struct Listening {
    shared: Weak<ConnectionState>,
    brought: u64,
}

impl Listening {
    /// Records that a head or content has come for the fetch.
    pub(crate) fn goes_on(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            self.brought = shared.brought.fetch_add(1, Relaxed) + 1;
        }
    }

    /// Records that the fetch ran out of time. If nothing has come for anybody since, no further fetch goes there: it
    /// would wait as long for what may never come.
    pub(crate) fn ran_out(&self) {
        if let Some(shared) = self.shared.upgrade()
            && shared.brought.load(Relaxed) == self.brought
        {
            shared.doubted.store(true, Relaxed);
            shared.queue.tell();
        }
    }
}

impl Http2 {
    /// Begins to listen: remembers what has come until now.
    pub(crate) fn listening(&self) -> Listening {
        Listening {
            shared: Arc::downgrade(&self.shared),
            brought: self.shared.brought.load(Relaxed),
        }
    }
}
