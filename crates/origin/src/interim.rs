//! Interim responses on their way to whoever asked for them.

use crate::Interim;
use http::{HeaderMap, StatusCode};
use std::sync::{Arc, Mutex, PoisonError};

/// Interim responses passed on for one request; an origin that sends more has lost its mind.
const MOST_INTERIM: u32 = 32;

/// Where the interim responses to one request go, whichever attempt they come from.
#[derive(Clone)]
pub(crate) struct Passing(Arc<Mutex<Left>>);

struct Left {
    to: Interim,
    left: u32,
}

impl Passing {
    pub(crate) fn new(to: Interim) -> Self {
        let left = MOST_INTERIM;
        Self(Arc::new(Mutex::new(Left { to, left })))
    }

    /// Passes on all interim responses but the answer to `Expect`, which is between us and the server.
    pub(crate) fn pass(&self, status: StatusCode, headers: &HeaderMap) {
        let mut passing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if status == StatusCode::CONTINUE || passing.left == 0 {
            return;
        }
        passing.left -= 1;
        (passing.to)(status, headers);
    }
}
