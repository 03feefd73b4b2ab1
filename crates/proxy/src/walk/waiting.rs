//! Waiting: a request whose client may leave before an answer begins. When nobody waits for it any more, it is dropped
//! wherever it is. It is still counted and logged.

use crate::{
    ask::Ask,
    cache::Worker,
    listen,
    outcome::{Detail, Outcome},
    walk::report,
};
use http::StatusCode;
use rules::status::ForwardReason;
use std::{ops::Deref, thread};

/// The status that nginx logs if a client has closed its request.
const CLIENT_CLOSED: u16 = 499;

/// A request that is waited for until it is [over](Self::over).
pub struct AbandonGuard<'a, A: Deref<Target = Ask>> {
    worker: &'a Worker,
    /// The request, for tasks that borrow it while it waits.
    pub ask: A,
    /// Why it went to an origin; `None` if that was not decided yet.
    why: Option<ForwardReason>,
    is_over: bool,
}

impl<'a, A: Deref<Target = Ask>> AbandonGuard<'a, A> {
    /// Begins to wait.
    pub fn new(worker: &'a Worker, ask: A, why: Option<ForwardReason>) -> Self {
        Self {
            worker,
            ask,
            why,
            is_over: false,
        }
    }

    /// Ends the wait: there is an answer, which is counted and logged like any other, or the wait goes on elsewhere.
    pub fn over(mut self) {
        self.is_over = true;
    }
}

impl<A: Deref<Target = Ask>> Drop for AbandonGuard<'_, A> {
    fn drop(&mut self) {
        let ask: &Ask = &self.ask;
        // A page gives up an include by itself, and what we ask for ourselves has no client.
        if self.is_over || ask.within.is_some() || report::is_ours(ask) {
            return;
        }
        let forwarded = self.why.map_or(Outcome::OWN, Outcome::forwarded);
        // The listener answers, and counts that.
        let (status, outcome, bytes) = if thread::panicking() {
            (StatusCode::INTERNAL_SERVER_ERROR, forwarded, 0)
        } else if ask.receipt.connection.late.get() {
            let own = listen::to_late_content();
            let detail = own.detail.map(Detail::Refused);
            (
                own.status,
                Outcome {
                    detail,
                    ..Outcome::OWN
                },
                own.bytes,
            )
        } else {
            self.worker.counters.left(self.why);
            let status = StatusCode::from_u16(CLIENT_CLOSED);
            (status.unwrap_or(StatusCode::BAD_REQUEST), forwarded, 0)
        };
        report::unanswered(self.worker, ask, status, (&outcome, bytes));
    }
}
