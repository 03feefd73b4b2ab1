//! What an unsafe request makes invalid whose end nobody waited for.

use super::{Certainty, invalidate, invalidates, target};
use crate::{ask::Ask, cache::Worker, outcome::bump};
use http::{HeaderMap, StatusCode};
use origin::Sent;
use std::rc::Rc;

/// An unsafe request that goes to its origin, which may do what it is asked to as soon as some of it may have arrived
/// there.
///
/// If this is dropped after that, and before it is [decided](Self::decided), e.g. because the client leaves, the target
/// is stale from then on. If the origin fails for all clients, the stored response can still stand in. If it was
/// [answered](Self::answered), all that its success makes invalid is invalidated on drop.
pub struct Undecided {
    worker: Rc<Worker>,
    ask: Rc<Ask>,
    sent: Sent,
    end: End,
}

/// What is known of how such a request ended.
enum End {
    /// Nothing yet.
    Unheard,
    /// A success, with these fields.
    Success(StatusCode, HeaderMap),
    /// Nothing is left to do.
    Decided,
}

impl Undecided {
    /// Begins before the request goes out.
    pub fn begin(worker: &Rc<Worker>, ask: &Rc<Ask>) -> Self {
        Self {
            worker: Rc::clone(worker),
            ask: Rc::clone(ask),
            sent: Sent::default(),
            end: if invalidates(ask, StatusCode::OK) {
                End::Unheard
            } else {
                End::Decided
            },
        }
    }

    /// Returns what learns whether some of the request may have arrived.
    pub fn sent(&self) -> Sent {
        self.sent.clone()
    }

    /// Says that this answer has come. What it makes invalid is still to be found out completely.
    pub fn answered(&mut self, status: StatusCode, response: &HeaderMap) {
        if let End::Unheard = self.end {
            self.end = if invalidates(&self.ask, status) {
                End::Success(status, response.clone())
            } else {
                End::Decided
            };
        }
    }

    /// Says that the caller, which has the answer, does what is to be done.
    pub fn decided(&mut self) {
        self.end = End::Decided;
    }
}

impl Drop for Undecided {
    fn drop(&mut self) {
        let (worker, ask) = (&self.worker, &self.ask);
        // The groups of responses below are left out, since they would have to be waited for.
        match &self.end {
            End::Unheard if self.sent.was_sent() => {
                Certainty::MayHaveChanged.invalidate(worker, ask, &target(ask));
                bump(&worker.counters.invalidations);
            }
            End::Success(status, response) => {
                invalidate(worker, ask, *status, response, Vec::new());
            }
            End::Unheard | End::Decided => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use http::Method;

    type Heard<'a> = Option<(StatusCode, &'a HeaderMap)>;

    /// RFC 9111 section 4.4: what a success changed MUST be invalidated, whether its client hears of it or not. What never
    /// arrived has changed nothing.
    #[test]
    fn a_success_makes_invalid_what_an_unheard_end_makes_stale() {
        let success = sample::fields(&[("location", "/new")]);
        let rows: [(bool, Heard, [bool; 2], bool); 4] = [
            (false, None, [false, false], false),
            (true, None, [false, false], true),
            (
                true,
                Some((StatusCode::CREATED, &success)),
                [true, true],
                true,
            ),
            (
                true,
                Some((StatusCode::NOT_FOUND, &success)),
                [false, false],
                false,
            ),
        ];
        for (was_sent, heard, gone, is_purged) in rows {
            let worker = sample::worker(&sample::memory());
            let site = sample::site(sample::policy(sample::key_spec()));
            let mut ask = sample::ask(site, None, HeaderMap::new());
            ask.method = Method::POST;
            let memory = &worker.cache.memory;
            let (before, head) = (memory.begin(), memory.log().head());
            let mut undecided = Undecided::begin(&worker, &Rc::new(ask));
            undecided.sent().set(was_sent);
            if let Some((status, fields)) = heard {
                undecided.answered(status, fields);
            }
            drop(undecided);
            let is_gone = |path: &str| {
                let key = format!("http://shop.example{path}");
                memory.log().refuses(key.as_bytes(), None, before.log_at)
            };
            assert_eq!([is_gone("/p"), is_gone("/new")], gone, "{heard:?}");
            assert_eq!(memory.log().head() > head, is_purged, "{heard:?}");
        }
    }
}
