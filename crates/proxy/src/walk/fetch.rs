//! Fetch: one exchange with an origin, and what it comes to.

use crate::{
    ask::Ask,
    body::Content,
    cache::Worker,
    error::Failure,
    outcome::{Detail, Unkept, bump},
    walk::{
        admit::{self, Destination, Pump, Times},
        forward::begin_fill,
        lookup::{Need, reuse_site, wanted_part},
        outbound, receive,
    },
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header, response};
use http_body::Body as _;
use origin::{RequestBody, ResponseBody};
use rules::{
    partial,
    precondition::{self, Representation},
    range::{self, Span},
    reuse,
    storable::NotStorable,
    validate::{self, Validators},
};
use std::{
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};
use store::{Body, Fields, Parts, Stored, Ticket, fill::Reader, fill::Writer};

/// What a fetch came to.
pub struct Fetched {
    pub landing: Landing,
    /// The status the origin gave, if any.
    pub origin_status: Option<u16>,
    pub origin_time: Duration,
}

/// How the walk goes on.
pub enum Landing {
    /// Answer with this; the pump fills its body. `fresh` where it was stored or freshened for others too.
    Stored {
        stored: Arc<Stored>,
        reader: Option<Reader>,
        pump: Option<Pump>,
        kept: Result<(), Unkept>,
        /// The fields for this request's own client, where they are more than what is stored.
        own: Option<Box<HeaderMap>>,
    },
    /// The origin failed, and this may be sent although it is stale.
    Stale {
        stored: Arc<Stored>,
        why: &'static str,
    },
    /// The origin's answer as it came; `pump` where it is stored on the way.
    Raw {
        head: response::Parts,
        content: Content,
        why: Option<Detail>,
        pump: Option<Pump>,
    },
    /// No answer.
    Failed(Failure),
}

/// What our request asks for.
enum Plan {
    /// The whole representation, on condition where something is stored.
    Whole,
    /// The part the client asks for: nothing is stored that it could be combined with.
    Part,
    /// What is missing of the stored parts.
    Missing(Span),
}

/// One fetch under way.
struct Fetch<'a> {
    worker: &'a Rc<Worker>,
    ask: &'a Rc<Ask>,
    need: &'a Need,
    ticket: Ticket,
    began: Instant,
    times: Times,
}

/// Asks the origin for what `need` says. `writer`: a fill that others follow already; without one, a fill is begun where
/// there is something to store.
pub async fn fetch(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    need: &Need,
    writer: Option<Writer>,
) -> Fetched {
    let now = receive::now();
    let fetch = Fetch {
        worker,
        ask,
        need,
        ticket: worker.cache.memory.begin(ask.key.as_bytes()),
        began: Instant::now(),
        times: Times {
            request: now,
            response: now,
        },
    };
    fetch.run(writer).await
}

impl Fetch<'_> {
    async fn run(mut self, writer: Option<Writer>) -> Fetched {
        let plan = self.plan();
        let answer = self.exchange(&plan, true).await;
        let answer = match answer {
            Ok(response) if self.is_useless(&plan, &response) => {
                self.exchange(&Plan::Whole, false).await
            }
            other => other,
        };
        let origin_time = self.began.elapsed();
        self.worker.counters.count_origin(origin_time);
        self.times.response = receive::now();
        let origin_status = answer
            .as_ref()
            .ok()
            .map(|response| response.status().as_u16());
        let landing = match answer {
            Ok(response) => self.land(&plan, response, writer).await,
            Err(failure) => self.failed(failure),
        };
        Fetched {
            landing,
            origin_status,
            origin_time,
        }
    }

    fn plan(&self) -> Plan {
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
                Some(missing) if missing.last - missing.first < self.largest() => {
                    return Plan::Missing(missing);
                }
                // More than is kept of any body: the request goes as if nothing were stored.
                Some(_) => {}
            }
        }
        let written = self.ask.fields.get(header::RANGE).and_then(range::parse);
        let single = written.is_some_and(|ranges| ranges.len() == 1);
        let parted = selected.is_none_or(|stored| matches!(stored.body, Body::Parts(_)));
        if parted && single && self.ask.method == Method::GET {
            Plan::Part
        } else {
            Plan::Whole
        }
    }

    /// An answer that only makes sense together with something stored that it does not fit: the origin is asked again,
    /// without conditions.
    fn is_useless(&self, plan: &Plan, response: &Response<ResponseBody>) -> bool {
        match response.status() {
            StatusCode::NOT_MODIFIED => self.freshened(response.headers()).is_empty(),
            StatusCode::PARTIAL_CONTENT => match plan {
                Plan::Whole => true,
                Plan::Part => false,
                Plan::Missing(span) => !self.fits(*span, response.headers()),
            },
            StatusCode::RANGE_NOT_SATISFIABLE => matches!(plan, Plan::Missing(_)),
            _ => false,
        }
    }

    /// Whether a 206 holds `span` of the representation whose parts are stored.
    fn fits(&self, span: Span, fields: &HeaderMap) -> bool {
        let Some(stored) = &self.need.selected else {
            return false;
        };
        let range = fields
            .get(header::CONTENT_RANGE)
            .and_then(range::parse_content_range);
        partial::combinable(&stored.fields.unpack(0), fields)
            && range.is_some_and(|range| range.span == span && range.length == stored.body.length())
    }

    async fn exchange(
        &self,
        plan: &Plan,
        conditional: bool,
    ) -> Result<Response<ResponseBody>, Failure> {
        let request = self.request(plan, conditional)?;
        let interim = self.ask.interim.clone();
        let context = origin::Context {
            hash: hash(self.ask.key.as_bytes()),
            interim: Some(Box::new(move |status, fields| interim.send(status, fields))),
            repeatable: true,
        };
        self.ask
            .policy()
            .origin
            .fetch(request, context)
            .await
            .map_err(|error| {
                bump(&self.worker.counters.origin_errors);
                Failure::Origin(Arc::new(error))
            })
    }

    /// HEAD goes out as GET: then both can be answered from what is stored.
    fn request(&self, plan: &Plan, conditional: bool) -> Result<Request<RequestBody>, Failure> {
        let mut fields = outbound::fields(self.ask)?;
        let range = fields.remove(header::RANGE);
        let if_range = fields.remove(header::IF_RANGE);
        validate::remove_conditions(&mut fields);
        match plan {
            Plan::Whole if conditional => {
                self.condition(&mut fields);
            }
            Plan::Whole => {}
            Plan::Part => {
                put(&mut fields, header::RANGE, range);
                put(&mut fields, header::IF_RANGE, if_range);
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
        outbound::bodyless(self.ask, Method::GET, fields)
    }

    /// `If-None-Match` and `If-Modified-Since` from everything at hand.
    fn condition(&self, fields: &mut HeaderMap) {
        if self
            .need
            .selected
            .as_ref()
            .is_some_and(|stored| reader_of(stored).is_some())
        {
            // Its body is still on its way and may yet break off: nothing to build on.
            return;
        }
        let held = self.held();
        let validators: Vec<_> = held.iter().map(Held::validators).collect();
        validate::condition(fields, &validators);
    }

    /// The stored responses that a condition names, the selected one first.
    fn held(&self) -> Vec<Held> {
        self.need
            .selected
            .iter()
            .chain(&self.need.others)
            .map(|stored| Held::new(stored))
            .collect()
    }

    /// Which of them a 304 selects.
    fn freshened(&self, not_modified: &HeaderMap) -> Vec<Held> {
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

    async fn land(
        &self,
        plan: &Plan,
        response: Response<ResponseBody>,
        writer: Option<Writer>,
    ) -> Landing {
        let status = response.status();
        if status == StatusCode::NOT_MODIFIED {
            return self.freshen(response);
        }
        if let Some(stale) = self.stale_instead(status) {
            return stale;
        }
        if status == StatusCode::PARTIAL_CONTENT {
            return match plan {
                Plan::Missing(_) => self.combine(response).await,
                Plan::Part | Plan::Whole => self.part(response, writer),
            };
        }
        self.whole(response, writer)
    }

    /// 304: what it selects is fresh again, with the fields it carries (RFC 9111 section 4.3.4).
    fn freshen(&self, response: Response<ResponseBody>) -> Landing {
        let (head, body) = response.into_parts();
        drop(body);
        let mut answer = None;
        for held in self.freshened(&head.headers) {
            let fresh = self.freshened_one(&held.stored, &head);
            answer.get_or_insert_with(|| fresh.clone());
        }
        match answer {
            Some(stored) => {
                let reader = reader_of(&stored);
                Landing::Stored {
                    stored,
                    reader,
                    pump: None,
                    kept: Ok(()),
                    own: None,
                }
            }
            // A 304 that fits nothing was asked again without conditions: an origin that repeats it is broken.
            None => Landing::Raw {
                head,
                content: Content::Empty,
                why: Some(Detail::NotStored(NotStorable::Status)),
                pump: None,
            },
        }
    }

    fn freshened_one(&self, stored: &Arc<Stored>, head: &response::Parts) -> Arc<Stored> {
        let mut fields = stored.fields.unpack(8);
        validate::freshen(&mut fields, &head.headers);
        let key = self.ask.key.as_bytes();
        let memory = &self.worker.cache.memory;
        match admit::judge(self.ask, &Method::GET, self.times, stored.status, &fields) {
            Ok(storable) => {
                let kept = admit::stored_fields(
                    self.ask,
                    head.version,
                    storable,
                    &fields,
                    self.times.response,
                );
                let marks = admit::marks(self.ask, &fields, self.ticket.began);
                let fresh = Stored::new(
                    stored.status,
                    Fields::pack(&kept),
                    storable.facts,
                    stored.variant.clone(),
                    marks,
                    stored.body.clone(),
                );
                let fresh = Arc::new(fresh);
                if !memory.replace(key, stored.id(), &fresh) {
                    // It was evicted meanwhile, or invalidated: then the ticket refuses it.
                    let _ =
                        memory.insert(key, self.ticket, fresh.clone(), self.ask.site.most_variants);
                }
                self.remember_uncollapsible(&fresh);
                fresh
            }
            Err(_) => {
                // The 304 withdraws the permission to store (`no-store`): it answers this request and is forgotten.
                memory.remove(key, stored.id());
                Arc::new(stored.with_body(stored.body.clone()))
            }
        }
    }

    /// What is stored, where the origin's error may be hidden by it (RFC 5861 section 4).
    fn stale_instead(&self, status: StatusCode) -> Option<Landing> {
        let errors = [
            StatusCode::INTERNAL_SERVER_ERROR,
            StatusCode::BAD_GATEWAY,
            StatusCode::SERVICE_UNAVAILABLE,
            StatusCode::GATEWAY_TIMEOUT,
        ];
        if !errors.contains(&status) {
            return None;
        }
        let stored = usable_on_failure(self.ask, self.need, reuse::Failure::Status)?;
        Some(Landing::Stale {
            stored,
            why: "stale-if-error",
        })
    }

    fn failed(&self, failure: Failure) -> Landing {
        // No head came, for whatever reason: the cache is disconnected (RFC 9111 section 4.2.4).
        match usable_on_failure(self.ask, self.need, reuse::Failure::Unreachable) {
            Some(stored) if matches!(failure, Failure::Origin(_)) => Landing::Stale {
                stored,
                why: failure.detail(),
            },
            _ => Landing::Failed(failure),
        }
    }

    /// Any answer but 206 and 304: it replaces what is stored, or passes.
    fn whole(&self, response: Response<ResponseBody>, writer: Option<Writer>) -> Landing {
        let (head, body) = response.into_parts();
        let largest = self.largest();
        let judged = admit::judge(
            self.ask,
            &Method::GET,
            self.times,
            head.status,
            &head.headers,
        );
        let storable = match judged {
            Ok(storable) => storable,
            Err(why) => return self.raw(head, body, Detail::NotStored(why)),
        };
        let length = body.size_hint().exact();
        if length.is_some_and(|length| length > largest) {
            return self.raw(head, body, Detail::Unkept(Unkept::TooLarge));
        }
        let mut writer = writer.unwrap_or_else(|| begin_fill(self.worker).1);
        writer.announce(length);
        let filling = Body::Filling(writer.fill().clone());
        let stored = admit::new_stored(
            self.ask,
            self.ticket,
            &head,
            storable,
            filling,
            self.times.response,
        );
        let stored = Arc::new(stored);
        let key = self.ask.key.as_bytes();
        let kept = self.worker.cache.memory.insert(
            key,
            self.ticket,
            stored.clone(),
            self.ask.site.most_variants,
        );
        let reader = writer.fill().reader();
        self.remember_uncollapsible(&stored);
        let destination = Destination::Whole {
            key: key.to_vec(),
            stored: stored.clone(),
        };
        let pump = Pump {
            worker: self.worker.clone(),
            body,
            writer,
            destination,
            largest,
        };
        Landing::Stored {
            stored,
            reader,
            pump: Some(pump),
            kept: kept.map_err(|_| Unkept::Invalidated),
            own: admit::own_fields(self.ask, &head, storable),
        }
    }

    fn raw(&self, head: response::Parts, body: ResponseBody, why: Detail) -> Landing {
        let private_reason = matches!(
            &why,
            Detail::NotStored(NotStorable::Authorization | NotStorable::NoStoreRequest)
        );
        if !private_reason {
            self.worker
                .cache
                .hit_for_miss
                .remember(self.ask.key.as_bytes(), self.times.response);
        }
        if let Some(stored) = &self.need.selected
            && head.status.is_success()
        {
            // The origin has something else now that may not be kept: what is kept is out of date.
            self.worker
                .cache
                .memory
                .remove(self.ask.key.as_bytes(), stored.id());
        }
        Landing::Raw {
            head,
            content: Content::Origin(Box::new(body)),
            why: Some(why),
            pump: None,
        }
    }

    /// A 206 for which nothing is stored to combine it with: it passes, and is stored as a part on the way.
    fn part(&self, response: Response<ResponseBody>, writer: Option<Writer>) -> Landing {
        let (head, body) = response.into_parts();
        let judged = admit::judge(
            self.ask,
            &Method::GET,
            self.times,
            head.status,
            &head.headers,
        );
        let range = head
            .headers
            .get(header::CONTENT_RANGE)
            .and_then(range::parse_content_range);
        let (storable, first, length) = match (judged, range) {
            (Ok(storable), Some(range)) => match range.length {
                Some(length) => (storable, range.span.first, length),
                None => return self.raw(head, body, Detail::NotStored(NotStorable::Status)),
            },
            (Err(why), _) => return self.raw(head, body, Detail::NotStored(why)),
            (_, None) => return self.raw(head, body, Detail::NotStored(NotStorable::Status)),
        };
        let mut writer = writer.unwrap_or_else(|| begin_fill(self.worker).1);
        let announced = body.size_hint().exact();
        writer.announce(announced);
        let Some(reader) = writer.fill().reader() else {
            return Landing::Failed(Failure::NoRoom);
        };
        let (ask, ticket, times) = (self.ask.clone(), self.ticket, self.times);
        let kept_head = clone_head(&head);
        let destination = Destination::Then(Box::new(move |worker, body| {
            let bytes = match body {
                Body::Whole(bytes) => bytes,
                Body::Chunks(chunks) => chunks.concat().into(),
                Body::Parts(_) | Body::Filling(_) => return,
            };
            let parts = Parts::new(length, first, bytes);
            let stored = part_stored(&ask, ticket, &kept_head, storable, parts, times);
            let _ = keep_part(worker, &ask, ticket, stored);
        }));
        let pump = Pump {
            worker: self.worker.clone(),
            body,
            writer,
            destination,
            largest: self.largest(),
        };
        Landing::Raw {
            head,
            content: Content::following(reader, announced),
            why: None,
            pump: Some(pump),
        }
    }

    /// A 206 with what was missing: combined with what is stored (RFC 9111 section 3.4).
    async fn combine(&self, response: Response<ResponseBody>) -> Landing {
        let (head, body) = response.into_parts();
        let range = head
            .headers
            .get(header::CONTENT_RANGE)
            .and_then(range::parse_content_range);
        let judged = admit::judge(
            self.ask,
            &Method::GET,
            self.times,
            head.status,
            &head.headers,
        );
        let (storable, first, length) = match (judged, range) {
            (
                Ok(storable),
                Some(range::ContentRange {
                    span,
                    length: Some(length),
                }),
            ) => (storable, span.first, length),
            (Err(why), _) => return self.raw(head, body, Detail::NotStored(why)),
            _ => return self.raw(head, body, Detail::NotStored(NotStorable::Status)),
        };
        let bytes = match collect(self.worker, body, self.largest()).await {
            Ok(bytes) => bytes,
            Err(failure) => return self.failed(failure),
        };
        let parts = Parts::new(length, first, bytes);
        let stored = part_stored(self.ask, self.ticket, &head, storable, parts, self.times);
        let kept = keep_part(self.worker, self.ask, self.ticket, stored);
        match kept {
            Ok(stored) => Landing::Stored {
                stored,
                reader: None,
                pump: None,
                kept: Ok(()),
                own: None,
            },
            Err(stored) => Landing::Stored {
                stored,
                reader: None,
                pump: None,
                kept: Err(Unkept::Invalidated),
                own: None,
            },
        }
    }

    /// Answers that must be validated each time are not worth queueing for.
    fn remember_uncollapsible(&self, stored: &Stored) {
        let table = &self.worker.cache.hit_for_miss;
        let key = self.ask.key.as_bytes();
        let reusable = !stored.facts.no_cache && stored.facts.lifetime_ms > 0;
        if reusable || stored.facts.stale_while_revalidate.is_some() {
            table.forget(key);
        } else {
            table.remember(key, self.times.response);
        }
    }

    fn largest(&self) -> u64 {
        self.ask
            .policy()
            .largest_body
            .min(self.worker.cache.memory.largest_body())
    }
}

/// What is stored, where it may be sent although the origin failed.
pub fn usable_on_failure(ask: &Ask, need: &Need, failure: reuse::Failure) -> Option<Arc<Stored>> {
    let stored = need.selected.as_ref()?;
    let site = reuse_site(ask.policy());
    let complete = matches!(stored.body, Body::Whole(_) | Body::Chunks(_));
    let usable = reuse::on_failure(
        &stored.facts,
        &ask.directives,
        &site,
        failure,
        receive::now(),
    );
    (complete && usable).then(|| stored.clone())
}

/// A stored response with its validators at hand.
struct Held {
    stored: Arc<Stored>,
    etag: Option<HeaderValue>,
    last_modified: Option<HeaderValue>,
}

impl Held {
    fn new(stored: &Arc<Stored>) -> Self {
        Self {
            stored: stored.clone(),
            etag: stored.fields.get(&header::ETAG),
            last_modified: stored.fields.get(&header::LAST_MODIFIED),
        }
    }

    fn validators(&self) -> Validators<'_> {
        Validators {
            etag: self.etag.as_ref(),
            last_modified: self.last_modified.as_ref(),
            date: self.stored.facts.date,
        }
    }
}

/// Parts as a stored response.
fn part_stored(
    ask: &Ask,
    ticket: Ticket,
    head: &response::Parts,
    storable: rules::storable::Storable,
    parts: Parts,
    times: Times,
) -> Stored {
    let mut head = clone_head(head);
    // What is kept is the representation, as far as it is known.
    head.status = StatusCode::OK;
    head.headers.remove(header::CONTENT_RANGE);
    head.headers.remove(header::CONTENT_LENGTH);
    admit::new_stored(
        ask,
        ticket,
        &head,
        storable,
        Body::Parts(Arc::new(parts)),
        times.response,
    )
}

/// Stores parts beside, or combined with, what is there of the same representation. `Err`: not kept, but to be sent.
fn keep_part(
    worker: &Worker,
    ask: &Ask,
    ticket: Ticket,
    new: Stored,
) -> Result<Arc<Stored>, Arc<Stored>> {
    let mut scratch = Vec::new();
    let fallback = Arc::new(new.clone());
    let kept = worker.cache.memory.combine(
        ask.key.as_bytes(),
        ticket,
        ask.site.most_variants,
        |variants| {
            let old = variants.and_then(|variants| variants.select(&ask.fields, &mut scratch));
            Arc::new(old.and_then(|old| combined(old, &new)).unwrap_or(new))
        },
    );
    kept.map_err(|_| fallback)
}

/// `new` over the bytes of `old`, where both are parts of one representation; a complete one becomes an ordinary 200.
fn combined(old: &Stored, new: &Stored) -> Option<Stored> {
    if !partial::combinable(&old.fields.unpack(0), &new.fields.unpack(0)) {
        return None;
    }
    let Body::Parts(newer) = &new.body else {
        return None;
    };
    let parts = match &old.body {
        Body::Parts(older) => older.combined(newer),
        // The whole is there already.
        Body::Whole(_) | Body::Chunks(_) => return Some(old.clone()),
        Body::Filling(_) => return None,
    };
    let body = parts
        .whole()
        .unwrap_or_else(|| Body::Parts(Arc::new(parts)));
    Some(new.with_body(body))
}

/// Reads a whole body into memory, within the budget and `largest`.
async fn collect(
    worker: &Worker,
    body: ResponseBody,
    largest: u64,
) -> Result<bytes::Bytes, Failure> {
    use http_body_util::BodyExt;
    let mut reservation = worker.cache.memory.budget().reservation();
    let mut body = body;
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Failure::Origin(Arc::new(error)))?;
        if let Ok(data) = frame.into_data() {
            if all.len() as u64 + data.len() as u64 > largest
                || !reservation.grow(data.len() as u64)
            {
                return Err(Failure::NoRoom);
            }
            all.extend_from_slice(&data);
        }
    }
    Ok(all.into())
}

/// A reader where the body is still on its way.
pub fn reader_of(stored: &Stored) -> Option<Reader> {
    match &stored.body {
        Body::Filling(fill) => fill.reader(),
        Body::Whole(_) | Body::Chunks(_) | Body::Parts(_) => None,
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
        date: ask.now,
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

/// Feeds consistent hashing: the same key, the same number, on every node.
pub fn hash(key: &[u8]) -> u64 {
    // FNV-1a: stable over processes and nodes, and not a defence against anything.
    key.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
