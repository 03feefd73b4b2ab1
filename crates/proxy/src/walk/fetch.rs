//! Fetch: one exchange with an origin. What its answer comes to is told in `land` and, for 206, in `parts`.

use crate::{
    ask::Ask,
    body::Content,
    cache::Worker,
    error::Failure,
    hit_for_miss::Unshared,
    outcome::{Detail, bump},
    walk::{
        admit::{self, Times},
        coding, esi,
        lookup::{Hit, Need, answers, wanted_part},
        outbound,
        pump::{Pump, Room},
        receive,
    },
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header, response};
use origin::{RequestBody, ResponseBody};
use rules::{
    partial,
    precondition::{self, Representation},
    range::{self, Span},
    reuse,
    validate::{self, Validators},
};
use std::{
    cell::Cell,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};
use store::{
    Body, Stored, Ticket,
    fill::{Reader, Writer},
    shared::Lease,
};

/// What a fetch came to.
pub struct Fetched {
    pub landing: Landing,
    /// The status the origin gave, if any.
    pub origin_status: Option<u16>,
    pub origin_time: Duration,
}

/// How the walk goes on.
pub enum Landing {
    /// A lower tier had it; no origin was asked.
    Found(Box<Hit>),
    /// Answer with this; the pump fills its body. `fresh` where it was stored or freshened for others too.
    Stored {
        stored: Arc<Stored>,
        reader: Option<Reader>,
        pump: Option<Box<Pump>>,
        kept: Result<(), Detail>,
        /// The fields for this request's own client, where they are at hand or more than what is stored.
        own: Option<Box<HeaderMap>>,
    },
    /// The origin failed, and this may be sent although it is stale.
    Stale {
        stored: Arc<Stored>,
        failure: reuse::Failure,
        why: &'static str,
    },
    /// The origin's answer as it came; `pump` where it is stored on the way.
    Raw {
        head: response::Parts,
        content: Content,
        why: Option<Detail>,
        pump: Option<Box<Pump>>,
    },
    /// No answer.
    Failed(Failure),
}

/// What our request asks for.
pub enum Plan {
    /// The whole representation, on condition where something is stored.
    Whole,
    /// The part the client asks for: nothing is stored that it could be combined with.
    Part,
    /// What is missing of the stored parts.
    Missing(Span),
}

/// One fetch under way.
pub struct Fetch<'a> {
    pub worker: &'a Rc<Worker>,
    pub ask: &'a Rc<Ask>,
    pub need: &'a Need,
    pub ticket: Ticket,
    pub began: Instant,
    pub times: Times,
    /// Whether the client's own condition goes along: nothing is stored, and what comes will not be either, so that the origin alone
    /// can spare anybody the content.
    pub passes_condition: bool,
    /// The right to fetch for all nodes, until what was fetched is with them.
    pub lease: Cell<Option<Lease>>,
}

/// Asks the origin for what `need` says. `writer`: a fill that others follow already; without one, a fill is begun where
/// there is something to store.
pub async fn fetch(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    need: &Need,
    writer: Option<Writer>,
    lease: Option<Lease>,
) -> Fetched {
    let now = receive::now();
    let mut fetch = Fetch {
        worker,
        ask,
        need,
        ticket: worker.cache.memory.begin(),
        began: Instant::now(),
        times: Times {
            request: now,
            response: now,
            lifetime: None,
        },
        passes_condition: passes_condition(worker, ask, need),
        lease: Cell::new(lease),
    };
    fetch.run(writer).await
}

/// See [`Fetch::passes_condition`]. The next answer for a key whose last one may not be stored most likely is not stored either.
fn passes_condition(worker: &Worker, ask: &Ask, need: &Need) -> bool {
    let reads = ask.method == Method::GET || ask.method == Method::HEAD;
    let mut names = ask.fields.keys();
    let on_condition =
        names.any(|name| matches!(*name, header::IF_NONE_MATCH | header::IF_MODIFIED_SINCE));
    let holds_nothing = need.selected.is_none() && need.others.is_empty();
    reads && on_condition && holds_nothing && {
        let (table, key) = (&worker.cache.hit_for_miss, ask.key.as_bytes());
        let is_lasting = || table.why(key).is_some_and(Unshared::is_lasting);
        ask.directives.no_store || (table.knows(key, ask.now) && is_lasting())
    }
}

impl Fetch<'_> {
    pub async fn run(&mut self, writer: Option<Writer>) -> Fetched {
        let mut plan = self.plan();
        let mut answer = self.exchange(&plan, true).await;
        if answer
            .as_ref()
            .is_ok_and(|response| self.is_useless(&plan, response))
        {
            plan = Plan::Whole;
            self.times.request = receive::now();
            answer = self.exchange(&plan, false).await;
        }
        let origin_time = self.began.elapsed();
        self.times.response = receive::now();
        let origin_status = answer
            .as_ref()
            .ok()
            .map(|response| response.status().as_u16());
        if let Ok(answer) = &answer {
            let times = self.times;
            self.times = Times::of(times.request, times.response, answer.extensions());
        }
        let landing = match answer {
            // Boxed: rare, and large.
            Ok(response) if is_missing_part(&plan, &response) => {
                Box::pin(self.combine(response)).await
            }
            Ok(response) => self.land(response, writer),
            Err(failure) => self.failed(failure),
        };
        if matches!(landing, Landing::Raw { why: Some(_), .. }) && self.need.selected.is_some() {
            // What was stored may have been withdrawn: it does not come back after a restart.
            self.worker.cache.purger.settled().await;
        }
        Fetched {
            landing,
            origin_status,
            origin_time,
        }
    }

    pub fn plan(&self) -> Plan {
        let selected = self.need.selected.as_deref();
        if let Some(
            stored @ Stored {
                body: Body::Parts(parts),
                fields,
                ..
            },
        ) = selected
            && fields
                .get_bytes(&header::ETAG)
                .is_some_and(|tag| !tag.starts_with(b"W/"))
        {
            let all = Span {
                first: 0,
                last: parts.length.saturating_sub(1),
            };
            let wanted = wanted_part(self.ask, stored, parts.length).unwrap_or(all);
            match parts.spans().missing(wanted) {
                None => return Plan::Whole,
                Some(missing)
                    if missing.last - missing.first < Room::of(self.worker, self.ask).in_memory =>
                {
                    return Plan::Missing(missing);
                }
                // More than is kept of any body: the request goes as if nothing were stored.
                Some(_) => {}
            }
        }
        let written = self.ask.range().and_then(range::parse);
        let single = written.is_some_and(|ranges| ranges.len() == 1);
        let parted = selected.is_none_or(|stored| matches!(stored.body, Body::Parts(_)));
        if parted && single {
            Plan::Part
        } else {
            Plan::Whole
        }
    }

    /// An answer that only makes sense together with something stored that it does not fit: the origin is asked again,
    /// without conditions.
    pub fn is_useless(&self, plan: &Plan, response: &Response<ResponseBody>) -> bool {
        match response.status() {
            StatusCode::NOT_MODIFIED => {
                !self.passes_condition && self.freshened(response.headers()).is_empty()
            }
            StatusCode::PARTIAL_CONTENT => match plan {
                Plan::Whole => true,
                Plan::Part => {
                    let fields = response.headers();
                    esi::is_part_of_page(self.ask, fields)
                        || coding::is_of_another(self.ask, fields, None)
                }
                Plan::Missing(span) => !self.fits(*span, response.headers()),
            },
            StatusCode::RANGE_NOT_SATISFIABLE => matches!(plan, Plan::Missing(_)),
            _ => false,
        }
    }

    /// Whether a 206 holds `span` of the representation whose parts are stored.
    pub fn fits(&self, span: Span, fields: &HeaderMap) -> bool {
        let Some(stored) = &self.need.selected else {
            return false;
        };
        let range = fields
            .get(header::CONTENT_RANGE)
            .and_then(range::parse_content_range);
        let judged = admit::judge(
            self.ask,
            &Method::GET,
            self.times,
            StatusCode::PARTIAL_CONTENT,
            fields,
        );
        judged.is_ok()
            && partial::combinable(&stored.fields.unpack(0), fields)
            && range.is_some_and(|range| {
                // One strong validator, one length: the origin need not tell it again.
                range.span == span
                    && (range.length.is_none() || range.length == stored.body.length())
            })
    }

    async fn exchange(
        &self,
        plan: &Plan,
        conditional: bool,
    ) -> Result<Response<ResponseBody>, Failure> {
        let waiting = self.begin(plan, conditional)?;
        waiting.await.map_err(|error| {
            bump(&self.worker.counters.origin_errors);
            Failure::Origin(Arc::new(error))
        })
    }

    /// Asks the origin.
    fn begin(
        &self,
        plan: &Plan,
        conditional: bool,
    ) -> Result<impl Future<Output = Result<Response<ResponseBody>, origin::Error>>, Failure> {
        let request = self.request(plan, conditional)?;
        let is_personal = || self.ask.fields.contains_key(header::AUTHORIZATION);
        let context = origin::Context {
            repeatable: true,
            ..outbound::context(self.ask, is_personal)
        };
        Ok(self.ask.policy().origin.fetch(request, context))
    }

    /// HEAD goes out as GET: then both can be answered from what is stored.
    pub fn request(&self, plan: &Plan, conditional: bool) -> Result<Request<RequestBody>, Failure> {
        let mut fields = outbound::fields(self.ask)?;
        let part = matches!(plan, Plan::Part).then(|| {
            let range = fields.remove(header::RANGE);
            (range, fields.remove(header::IF_RANGE))
        });
        validate::remove_conditions(&mut fields);
        coding::ask_origin(self.worker, self.ask, &mut fields);
        match plan {
            Plan::Whole if conditional && self.passes_condition => {
                for name in [header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE] {
                    for line in self.ask.fields.get_all(&name) {
                        fields.append(&name, line.clone());
                    }
                }
                rules::coding::for_origin(&mut fields);
            }
            Plan::Whole if conditional && self.ask.content.keyed.is_none() => {
                self.condition(&mut fields);
            }
            Plan::Whole => {}
            Plan::Part => {
                let (range, if_range) = part.unwrap_or_default();
                put(&mut fields, header::RANGE, range);
                put(&mut fields, header::IF_RANGE, if_range);
                rules::coding::for_origin(&mut fields);
            }
            Plan::Missing(span) => {
                let tag = self
                    .need
                    .selected
                    .as_ref()
                    .and_then(|stored| stored.fields.get(&header::ETAG));
                fields.insert(header::RANGE, partial::range_value(*span));
                put(&mut fields, header::IF_RANGE, tag);
            }
        }
        if self.ask.checks_errors() {
            // Whether it tells of errors can be seen in plain text alone.
            fields.insert(
                header::ACCEPT_ENCODING,
                HeaderValue::from_static("identity"),
            );
        }
        match self.ask.content.keyed.as_deref() {
            Some((content, _)) => outbound::with_content(self.ask, fields, content.clone()),
            None => outbound::bodyless(self.ask, Method::GET, fields),
        }
    }

    /// `If-None-Match` and `If-Modified-Since` from everything at hand.
    pub fn condition(&self, fields: &mut HeaderMap) {
        let held = self.held();
        if held.is_empty() {
            return;
        }
        let validators: Vec<_> = held.iter().map(Held::validators).collect();
        validate::condition(fields, &validators);
    }

    /// The stored responses that a condition names, the selected one first. Only those that could answer this request if they
    /// are confirmed: a body on its way may yet break off, and parts may not hold what is asked for.
    pub fn held(&self) -> Vec<Held> {
        let answers = |stored: &&Arc<Stored>| answers(self.ask, stored);
        let selected = self.need.selected.iter().filter(answers).map(Held::new);
        let others = self
            .need
            .others
            .iter()
            .filter(answers)
            .map(Held::of_another);
        selected.chain(others).collect()
    }

    /// Which of them a 304 selects.
    pub fn freshened(&self, not_modified: &HeaderMap) -> Vec<Held> {
        let mut held = self.held();
        let validators: Vec<_> = held.iter().map(Held::validators).collect();
        let selected = validate::selected(not_modified, &validators);
        let mut index = 0;
        held.retain(|_| {
            index += 1;
            selected.contains(&(index - 1))
        });
        held
    }
}

/// Whether an answer is what is missing of the stored parts.
fn is_missing_part(plan: &Plan, response: &Response<ResponseBody>) -> bool {
    response.status() == StatusCode::PARTIAL_CONTENT && matches!(plan, Plan::Missing(_))
}

/// A stored response with its validators at hand.
pub struct Held {
    pub stored: Arc<Stored>,
    pub etag: Option<HeaderValue>,
    pub last_modified: Option<HeaderValue>,
}

impl Held {
    pub fn new(stored: &Arc<Stored>) -> Self {
        Self {
            stored: stored.clone(),
            etag: stored.fields.get(&header::ETAG),
            last_modified: stored.fields.get(&header::LAST_MODIFIED),
        }
    }

    /// As another variant: it may be named by its tag, but a date alone would let an origin confirm the wrong one.
    pub fn of_another(stored: &Arc<Stored>) -> Self {
        Self {
            last_modified: None,
            ..Self::new(stored)
        }
    }

    pub fn validators(&self) -> Validators<'_> {
        Validators {
            etag: self.etag.as_ref(),
            last_modified: self.last_modified.as_ref(),
            date: self.stored.facts.date,
        }
    }
}

/// A reader where the body is still on its way.
pub fn reader_of(stored: &Stored) -> Option<Reader> {
    match &stored.body {
        Body::Filling(fill) => fill.reader(),
        Body::Whole(_) | Body::Chunks(_) | Body::Disk(_) | Body::Parts(_) => None,
    }
}

/// Whether the client's own conditions turn the origin's answer into another.
pub fn client_condition(ask: &Ask, head: &response::Parts) -> precondition::Outcome {
    if !head.status.is_success() || !precondition::any(&ask.fields) {
        return precondition::Outcome::Proceed;
    }
    let bytes = |name| head.headers.get(name).map(HeaderValue::as_bytes);
    let representation = Representation {
        etag: bytes(header::ETAG),
        last_modified: bytes(header::LAST_MODIFIED),
        date: None,
    };
    precondition::judge(&ask.method, &ask.fields, &representation, ask.now)
}

/// A head's parts without its extensions.
pub fn clone_head(head: &response::Parts) -> response::Parts {
    let mut response = Response::new(());
    *response.status_mut() = head.status;
    *response.version_mut() = head.version;
    *response.headers_mut() = head.headers.clone();
    response.into_parts().0
}

fn put(fields: &mut HeaderMap, name: http::HeaderName, value: Option<HeaderValue>) {
    if let Some(value) = value {
        fields.insert(name, value);
    }
}
