//! Fetch: one exchange with an origin. `land` and, for 206, `parts` handle its answer.

mod candidates;
mod plan;
mod request;

pub use candidates::ValidationCandidate;
pub use plan::{Missing, Plan};

use crate::{
    ask::Ask,
    body::Content,
    cache::Worker,
    clock,
    error::Failure,
    hit_for_miss::Unshared,
    outcome::{Detail, Failing, Outcome},
    policy::Esi,
    walk::{
        admit::Times,
        below::{self, Role, SharedLookup},
        land,
        lookup::{self, Hit, Need},
        outbound,
        pump::Pump,
    },
};
use http::{HeaderMap, HeaderName, Method, Response, header, response};
use origin::ResponseBody;
use rules::{fields::has, method::is_retrieval, status::Handled, time::Time};
use std::{cell::Cell, rc::Rc, sync::Arc, time::Duration};
use store::{
    Stored, Ticket,
    fill::{Reader, Writer},
    shared::Lease,
};

/// What a fetch came to.
pub struct Fetched {
    /// How the walk goes on.
    pub landing: Landing,
    /// The origin's status, if it answered.
    pub origin_status: Option<u16>,
    /// How long the origin took until its final heads, in all requests together; `None` if it was not asked.
    pub origin_time: Option<Duration>,
    /// See [`Outcome::aged`](crate::outcome::Outcome::aged).
    pub aged: bool,
    /// Whether it is another request's fetch, which this request has followed.
    pub collapsed: bool,
}

/// How the walk goes on.
pub enum Landing {
    /// A lower tier had it: no origin was asked, or it failed.
    Found(Box<Hit>),
    /// Answer with this. The pump fills its body; `kept` says whether it was stored or freshened for other requests
    /// too.
    Stored {
        stored: Arc<Stored>,
        reader: Option<Reader>,
        pump: Option<Box<Pump>>,
        kept: Result<(), Detail>,
        /// The fields for this request's own client, if they are at hand or more than what is stored.
        own: Option<Box<HeaderMap>>,
    },
    /// The origin failed, and this may be sent although it is stale. It has a reader if its body is on its way.
    Stale {
        stored: Arc<Stored>,
        reader: Option<Reader>,
        why: Failing,
    },
    /// The origin's answer as it came. It has a `pump` if it is stored on the way. `kept` says how long it is fresh for
    /// others, if it is at all, or why it is not found again.
    Raw {
        head: response::Parts,
        content: Content,
        kept: Result<Option<Duration>, Detail>,
        pump: Option<Box<Pump>>,
    },
    /// No answer.
    Failed(Failure),
}

impl Landing {
    /// Whether the origin's answer was stored, or has freshened what is stored.
    const fn has_stored(&self) -> bool {
        matches!(
            self,
            Self::Stored { kept: Ok(()), .. } | Self::Raw { kept: Ok(_), .. }
        )
    }
}

/// A fetch under way.
pub struct Fetch<'a> {
    /// The worker that fetches.
    pub worker: &'a Rc<Worker>,
    /// The request for which it fetches.
    pub ask: &'a Rc<Ask>,
    /// What it must bring, and what is already stored.
    pub need: &'a Need,
    /// Drawn when the fetch began. What it brings is refused if it has been purged since, or replaced by a later fetch.
    pub ticket: Ticket,
    /// When the request went out and its response came. Until there is a response, both are when the fetch began.
    pub times: Times,
    /// How long the origin has taken so far.
    pub took: Duration,
    /// Whether the client's own condition goes along. Nothing is stored, and the answer will not be either, so only the
    /// origin can avoid sending the content.
    pub passes_condition: bool,
    /// Whether the client's own range goes along, whatever its unit and however many they are: for the same reason.
    pub passes_range: bool,
    /// The right to fetch for all nodes, held until they have what was fetched.
    pub lease: Cell<Option<Lease>>,
}

/// Asks the origin for what `need` says. `writer` writes a fill that others already follow. Without one, a fill is
/// begun if there is something to store.
pub async fn fetch(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    need: &Need,
    writer: Option<Writer>,
    lease: Option<Lease>,
) -> Fetched {
    let now = clock::now();
    let ticket = worker.cache.memory.begin();
    // A request that has waited for others may have been overtaken by a purge that its ticket does not know of.
    let purged = lookup::purged_since(worker, ask, need);
    let need = purged.as_ref().unwrap_or(need);
    let has = |name: &HeaderName| ask.fields.contains_key(name);
    let on_condition = has(&header::IF_NONE_MATCH) || has(&header::IF_MODIFIED_SINCE);
    let in_range = ask.method == Method::GET && has(&header::RANGE);
    let alone = (on_condition || in_range) && is_for_one(worker, ask, need, now);
    let mut fetch = Fetch {
        worker,
        ask,
        need,
        ticket,
        times: Times {
            request: now,
            response: now,
            lifetime: None,
        },
        took: Duration::ZERO,
        passes_condition: on_condition && alone,
        passes_range: in_range && alone,
        lease: Cell::new(lease),
    };
    let mut fetched = fetch.run(writer).await;
    // Other nodes do not wait for this one any more.
    drop(fetch);
    if worker.cache.shared.is_some()
        && let Some(why) = failing(ask, &fetched.landing)
        && let Some(found) = elsewhere(worker, ask, need, why, fetched.origin_time).await
    {
        fetched.landing = found;
    }
    fetched
}

/// Why the client is to get an error from the origin, if it is, and the error is not stored.
fn failing(ask: &Ask, landing: &Landing) -> Option<Failing> {
    match landing {
        Landing::Failed(failure) if failure.is_the_origins() => {
            Some(Failing::Unreachable(failure.clone().into()))
        }
        Landing::Raw {
            head, kept: Err(_), ..
        } if ask.policy().stale.is_failure(head.status) => Some(Failing::Status(head.status)),
        _ => None,
    }
}

/// Returns what the shared tier has for a request whose fetch failed. It may not have been asked before: what was stored
/// here, or remembered of the last answer, spoke against it. Or another node has stored an answer meanwhile.
async fn elsewhere(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    need: &Need,
    why: Failing,
    origin_time: Option<Duration>,
) -> Option<Landing> {
    match below::look_up_shared(worker, ask, need.clone(), &mut Role::Last).await {
        SharedLookup::Hit(mut hit) => {
            let handled = Handled::Forwarded {
                why: need.why,
                status: why.status(),
                stored: false,
                collapsed: false,
            };
            let (ttl, detail) = land::on_failure(&hit.stored, why);
            hit.outcome = Outcome {
                handled,
                ttl: Some(ttl),
                detail: Some(detail),
                origin_time,
                ..Outcome::forwarded(need.why)
            };
            Some(Landing::Found(Box::new(hit)))
        }
        SharedLookup::Need(need, _) => land::instead(worker, ask, &need, why),
    }
}

/// Whether nothing is stored and the answer will most likely not be either, as the last one for the key was not. See
/// [`Fetch::passes_condition`].
fn is_for_one(worker: &Worker, ask: &Ask, need: &Need, now: Time) -> bool {
    let holds_nothing = need.selected.is_none() && need.others.is_empty();
    // No client holds anything of a composed page that a condition could be about.
    let may_be_passed = ask.policy().esi != Esi::On;
    is_retrieval(&ask.method) && holds_nothing && may_be_passed && {
        let (table, key) = (&worker.cache.hit_for_miss, ask.key.as_bytes());
        let is_lasting = || table.why(key).is_some_and(Unshared::is_lasting);
        // Nothing is held, so no variant is known, and the page's collapse key is the cache key alone.
        ask.directives.no_store || (table.knows(key, ask.credentials(), now) && is_lasting())
    }
}

impl<'a> Fetch<'a> {
    /// Asks the origin. If the answer [fits nothing](Self::is_useless) that is stored, asks once more for [something
    /// else](Self::second_plan). `writer` is as for `fetch`.
    pub async fn run(&mut self, writer: Option<Writer>) -> Fetched {
        let mut plan = self.plan();
        let mut before = Duration::ZERO;
        let mut answer = self.exchange(&plan).await;
        if answer
            .as_ref()
            .is_ok_and(|response| self.is_useless(&plan, response))
        {
            // An answer holds a turn and a connection until it is read, and the second request needs both.
            drop(answer);
            plan = self.second_plan(&plan);
            before = self.took;
            self.times.request = clock::now();
            let again = self.exchange(&plan).await;
            answer = again.and_then(|response| {
                let is_useless = self.is_useless(&plan, &response);
                (!is_useless).then_some(response).ok_or(Failure::Unasked)
            });
        }
        // By the clock as it is now, for both: it may have been set meanwhile.
        self.times.response = clock::now();
        self.times.request = self.times.response.minus(self.took.saturating_sub(before));
        let origin_status = answer
            .as_ref()
            .ok()
            .map(|response| response.status().as_u16());
        let mut aged = false;
        if let Ok(answer) = &answer {
            aged = has(answer.headers(), &header::AGE);
            let times = self.times;
            self.times = Times::of(times.request, times.response, answer.extensions());
        }
        let landing = match answer {
            Ok(response) => self.land(plan, response, writer),
            Err(failure) => self.failed(failure),
        };
        let counters = &self.worker.counters;
        counters.brought(self.need.why, origin_status, landing.has_stored());
        if matches!(landing, Landing::Raw { kept: Err(_), .. }) && self.need.selected.is_some() {
            // Stored responses may have been withdrawn: they must not come back after a restart.
            self.worker.cache.purger.settled().await;
        }
        Fetched {
            landing,
            origin_status,
            origin_time: Some(self.took),
            aged,
            collapsed: false,
        }
    }

    async fn exchange(&mut self, plan: &Plan) -> Result<Response<ResponseBody>, Failure> {
        let mut fetch = self.begin(plan)?;
        let answer = (&mut fetch).await;
        self.took += fetch.took();
        answer.map_err(|error| Failure::Origin(Arc::new(error)))
    }

    /// Asks the origin.
    fn begin(&self, plan: &Plan) -> Result<origin::TimedFetch<'a>, Failure> {
        let request = self.request(plan)?;
        let means_application = || has(&self.ask.fields, &header::AUTHORIZATION);
        let context = origin::Context {
            repeatable: true,
            content: self.content(),
            ..outbound::context(self.ask, means_application)
        };
        Ok(self.ask.policy().origin.fetch(request, context))
    }
}

/// Copies a head's parts, without its extensions.
pub fn clone_head(head: &response::Parts) -> response::Parts {
    let mut response = Response::new(());
    *response.status_mut() = head.status;
    *response.version_mut() = head.version;
    *response.headers_mut() = head.headers.clone();
    response.into_parts().0
}
