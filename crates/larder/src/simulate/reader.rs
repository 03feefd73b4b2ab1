//! From lines to events: each line is put to the walk's own functions.

use super::{
    counts::Totals,
    event::{Batch, Event, Judged, Kept},
    log::{Answered, Line},
    plan::Plan,
    urls::{Url, Urls},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use proxy::{
    listen::Connection,
    replay::{self, Asked, Replay},
};
use rules::{storable::NotStorable, time::Time};
use std::{
    borrow::Cow,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    rc::Rc,
    sync::Arc,
    time::Duration,
};
use store::{model, purge::Address};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Events that go out together.
const BATCH: usize = 4096;

/// Bytes of fields that a stored response is taken to have, beyond those that the log tells.
const FIELDS: usize = 400;

/// How far back a line's time may lie before it counts as out of order: servers write a line when the answer has ended.
const OUT_OF_ORDER: Duration = Duration::from_mins(1);

/// What is taken for granted where the log does not say it.
#[derive(Clone, Debug)]
pub struct Assumptions {
    /// The host of requests.
    pub host: String,
}

/// Turns lines into events.
pub struct Reader {
    replays: Vec<Replay>,
    base: usize,
    assumptions: Assumptions,
    pub(super) totals: Totals,
    pub(super) urls: Urls,
    batch: Batch,
    number: u64,
    clock: Time,
    most_urls: usize,
    /// Sum and number of the bodies that were told, for those that were not.
    bodies: (u64, u64),
}

/// What a line says of an answer, as the walk wants it.
struct Answer {
    status: StatusCode,
    fields: HeaderMap,
    sent: u64,
    /// The length of the body, where the line tells it.
    body: Option<u64>,
    /// How long the origin took, where the line tells it.
    took: Option<Duration>,
    is_get: bool,
}

impl Reader {
    /// A reader for what is planned.
    pub fn new(plan: &Plan, assumptions: Assumptions) -> Self {
        let sites = plan.lifetimes.iter();
        Self {
            replays: sites
                .map(|lifetime| Replay::new(lifetime.site.clone()))
                .collect(),
            base: plan.lifetime,
            assumptions,
            totals: Totals::default(),
            urls: Urls::default(),
            batch: Batch {
                one_in: 1,
                ..Batch::default()
            },
            number: 0,
            clock: Time::default(),
            most_urls: plan.most_urls,
            bodies: (0, 0),
        }
    }

    /// Takes a line in.
    pub fn take(&mut self, mut line: Line<'_>) {
        if line.answered == Some(Answered::Itself) {
            self.totals.own += 1;
            return;
        }
        let now = self.now(line.time.unwrap_or(self.clock));
        let answer = self.answer(&mut line);
        let asked = match self.receive(line, now) {
            Ok(asked) => asked,
            Err(why) => {
                let refused = self.totals.refused.entry(why.0).or_default();
                refused.add(answer.sent, 0, || why.1);
                return;
            }
        };
        self.totals.requests += 1;
        self.totals.sent = self.totals.sent.saturating_add(answer.sent);
        self.number += 1;
        self.count(asked, &answer);
    }

    /// Events that are ready to go out; all of them at the `end`.
    pub(super) fn batch(&mut self, end: bool) -> Option<Batch> {
        if self.batch.events.is_empty() || (!end && self.batch.events.len() < BATCH) {
            return None;
        }
        let batch = std::mem::take(&mut self.batch);
        self.urls.thin(self.most_urls);
        self.batch.one_in = self.urls.one_in();
        Some(batch)
    }

    /// The clock never goes back: a line that is late counts as now.
    fn now(&mut self, told: Time) -> Time {
        if self.clock.since(told) > OUT_OF_ORDER {
            self.totals.out_of_order += 1;
        }
        self.clock = self.clock.max(told);
        self.totals.first.get_or_insert(told);
        self.totals.last = Some(self.clock);
        self.totals.notes.with_fractions |= !told.as_millis().is_multiple_of(1000);
        self.clock
    }

    /// The answer as far as the line tells of it.
    fn answer(&mut self, line: &mut Line<'_>) -> Answer {
        let notes = &mut self.totals.notes;
        let mut fields = std::mem::take(&mut line.response);
        notes.with_directives += u64::from(
            fields.contains_key(header::CACHE_CONTROL) || fields.contains_key(header::EXPIRES),
        );
        if let Some(reason) = &line.reason {
            notes.with_reasons += u64::from(explain(reason, &mut fields, &mut line.request));
        }
        let told = line.status.unwrap_or_default();
        let sent = line
            .bytes
            .or_else(|| Some(line.all_bytes?.saturating_sub(FIELDS as u64)));
        let (is_get, is_head) = match line.method.as_deref() {
            Some(method) => (method == b"GET", method == b"HEAD"),
            None => (false, false),
        };
        let (status, body) = match told {
            // The client's condition stays with us: the origin would have been asked for the whole.
            304 => {
                notes.not_modified += 1;
                (200, None)
            }
            206 => {
                notes.parts += 1;
                // Which part it was the log does not say.
                fields.remove(header::CONTENT_RANGE);
                (206, sent)
            }
            // The client left; what the answer would have been is not known.
            0 | 499 => {
                notes.unfinished += 1;
                (499, None)
            }
            status => (status, sent.filter(|_| !is_head)),
        };
        let from_origin = line.answered != Some(Answered::FromStore);
        let took = line.origin_time.or(line.took.filter(|_| from_origin));
        Answer {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::OK),
            fields,
            sent: sent.unwrap_or_default(),
            body,
            took,
            is_get,
        }
    }

    /// The request as the server would have received it; or why it would have refused it, and what it was.
    fn receive(&mut self, line: Line<'_>, now: Time) -> Result<Asked, (&'static str, String)> {
        let target = match (line.target.unwrap_or_default(), line.query) {
            (target, Some(query)) if !target.contains(&b'?') => {
                let mark: &[u8] = if query.starts_with(b"?") { b"" } else { b"?" };
                Cow::Owned([&target, mark, &query].concat())
            }
            (target, _) => target,
        };
        let refused = |why| {
            (
                why,
                String::from_utf8_lossy(&target).chars().take(200).collect(),
            )
        };
        let method = Method::from_bytes(&line.method.unwrap_or_default())
            .map_err(|_| refused("bad-request"))?;
        let uri = Uri::try_from(&*target).map_err(|_| refused("bad-request"))?;
        let mut request = Request::new(());
        *request.method_mut() = method;
        let mut fields = line.request;
        if uri.authority().is_none() && !fields.contains_key(header::HOST) {
            let host = line.host.unwrap_or_else(|| {
                self.totals.notes.without_host += 1;
                Cow::Borrowed(self.assumptions.host.as_bytes())
            });
            let host = HeaderValue::from_bytes(&host).map_err(|_| refused("bad-host"))?;
            fields.insert(header::HOST, host);
        }
        *request.uri_mut() = uri;
        *request.headers_mut() = fields;
        // An address that nobody trusts stands for one that is not told.
        let client = line.client.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let connection = Rc::new(Connection {
            peer: Some(SocketAddr::new(client, 0)),
            peer_asks: true,
            local: None,
            // Where nothing is told it is the same for all, and no redirect to HTTPS stands in the way.
            tls: line.tls.unwrap_or(true),
            splices: None,
        });
        let base = self
            .replays
            .get(self.base)
            .ok_or_else(|| refused("internal"))?;
        base.receive(request, &connection, now).map_err(refused)
    }

    /// Counts a request, and makes an event of it if its URL is followed and the store would have been asked.
    fn count(&mut self, mut asked: Asked, answer: &Answer) {
        let address = Address::of(asked.key());
        let url = xxh3_64_with_seed(address.target.as_bytes(), xxh3_64(address.host.as_bytes()));
        let followed = self.urls.follows(url);
        if followed {
            let known = self.urls.all.entry(url).or_insert_with(|| Url {
                text: address.url().into(),
                ..Url::default()
            });
            known.requests += 1;
            if answer.status == StatusCode::OK && answer.is_get {
                known.body = answer.body.or(known.body);
            }
            known.took = answer.took.map(micros).or(known.took);
        }
        let (body, took) = self.fetched(url, answer);
        self.totals.origin.add(body, took, 1);
        self.invalidate(&asked, answer);
        if let Some(why) = asked.bypass() {
            let group = self.totals.bypassed.entry(why.token()).or_default();
            group.add(body, took, || asked.uri());
            if let Some(known) = self.urls.all.get_mut(&url) {
                known.passed.add(body, took, 1);
                known.unstored = Some(why.token());
            }
            return;
        }
        self.totals.asked += 1;
        self.totals.asked_sent = self.totals.asked_sent.saturating_add(answer.sent);
        self.ask(&mut asked, answer, url, (body, took), followed);
    }

    /// The store is asked: would the answer be stored?
    fn ask(
        &mut self,
        asked: &mut Asked,
        answer: &Answer,
        url: u64,
        (body, took): (u64, u64),
        followed: bool,
    ) {
        // Requests of one second come in no order: whether one waited for the other cannot be told.
        let wait = if self.totals.notes.with_fractions {
            took
        } else {
            0
        };
        let wait = Duration::from_micros(wait);
        let judge = |replay: &Replay, asked: &mut Asked| {
            replay.judge(asked, answer.status, &answer.fields, wait)
        };
        let base = self.replays.get(self.base);
        let base = base.map(|replay| judge(replay, asked));
        if let Some(Err(why)) = base {
            let group = self.totals.unstored.entry(why.token()).or_default();
            group.add(body, took, || asked.uri());
            if let Some(known) = self.urls.all.get_mut(&url) {
                known.unstored = Some(why.token());
            }
        }
        if !followed {
            return;
        }
        let told = answer.fields.iter();
        let told: usize = told
            .map(|(name, value)| name.as_str().len() + value.len())
            .sum();
        let weight = model::weight(asked.key().len(), FIELDS + told, body);
        let largest = asked.largest_body();
        let (number, at) = (self.number, self.clock);
        let kept = |facts| Kept {
            facts,
            url,
            asked: at,
            number,
            weight,
            body,
            largest,
        };
        for (index, replay) in self.replays.iter().enumerate() {
            let judged = match base {
                Some(judged) if index == self.base => judged,
                _ => judge(replay, asked),
            };
            self.batch.judged.push(match judged {
                Ok(storable) => Judged::Stored(Arc::new(kept(storable.facts))),
                Err(why) => Judged::Not {
                    withdraws: withdraws(answer.status, why),
                },
            });
        }
        self.event(asked, answer, url, (body, took));
    }

    fn event(&mut self, asked: &Asked, answer: &Answer, url: u64, (body, took): (u64, u64)) {
        let key = match asked.variant(&answer.fields) {
            Some(variant) => xxh3_64_with_seed(asked.key(), xxh3_64(&variant.key)),
            None => xxh3_64(asked.key()),
        };
        let known = self.urls.all.get(&url);
        self.batch.events.push(Event {
            key,
            url,
            now: self.clock,
            sent: answer.sent,
            body,
            took,
            invalid_before: known.map_or(0, |known| known.invalid_before),
            directives: asked.directives().clone(),
            site: asked.reuse(),
            failed: replay::is_failure(answer.status),
        });
    }

    /// What a fetch brings and takes: as told, as it was last time, or as it is on average.
    fn fetched(&mut self, url: u64, answer: &Answer) -> (u64, u64) {
        let known = self.urls.all.get(&url);
        let (sum, count) = self.bodies;
        if let Some(body) = answer.body {
            self.bodies = (sum.saturating_add(body), count + 1);
        }
        let body = answer.body.or_else(|| known?.body).unwrap_or_else(|| {
            self.totals.notes.without_length += 1;
            sum.checked_div(count).unwrap_or_default()
        });
        let notes = &mut self.totals.notes;
        let took = match (answer.took.map(micros), known.and_then(|known| known.took)) {
            (Some(took), _) => {
                notes.with_origin_time += 1;
                took
            }
            (None, last) => {
                notes.without_origin_time += 1;
                let mean = self
                    .totals
                    .origin
                    .micros
                    .checked_div(self.totals.origin.fetches);
                last.or(mean).unwrap_or_default()
            }
        };
        (body, took)
    }

    /// An unsafe method's success makes invalid what is kept (RFC 9111 section 4.4).
    fn invalidate(&mut self, asked: &Asked, answer: &Answer) {
        for key in asked.invalidated(answer.status, &answer.fields) {
            let address = Address::of(&key);
            let url =
                xxh3_64_with_seed(address.target.as_bytes(), xxh3_64(address.host.as_bytes()));
            if let Some(known) = self.urls.all.get_mut(&url) {
                known.invalid_before = self.number;
            }
        }
    }
}

/// Whether an answer that is not stored takes away what is. A part says nothing of what is kept of the whole.
fn withdraws(status: StatusCode, why: NotStorable) -> bool {
    let is_part = status == StatusCode::PARTIAL_CONTENT && why == NotStorable::Status;
    replay::withdraws(status, why) && !is_part
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Makes up what Larder's log says in one word why an answer was not stored. Whether it was a word for something that can be
/// made up.
fn explain(reason: &[u8], response: &mut HeaderMap, request: &mut HeaderMap) -> bool {
    let is = |why: NotStorable| why.token().as_bytes() == reason;
    let set = |fields: &mut HeaderMap, name: HeaderName, value| {
        fields
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    };
    if is(NotStorable::NoStore) {
        set(response, header::CACHE_CONTROL, "no-store");
    } else if is(NotStorable::Private) {
        set(response, header::CACHE_CONTROL, "private");
    } else if is(NotStorable::SetCookie) {
        set(response, header::SET_COOKIE, "told=1");
    } else if is(NotStorable::VaryStar) {
        set(response, header::VARY, "*");
    } else if is(NotStorable::Authorization) {
        set(request, header::AUTHORIZATION, "Basic");
    } else if is(NotStorable::NoStoreRequest) {
        set(request, header::CACHE_CONTROL, "no-store");
    } else {
        return false;
    }
    true
}
