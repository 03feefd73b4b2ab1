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
    ///
    /// If the request was sent before, and that attempt went unheard, an error says nothing of it: a second `DELETE` may
    /// find nothing because the first one deleted it.
    pub fn answered(&mut self, status: StatusCode, response: &HeaderMap) {
        if let End::Unheard = self.end {
            if invalidates(&self.ask, status) {
                self.end = End::Success(status, response.clone());
            } else if !self.sent.went_unheard() {
                self.end = End::Decided;
            }
        }
    }

    /// Says that the caller, which has the answer, does what that makes necessary.
    pub fn decided(&mut self) {
        if let End::Success(..) = self.end {
            self.end = End::Decided;
        }
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

    /// How often it was sent.
    #[derive(Clone, Copy, Debug)]
    enum Sendings {
        Never,
        Once,
        /// And the first has brought no answer.
        Twice,
    }

    /// RFC 9111 section 4.4: what a success changed MUST be invalidated, whether its client hears of it or not. What never
    /// arrived has changed nothing. An error says so only of the sending that it answers.
    #[test]
    fn a_success_makes_invalid_what_an_unheard_end_makes_stale() {
        use Sendings::{Never, Once, Twice};
        let fields = sample::fields(&[("location", "/new")]);
        let success = Some((StatusCode::CREATED, &fields));
        let error = Some((StatusCode::NOT_FOUND, &fields));
        let rows: [(Sendings, Heard, [bool; 2], bool); 6] = [
            (Never, None, [false, false], false),
            (Once, None, [false, false], true),
            (Once, success, [true, true], true),
            (Once, error, [false, false], false),
            (Twice, success, [true, true], true),
            (Twice, error, [false, false], true),
        ];
        for (sendings, heard, gone, is_purged) in rows {
            let worker = sample::worker(&sample::memory());
            let site = sample::site(sample::policy(sample::key_spec()));
            let mut ask = sample::ask(site, None, HeaderMap::new());
            ask.method = Method::POST;
            let memory = &worker.cache.memory;
            let (before, head) = (memory.begin(), memory.log().head());
            let mut undecided = Undecided::begin(&worker, &Rc::new(ask));
            let sent = undecided.sent();
            sent.set(!matches!(sendings, Never));
            if matches!(sendings, Twice) {
                sent.note_unheard();
            }
            if let Some((status, fields)) = heard {
                undecided.answered(status, fields);
            }
            if heard == error {
                undecided.decided();
            }
            drop(undecided);
            let is_gone = |path: &str| {
                let key = format!("http://shop.example{path}");
                memory.log().refuses(key.as_bytes(), None, before.log_at)
            };
            assert_eq!(
                [is_gone("/p"), is_gone("/new")],
                gone,
                "{sendings:?} {heard:?}"
            );
            assert_eq!(
                memory.log().head() > head,
                is_purged,
                "{sendings:?} {heard:?}"
            );
        }
    }
}
