//! From lines to events: each line is put to the walk's own functions.

use super::{
    answer::{Answer, FIELDS, micros, not_stored},
    clock::Clock,
    counts::Totals,
    event::{Batch, Event, Judged, Kept},
    log::{Answered, Line},
    plan::Plan,
    urls::Urls,
};
use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use proxy::{
    listen::Connection,
    outcome::Bypass,
    replay::{Asked, Received, Replay},
};
use rules::{
    storable::{NotStorable, Storable},
    time::Time,
};
use std::{
    borrow::Cow,
    cell::OnceCell,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    rc::Rc,
    sync::Arc,
    time::Duration,
};
use store::{model, purge::Address};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Events that go out together.
const BATCH: usize = 4096;

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
    clock: Clock,
    judged: Vec<Result<Storable, NotStorable>>,
    /// Sum and number of the bodies that were told, for those that were not.
    bodies: (u64, u64),
}

/// Why a request goes no further.
enum Left {
    /// The server sends it to HTTPS.
    Redirected,
    /// The server refuses it; why, and what it was.
    Refused(&'static str, String),
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
            totals: Totals::new(plan.lifetimes.len()),
            urls: Urls::new(plan.most_urls),
            batch: Batch::default(),
            number: 0,
            clock: Clock::default(),
            judged: Vec::new(),
            bodies: (0, 0),
        }
    }

    /// Takes a line in.
    pub fn take(&mut self, mut line: Line<'_>) {
        if line.answered == Some(Answered::Itself) {
            self.totals.own += 1;
            return;
        }
        let told = line.time.unwrap_or(self.clock.now);
        let now = self.clock.at(told, &mut self.totals);
        let answer = Answer::of(&mut line, &mut self.totals.notes);
        let asked = match self.receive(line, now) {
            Ok(asked) => asked,
            Err(Left::Redirected) => {
                self.totals.own += 1;
                return;
            }
            Err(Left::Refused(why, example)) => {
                let refused = self.totals.refused.entry(why).or_default();
                refused.add(answer.sent, 0, || example);
                return;
            }
        };
        self.totals.requests += 1;
        self.totals.sent = self.totals.sent.saturating_add(answer.sent);
        self.number += 1;
        self.count(asked, &answer);
    }

    /// Events that are ready to go out; all of them at the `end`. Called after each line, since it keeps memory bounded too.
    pub(super) fn batch(&mut self, end: bool) -> Option<Batch> {
        let is_too_much = self.urls.are_too_many();
        if !end && !is_too_much && self.batch.events.len() < BATCH {
            return None;
        }
        let batch = std::mem::take(&mut self.batch);
        if is_too_much {
            self.urls.thin();
        }
        self.batch.sampled = self.urls.sampled();
        (!batch.events.is_empty()).then_some(batch)
    }

    /// The request as the server would have received it.
    fn receive(&mut self, line: Line<'_>, now: Time) -> Result<Asked, Left> {
        let target = match (line.target.unwrap_or_default(), line.query) {
            (target, Some(query)) if !target.contains(&b'?') => {
                let mark: &[u8] = if query.starts_with(b"?") { b"" } else { b"?" };
                Cow::Owned([&target, mark, &query].concat())
            }
            (target, _) => target,
        };
        let refused = |why| {
            let target = String::from_utf8_lossy(&target);
            Left::Refused(why, target.chars().take(200).collect())
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
            text: OnceCell::new(),
        });
        let base = self
            .replays
            .get(self.base)
            .ok_or_else(|| refused("internal"))?;
        match base.receive(request, &connection, now) {
            Received::Asked(asked) => Ok(asked),
            Received::Redirected => Err(Left::Redirected),
            Received::Refused(why) => Err(refused(why)),
        }
    }

    /// Counts a request, and makes an event of it if its URL is followed and the store would have been asked.
    fn count(&mut self, mut asked: Asked, answer: &Answer) {
        let address = Address::of(asked.key());
        let url = xxh3_64_with_seed(address.target.as_bytes(), xxh3_64(address.host.as_bytes()));
        if let Some(known) = self.urls.of(url, || address.url()) {
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
        self.totals.notes.by_group += u64::from(asked.is_by_group());
        self.totals.asked_sent = self.totals.asked_sent.saturating_add(answer.sent);
        self.ask(&mut asked, answer, url, (body, took));
    }

    /// The store is asked: would the answer be stored?
    fn ask(&mut self, asked: &mut Asked, answer: &Answer, url: u64, (body, took): (u64, u64)) {
        // Requests of one second come in no order: whether one waited for the other cannot be told.
        let wait = if self.totals.notes.with_fractions {
            took
        } else {
            0
        };
        let wait = Duration::from_micros(wait);
        self.judged.clear();
        for replay in &self.replays {
            let judged = replay.judge(asked, answer.status, &answer.fields, wait);
            self.judged.push(judged);
        }
        self.count_unfilled(asked, answer, url, (body, took));
        let page = xxh3_64(asked.key());
        let key = match asked.variant(&answer.fields) {
            Some(variant) => xxh3_64_with_seed(asked.key(), xxh3_64(&variant.key)),
            None => page,
        };
        if !self.urls.follows(url, key) {
            return;
        }
        let told = answer.fields.iter();
        let told: usize = told
            .map(|(name, value)| name.as_str().len() + value.len())
            .sum();
        let weight = model::weight(asked.key().len(), FIELDS + told, body);
        let largest = asked.largest_body();
        let (number, at) = (self.number, self.clock.now);
        let kept = |facts| Kept {
            facts,
            url,
            number,
            weight,
            body,
            largest,
        };
        let judged = self.judged.drain(..).map(|judged| match judged {
            Ok(storable) => Judged::Stored(Arc::new(kept(storable.facts))),
            Err(why) => not_stored(answer.status, why),
        });
        self.batch.judged.extend(judged);
        let known = self.urls.all.get(&url);
        self.batch.events.push(Event {
            key,
            page,
            url,
            now: at,
            landed: at.plus(wait),
            sent: answer.sent,
            body,
            took,
            invalid_before: known.map_or(0, |known| known.invalid_before),
            directives: asked.directives().clone(),
            site: asked.reuse(),
            needs: asked.needs(),
            status: answer.status,
        });
    }

    /// Counts a request whose answer does not fill the store, whether its URL is followed or not: one URL may be asked for as
    /// often as all others together.
    fn count_unfilled(
        &mut self,
        asked: &Asked,
        answer: &Answer,
        url: u64,
        (body, took): (u64, u64),
    ) {
        let totals = &mut self.totals;
        let why = if asked.needs().stores_nothing {
            if totals.apart.requests == 0 {
                totals.apart_example = asked.uri();
            }
            totals.apart.add(answer.sent, body, took);
            Some(Bypass::Cookie.token())
        } else {
            for (unstored, judged) in totals.unfilled.iter_mut().zip(&self.judged) {
                if judged.is_err() {
                    unstored.add(answer.sent, body, took);
                }
            }
            let base = self.judged.get(self.base);
            base.and_then(|judged| judged.err()).map(|why| {
                let group = totals.unstored.entry(why.token()).or_default();
                group.add(body, took, || asked.uri());
                why.token()
            })
        };
        if let (Some(known), Some(why)) = (self.urls.all.get_mut(&url), why) {
            known.unstored = Some(why);
        }
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
