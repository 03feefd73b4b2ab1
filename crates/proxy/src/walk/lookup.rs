//! Lookup: what the store has for a request, and whether it may be used now.

pub mod bypassed;
mod content;
mod from_disk;
mod judge;
mod need;
mod terms;

pub use content::{answers, holds, is_far_ahead, wanted};
pub use from_disk::{adopted, from_disk};
pub use judge::{confirmed, of_unstored, purged_since, unpurged};
pub use need::{Need, one_range};
pub use terms::{condition_is_the_origins, is_forced, reuse_site, reuse_site_for, terms};

use crate::{
    ask::{self, Ask},
    cache::Worker,
    clock,
    outcome::{BypassReason, Detail, Outcome},
    way::{self, LateBypass},
};
use bypassed::bypassed;
use from_disk::{drawn, is_left, on_disk};
use http::HeaderMap;
use judge::among;
use rules::{status::ForwardReason, time::Time};
use std::sync::Arc;
use store::{Stored, disk::Finding, fill::Reader};

/// The result of a lookup.
pub enum Decision {
    /// Answer with this.
    Hit(Hit),
    /// Answer with this, and fetch a fresh one in the background.
    StaleHit(Hit),
    /// The store is not asked for the answer.
    Bypass(Bypassed),
    /// The origin must be asked.
    Forward(Need),
}

impl Decision {
    /// Notes of what may be sent that the request has waited: its age is counted at the time of sending, and not at
    /// [`Ask::now`].
    pub fn note_wait(&mut self) {
        if let Self::Hit(hit) | Self::StaleHit(hit) = self {
            hit.outcome.waited = true;
        }
    }

    /// Returns the hit, if there is one that need not be fetched again.
    pub fn hit(self) -> Option<Hit> {
        match self {
            Self::Hit(hit) => Some(hit),
            Self::StaleHit(_) | Self::Bypass(_) | Self::Forward(_) => None,
        }
    }
}

/// How far lookup came without waiting.
pub enum Looked {
    /// To its end.
    Decided(Decision),
    /// The disk has something under the key, and its device must be waited for.
    Wait(Finding),
}

/// A stored response that may be sent.
#[derive(Debug)]
pub struct Hit {
    /// What is sent, perhaps in another form or in part.
    pub stored: Arc<Stored>,
    /// Follows the body if it is still on its way. Taken at once, since a fill may close to readers at any moment.
    pub reader: Option<Reader>,
    /// The outcome so far: how it was found.
    pub outcome: Outcome,
    /// The fields for the client whose request fetched it, if they are at hand or more than what is stored.
    pub own: Option<Box<HeaderMap>>,
}

impl Hit {
    /// Whether it is stale, and is to be fetched again while it is sent (RFC 5861 section 3).
    pub const fn refreshes(&self) -> bool {
        matches!(self.outcome.detail, Some(Detail::Stale(why)) if why.refreshes())
    }
}

/// Why the store is bypassed.
#[derive(Clone, Copy, Debug)]
pub enum Bypassed {
    /// A rule of the site, or a property of the request, for this reason.
    Reason(BypassReason),
    /// The method is not answered from the store.
    Method,
    /// The client's `If-Match` or `If-Unmodified-Since` does not hold for the stored response, or no stored response
    /// could answer, for this reason. A cache must not judge such a condition (RFC 9111 section 4.3.2): the origin
    /// does.
    Condition(ForwardReason),
}

impl Bypassed {
    /// Returns the reason as one that a rule could have: a condition bypasses the store as a method does.
    pub const fn reason(self) -> BypassReason {
        match self {
            Self::Reason(why) => why,
            Self::Method | Self::Condition(_) => BypassReason::Method,
        }
    }
}

/// Looks up a request. This is on the path of a hit.
pub fn lookup(worker: &Worker, ask: &mut Ask) -> Looked {
    match begin(ask) {
        Some(why) => Looked::Decided(Decision::Bypass(why)),
        None if ask.has_waited => find_late(worker, ask),
        None => find(worker, ask, ask.now),
    }
}

/// Returns why a request bypasses the store, if it does. Otherwise sets aside the cookies on which nothing stored may
/// depend, if the route says so.
#[inline]
pub fn begin(ask: &mut Ask) -> Option<Bypassed> {
    let why = bypassed(ask);
    if why.is_none() {
        keep_cookies_from_store(ask);
    }
    why
}

/// Sets aside the cookies on which nothing stored may depend, if the route says so.
pub fn keep_cookies_from_store(ask: &mut Ask) {
    let Some(route) = ask.site.routes.get(ask.route) else {
        return;
    };
    let policy = &route.policy;
    let stores_nothing = bypassed::stores_nothing(&policy.bypass, &ask.fields);
    if stores_nothing || policy.key.drop_cookies {
        ask.set_aside.cookies = ask::set_cookies_aside(&mut ask.fields, &policy.key);
        ask.stores_nothing = stores_nothing;
    }
}

/// Turns what was found into a decision for this client. If the store does not answer, a request that must not fill it
/// bypasses it, with all of its cookies. So does a request with a condition that only an origin may judge.
pub fn for_client(ask: &mut Ask, found: Decision) -> Decision {
    let found = match found {
        Decision::Forward(need) => match way::late_bypass(terms(ask)) {
            None => Decision::Forward(need),
            Some(bypass) => {
                ask.stand_in = need.selected;
                Decision::Bypass(match bypass {
                    LateBypass::Cookie => Bypassed::Reason(BypassReason::Cookie),
                    LateBypass::Condition => Bypassed::Condition(need.why),
                })
            }
        },
        found => found,
    };
    if ask.stores_nothing && matches!(found, Decision::Bypass(_)) {
        ask.take_cookies_back();
    }
    found
}

/// Looks up a request that has waited until now.
#[cold]
fn find_late(worker: &Worker, ask: &Ask) -> Looked {
    let mut looked = find(worker, ask, clock::now());
    if let Looked::Decided(found) = &mut looked {
        found.note_wait();
    }
    looked
}

/// Like [`lookup`], at `now`, for a request that is known not to bypass.
pub fn find(worker: &Worker, ask: &Ask, now: Time) -> Looked {
    worker.cache.memory.log().wake(now);
    let found = match worker.cache.memory.find(ask.key.as_bytes()) {
        Some(variants) => among(worker, ask, now, &variants),
        None => Decision::Forward(Need::miss(ForwardReason::UriMiss)),
    };
    let Some(disk) = &worker.cache.disk else {
        return Looked::Decided(found);
    };
    let looked = match found {
        Decision::Forward(need @ Need { selected: None, .. }) => {
            on_disk(worker, ask, now, disk, need)
        }
        found => Looked::Decided(found),
    };
    match looked {
        Looked::Decided(Decision::Hit(hit)) if is_left(&hit.stored) => {
            drawn(worker, ask, now, disk, hit)
        }
        looked => looked,
    }
}
