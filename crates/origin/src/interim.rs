//! Interim responses on their way to the client.

use http::{HeaderMap, StatusCode};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

/// Most interim responses passed on for one request. An origin that sends more is broken.
const MOST_INTERIM: u32 = 32;

/// The receiver of the interim responses (RFC 9110 section 15.2) to one request, as they come, from whichever attempt.
#[derive(Clone)]
pub struct Interim(Arc<Passing<To>>);

type To = dyn Fn(StatusCode, &HeaderMap) + Send + Sync;

struct Passing<F: ?Sized> {
    left: AtomicU32,
    to: F,
}

impl Interim {
    /// Passes them to `to`, which is called on the worker's own thread and must not block.
    pub fn new(to: impl Fn(StatusCode, &HeaderMap) + Send + Sync + 'static) -> Self {
        let left = AtomicU32::new(MOST_INTERIM);
        Self(Arc::new(Passing { left, to }))
    }

    /// Passes on an interim response, unless it is the answer to `Expect`: the client gets one when its content is
    /// asked for.
    pub(crate) fn pass(&self, status: StatusCode, headers: &HeaderMap) {
        if status == StatusCode::CONTINUE {
            return;
        }
        let one_less = |left: u32| left.checked_sub(1);
        if self.0.left.fetch_update(Relaxed, Relaxed, one_less).is_ok() {
            (self.0.to)(status, headers);
        }
    }
}

impl fmt::Debug for Interim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interim").finish_non_exhaustive()
    }
}
