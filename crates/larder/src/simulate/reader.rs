//! Turns lines into events: calls the walk's own functions for each line.

mod ask;
mod receive;

use super::{
    answer::{Answer, micros},
    clock::Clock,
    counts::Totals,
    event::Batch,
    log::{Answered, Line},
    plan::Plan,
    urls::{Fetch, Urls},
};
use http::StatusCode;
use proxy::{
    listen::Limits,
    replay::{Replay, ReplayedRequest},
};
use receive::Left;
use rules::storable::{NotStorable, Storable};
use store::purge::Address;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The number of events that are sent together.
const BATCH: usize = 4096;

/// What is assumed if the log does not say it.
#[derive(Clone, Debug)]
pub struct Assumptions {
    /// The host of requests.
    pub host: String,
}

/// Turns lines into events.
pub struct Reader {
    replays: Vec<Replay>,
    base: usize,
    limits: Limits,
    assumptions: Assumptions,
    pub(super) totals: Totals,
    pub(super) urls: Urls,
    batch: Batch,
    number: u64,
    clock: Clock,
    judged: Vec<Result<Storable, NotStorable>>,
    /// Sum and number of the known body lengths, for answers without one.
    bodies: (u64, u64),
}

impl Reader {
    /// A reader for `plan`.
    pub fn new(plan: &Plan, assumptions: Assumptions) -> Self {
        let sites = plan.lifetimes.iter();
        Self {
            replays: sites
                .map(|lifetime| Replay::new(lifetime.site.clone()))
                .collect(),
            base: plan.lifetime,
            limits: plan.limits.clone(),
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

    /// Reads a line.
    pub fn take(&mut self, mut line: Line<'_>) {
        if line.answered == Some(Answered::Itself) {
            self.totals.own += 1;
            return;
        }
        let told = line.time.unwrap_or(self.clock.now);
        let now = self.clock.at(told, &mut self.totals);
        let mut answer = Answer::of(&mut line, &mut self.totals.notes);
        let asked = match self.receive(line, now) {
            Ok(asked) => asked,
            Err(Left::Redirected) => {
                self.totals.own += 1;
                return;
            }
            Err(Left::Refused(why, example)) => {
                let refused = self.totals.refused.entry(why).or_default();
                let sent = Fetch {
                    body: answer.sent,
                    took: 0,
                };
                refused.add(sent, || example);
                return;
            }
        };
        answer.assume_type(asked.usual_type(), &mut self.totals.notes);
        self.totals.requests += 1;
        self.totals.sent = self.totals.sent.saturating_add(answer.sent);
        self.number += 1;
        self.count(asked, &answer);
    }

    /// Returns events, once there are enough of them to be sent. Called after each line, since it also keeps memory
    /// bounded.
    pub(super) fn full_batch(&mut self) -> Option<Batch> {
        if !self.urls.are_too_many() && self.batch.events.len() < BATCH {
            return None;
        }
        self.rest()
    }

    /// Returns the events that have not been sent.
    pub(super) fn rest(&mut self) -> Option<Batch> {
        let is_too_much = self.urls.are_too_many();
        let batch = std::mem::take(&mut self.batch);
        if is_too_much {
            self.urls.thin();
        }
        self.batch.sampled = self.urls.sampled();
        (!batch.events.is_empty()).then_some(batch)
    }

    /// Counts a request, and makes it an event if its URL is followed and the store would have been asked.
    fn count(&mut self, mut asked: ReplayedRequest, answer: &Answer) {
        let address = Address::of(asked.key());
        let url = url(&address);
        if let Some(known) = self.urls.of(url, || address.url()) {
            known.requests += 1;
            if answer.status == StatusCode::OK && answer.is_get {
                known.body = answer.body.or(known.body);
            }
            known.took = answer.took.map(micros).or(known.took);
        }
        let fetch = self.fetched(url, answer);
        self.totals.origin.add(fetch, 1);
        self.invalidate(&asked, answer);
        if let Some(why) = asked.bypass() {
            let group = self.totals.bypassed.entry(why.token()).or_default();
            group.add(fetch, || asked.uri());
            if let Some(known) = self.urls.all.get_mut(&url) {
                known.passed.add(fetch, 1);
                known.unstored = Some(why.token());
            }
            return;
        }
        self.totals.asked += 1;
        self.totals.notes.by_group += u64::from(asked.is_by_group());
        self.totals.asked_sent = self.totals.asked_sent.saturating_add(answer.sent);
        self.ask(&mut asked, answer, url, fetch);
    }

    /// Returns what a fetch costs: from the line, from the last time, or the average.
    fn fetched(&mut self, url: u64, answer: &Answer) -> Fetch {
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
        Fetch { body, took }
    }

    /// Invalidates what is kept after an unsafe method succeeded (RFC 9111 section 4.4).
    fn invalidate(&mut self, asked: &ReplayedRequest, answer: &Answer) {
        for key in asked.invalidated(answer.status, &answer.fields) {
            if let Some(known) = self.urls.all.get_mut(&url(&Address::of(&key))) {
                known.invalid_before = self.number;
            }
        }
    }
}

/// Returns the number by which a URL is followed.
fn url(address: &Address<'_>) -> u64 {
    xxh3_64_with_seed(address.target.as_bytes(), xxh3_64(address.host.as_bytes()))
}
