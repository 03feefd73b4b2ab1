//! Waiting: a request whose client may leave before an answer begins. What nobody waits for any more is dropped wherever it is; that it
//! was there is counted and logged all the same.

use crate::{ask::Ask, cache::Worker, outcome::Outcome, walk::report};
use http::StatusCode;
use rules::status::Forward;
use std::{ops::Deref, thread};

/// What nginx logs where a client closed its request.
const CLIENT_CLOSED: u16 = 499;

/// A request that is waited for: until it is [over](Self::over).
pub struct Waiting<'a, A: Deref<Target = Ask>> {
    worker: &'a Worker,
    pub ask: A,
    /// Why it went to an origin; `None`: that was not decided yet.
    why: Option<Forward>,
    is_over: bool,
}

impl<'a, A: Deref<Target = Ask>> Waiting<'a, A> {
    /// From now on.
    pub fn new(worker: &'a Worker, ask: A, why: Option<Forward>) -> Self {
        Self {
            worker,
            ask,
            why,
            is_over: false,
        }
    }

    /// An answer is there, which is counted and logged like any other, or somebody else waits.
    pub fn over(mut self) {
        self.is_over = true;
    }
}

impl<A: Deref<Target = Ask>> Drop for Waiting<'_, A> {
    fn drop(&mut self) {
        let ask: &Ask = &self.ask;
        // A page gives up an include of its own accord.
        if self.is_over || ask.within.is_some() {
            return;
        }
        let outcome = self.why.map_or(Outcome::OWN, Outcome::forwarded);
        // The listener answers, and counts that.
        let status = if thread::panicking() {
            StatusCode::INTERNAL_SERVER_ERROR
        } else if ask.connection.late.get() {
            StatusCode::REQUEST_TIMEOUT
        } else {
            self.worker.counters.left(self.why);
            StatusCode::from_u16(CLIENT_CLOSED).unwrap_or(StatusCode::BAD_REQUEST)
        };
        report::unanswered(self.worker, ask, status, &outcome);
    }
}
