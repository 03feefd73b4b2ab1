//! Answers that are on their way: until one has arrived, the answer that it replaces stays in use.

use super::{
    event::{Event, Kept},
    urls::ByHash,
};
use rules::time::Time;
use std::sync::Arc;

/// What exists for a key at some moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The answer that a request finds.
    pub here: Option<Arc<Kept>>,
    /// The answer that is on its way meanwhile.
    pub coming: Option<Arc<Kept>>,
}

/// The answers that those on their way replace, by key. They are kept apart from what is stored, and only until the
/// others have arrived: if a log tells how long answers took, nearly every stored one was once on its way.
#[derive(Debug, Default)]
pub(super) struct Replaced(ByHash<Old>);

/// An answer that is replaced.
#[derive(Debug)]
struct Old {
    kept: Arc<Kept>,
    /// When the answer that replaces it arrives.
    until: Time,
}

impl Replaced {
    /// Returns what `event` sees of `kept`, the last answer stored under its key.
    pub(super) fn seen(&self, event: &Event, kept: Arc<Kept>) -> Seen {
        let stands = |kept: &Arc<Kept>| kept.number >= event.invalid_before;
        let is_here = |kept: &Arc<Kept>| kept.facts.response_time <= event.now;
        let kept = Some(kept).filter(stands);
        if kept.as_ref().is_some_and(is_here) {
            return Seen {
                here: kept,
                coming: None,
            };
        }
        let before = self.0.get(&event.key).map(|old| old.kept.clone());
        let before = before.filter(stands);
        if before.as_ref().is_none_or(is_here) {
            Seen {
                here: before,
                coming: kept,
            }
        } else {
            // If two are on their way, the first is waited for.
            Seen {
                here: None,
                coming: before,
            }
        }
    }

    /// Notes that `kept` is stored under `key` now, in place of `before`, if that is still of use.
    pub(super) fn stored(&mut self, key: u64, kept: &Kept, before: Option<Arc<Kept>>) {
        let until = kept.facts.response_time;
        match before {
            Some(kept) => self.0.insert(key, Old { kept, until }),
            None => self.0.remove(&key),
        };
    }

    /// Drops what has been replaced by `now`, which never goes back.
    pub(super) fn settle(&mut self, now: Time) {
        self.0.retain(|_, old| old.until > now);
    }
}

#[cfg(test)]
mod tests {
    use crate::simulate::{
        Eviction,
        event::{Batch, Event, Judged, Kept},
        tally::{Setting, Simulation},
        urls::Fetch,
    };
    use http::StatusCode;
    use proxy::way::Terms;
    use rules::{
        directives::RequestDirectives,
        freshness::{Facts, LifetimeSource},
        reuse,
        time::Time,
    };
    use std::{
        sync::{Arc, Weak},
        time::Duration,
    };

    const TAKES: Duration = Duration::from_secs(2);

    /// An answer that was requested at this second, and is stale as soon as it arrives.
    fn kept(second: u64) -> Arc<Kept> {
        let response_time = Time::from_secs(second).plus(TAKES);
        let facts = Facts {
            response_time,
            date: response_time,
            initial_age_ms: 0,
            lifetime_ms: 0,
            source: LifetimeSource::MaxAge,
            stale_while_revalidate: Some(3600),
            stale_if_error: None,
            limits_stale: false,
            no_cache: false,
            must_revalidate: false,
            immutable: false,
            is_failure: false,
            is_weakly_known: false,
        };
        Arc::new(Kept {
            facts,
            url: 1,
            number: second,
            weight: 100,
            body: 10,
            largest: 1000,
        })
    }

    /// A request for a key at this second, with this answer.
    fn batch(key: u64, second: u64, kept: Arc<Kept>) -> Batch {
        let now = Time::from_secs(second);
        let event = Event {
            key,
            page: key,
            url: key,
            now,
            landed: now.plus(TAKES),
            sent: 10,
            fetch: Fetch {
                body: 10,
                took: 2_000_000,
            },
            invalid_before: 0,
            directives: RequestDirectives::default(),
            site: reuse::Site {
                client_may_force: false,
                unreachable: 0,
            },
            terms: Terms::default(),
            status: StatusCode::OK,
            is_failure: false,
        };
        Batch {
            events: vec![event],
            judged: vec![Judged::Stored(kept)],
            ..Batch::default()
        }
    }

    #[test]
    fn what_is_replaced_is_of_use_until_its_successor_is_there_and_no_longer() {
        for memory in [None, Some(64 << 20)] {
            let mut simulation = Simulation::new(
                Setting {
                    memory,
                    lifetime: 0,
                    eviction: Eviction::Larder,
                },
                false,
            );
            let mut ask = |key, second| {
                let answer = kept(second);
                let weak = Arc::downgrade(&answer);
                simulation.take(&batch(key, second, answer), 1);
                (weak, simulation.tally.stale)
            };
            let lives = |one: &Weak<Kept>| one.strong_count() > 0;
            let (first, _) = ask(1, 0);
            // Stale: the second is fetched, and the first is sent until it has arrived.
            let (second, stale) = ask(1, 10);
            assert_eq!((stale, lives(&first)), (1, true));
            let (unused, stale) = ask(1, 11);
            assert_eq!((stale, lives(&first), lives(&unused)), (2, true, false));
            // A request for another key is enough: the replaced answer is dropped.
            let _ = ask(2, 12);
            assert_eq!((lives(&first), lives(&second)), (false, true));
        }
    }
}
