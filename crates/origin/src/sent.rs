//! Whether some of a request may have reached a server.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

/// Whether some of a request may have reached a server, which may have acted on it. In doubt it has. Clones are about the
/// same request: whoever keeps one knows it also of a fetch that was given up.
#[derive(Clone, Debug, Default)]
pub struct Sent(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    was_sent: AtomicBool,
    went_unheard: AtomicBool,
}

impl Sent {
    /// Whether some of the request may have reached a server.
    pub fn was_sent(&self) -> bool {
        self.0.was_sent.load(Relaxed)
    }

    /// Records whether it may have.
    pub fn set(&self, was_sent: bool) {
        self.0.was_sent.store(was_sent, Relaxed);
    }

    /// Whether it may have in an attempt that brought no answer. The answer to a later attempt does not tell what came of
    /// that one.
    pub fn went_unheard(&self) -> bool {
        self.0.went_unheard.load(Relaxed)
    }

    /// Records that the attempts so far bring no answer any more.
    pub fn note_unheard(&self) {
        self.0.went_unheard.store(self.was_sent(), Relaxed);
    }
}

/// An attempt on a connection that serves it alone. When this is dropped, the request counts as sent if the connection
/// was written to meanwhile.
pub(crate) struct Writing<'a> {
    sent: &'a Sent,
    /// How often the connection has been written to.
    written: Arc<AtomicU64>,
    before: u64,
}

impl<'a> Writing<'a> {
    /// Begins before the request goes out.
    pub(crate) fn begin(sent: &'a Sent, written: Arc<AtomicU64>) -> Self {
        let before = written.load(Relaxed);
        Self {
            sent,
            written,
            before,
        }
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if self.written.load(Relaxed) != self.before {
            self.sent.set(true);
        }
    }
}
