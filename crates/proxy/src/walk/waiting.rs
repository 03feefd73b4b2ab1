//! Waiting: a request whose client may leave before an answer begins. When nobody waits for it any more, it is dropped
//! wherever it is. It is still counted and logged.
//!
//! A request with many fields takes room as long as it waits for an origin, which may be long: of short fields, a map
//! takes many times what they take on the wire. So does each request while many wait: one connection of HTTP/2 has
//! hundreds.

use crate::{
    ask::Ask,
    cache::Worker,
    error::Failure,
    listen::{self, PLACE, places},
    outcome::{Detail, Outcome},
    walk::report,
};
use http::StatusCode;
use rules::status::ForwardReason;
use std::{ops::Deref, thread};
use store::Reservation;

/// The status that nginx logs if a client has closed its request.
const CLIENT_CLOSED: u16 = 499;

/// The most fields of a request that needs no room.
const FEW: usize = 4096 / PLACE;

/// How many requests of a worker may wait for origins without room, if their fields are few.
const MANY: usize = 128;

/// About what a request takes beside its fields while it waits, in bytes.
const BESIDE: usize = 5 * 1024;

/// A request that is waited for until it is [over](Self::over).
pub struct AbandonGuard<'a, A: Deref<Target = Ask>> {
    worker: &'a Worker,
    /// The request, for tasks that borrow it while it waits.
    pub ask: A,
    /// Why it went to an origin; `None` if that was not decided yet.
    why: Option<ForwardReason>,
    is_over: bool,
    /// What it takes of the budget, if it has many fields or is one of many.
    room: Option<Reservation>,
    /// Whether it is one of those that [wait](Worker::waiting).
    is_counted: bool,
}

impl<'a, A: Deref<Target = Ask>> AbandonGuard<'a, A> {
    /// Begins to wait.
    pub fn new(worker: &'a Worker, ask: A, why: Option<ForwardReason>) -> Self {
        Self {
            worker,
            ask,
            why,
            is_over: false,
            room: None,
            is_counted: false,
        }
    }

    /// Begins to wait for an origin.
    ///
    /// # Errors
    /// There is no room for its fields.
    pub fn for_origin(
        worker: &'a Worker,
        ask: A,
        why: Option<ForwardReason>,
    ) -> Result<Self, Failure> {
        let room = room(worker, &ask)?;
        let mut guard = Self::new(worker, ask, why);
        guard.room = room;
        guard.is_counted = guard.ask.within.is_none();
        if guard.is_counted {
            worker.waiting.set(worker.waiting.get() + 1);
        }
        Ok(guard)
    }

    /// Ends the wait: there is an answer, which is counted and logged like any other, or the wait goes on elsewhere.
    pub fn over(mut self) {
        self.is_over = true;
    }
}

impl<A: Deref<Target = Ask>> Drop for AbandonGuard<'_, A> {
    fn drop(&mut self) {
        if self.is_counted {
            self.worker.waiting.set(self.worker.waiting.get() - 1);
        }
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

/// Takes room for a request with many fields, or while many wait. A page's includes have the fields of the page, and
/// their number is limited.
fn room(worker: &Worker, ask: &Ask) -> Result<Option<Reservation>, Failure> {
    let is_small = ask.fields.len() <= FEW && worker.waiting.get() < MANY;
    if is_small || ask.within.is_some() {
        return Ok(None);
    }
    let memory = &worker.cache.memory;
    let mut room = memory.budget().reservation();
    let fits = room.grow_sparing((BESIDE + places(&ask.fields)) as u64);
    memory.make_room();
    fits.then_some(Some(room)).ok_or(Failure::NoRoom)
}
