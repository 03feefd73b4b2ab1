//! One simulation: a size, a lifetime, a rule, and what came of it.

use super::{
    event::{Batch, Event, Judged, Kept},
    keep::{Held, Keep},
    plan::Eviction,
    urls::{ByHash, Cost, is_followed},
};
use rules::reuse::{self, Failure, StaleReason, Verdict};
use std::sync::Arc;
use store::model;

/// What a simulation is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// Bytes of memory; `None`: as many as it takes.
    pub memory: Option<u64>,
    /// Index of the lifetime.
    pub lifetime: usize,
    pub eviction: Eviction,
}

/// What came of it. Where one URL in so many is followed, each event counts as often.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Stale hits, those that hide a failure among them.
    pub stale: u64,
    /// Requests that waited for another's fetch.
    pub collapsed: u64,
    /// Requests that had to be forwarded, whose answers came from the origin.
    pub forwarded: u64,
    /// Bytes of answers to them and to those that waited for them.
    pub forwarded_bytes: u64,
    /// What the origin did: for them, and behind stale hits.
    pub origin: Cost,
    /// `only-if-cached`, and nothing was.
    pub unanswered: u64,
    /// Answers not stored because of their size.
    pub too_large: u64,
    pub evictions: u64,
    /// The most that what is kept weighed.
    pub peak: u64,
}

/// One simulation under way.
pub(super) struct Simulation {
    pub setting: Setting,
    pub tally: Tally,
    /// What each URL costs; in one simulation of them all.
    pub by_url: Option<ByHash<Cost>>,
    keep: Keep,
    largest: u64,
    one_in: u64,
}

impl Simulation {
    pub(super) fn new(setting: Setting, tells_urls: bool) -> Self {
        Self {
            setting,
            tally: Tally::default(),
            by_url: tells_urls.then(ByHash::default),
            keep: Keep::new(setting.eviction, setting.memory),
            largest: setting.memory.map_or(u64::MAX, model::largest_body),
            one_in: 1,
        }
    }

    /// Goes through a batch.
    pub(super) fn take(&mut self, batch: &Batch, lifetimes: usize) {
        if batch.one_in != self.one_in {
            self.one_in = batch.one_in;
            self.thin();
        }
        for (event, judged) in batch.under(self.setting.lifetime, lifetimes) {
            self.ask(event, judged);
        }
        // Often enough: a batch is small beside what is kept.
        self.tally.peak = self.tally.peak.max(self.keep.weight() * self.one_in);
        self.tally.evictions = self.keep.evictions() * self.one_in;
    }

    fn thin(&mut self) {
        let (one_in, halvings) = (self.one_in, self.one_in.trailing_zeros());
        self.keep
            .thin(one_in, |held| is_followed(held.kept.url, halvings));
        if let Some(by_url) = &mut self.by_url {
            by_url.retain(|url, _| is_followed(*url, halvings));
        }
    }

    /// Lookup, as the walk does it, over what this simulation keeps.
    fn ask(&mut self, event: &Event, judged: &Judged) {
        let found = self.keep.get(event.key);
        let found = found.filter(|held| held.kept.number >= event.invalid_before);
        let Some(held) = found else {
            return self.forward(event, judged, None);
        };
        let kept = &held.kept;
        if event.now < kept.facts.response_time && event.now >= kept.asked {
            // It is on its way.
            return self.wait(event, &held);
        }
        match reuse::judge(&kept.facts, &event.directives, &event.site, event.now) {
            Verdict::Fresh(_) => {}
            Verdict::Stale(StaleReason::MaxStale) => self.tally.stale += self.one_in,
            Verdict::Stale(StaleReason::WhileRevalidate) => {
                self.tally.stale += self.one_in;
                self.fetch(event, judged, Some(kept), true);
            }
            Verdict::Validate(_) => self.forward(event, judged, Some(kept)),
        }
    }

    fn wait(&mut self, event: &Event, held: &Held) {
        if held.refreshed {
            self.tally.stale += self.one_in;
        } else {
            self.tally.collapsed += self.one_in;
            self.send(event);
        }
    }

    fn forward(&mut self, event: &Event, judged: &Judged, found: Option<&Arc<Kept>>) {
        if event.directives.only_if_cached {
            self.tally.unanswered += self.one_in;
            return;
        }
        let hides = event.failed
            && found.is_some_and(|kept| {
                let (facts, directives) = (&kept.facts, &event.directives);
                reuse::on_failure(facts, directives, &event.site, Failure::Status, event.now)
            });
        if hides {
            self.tally.stale += self.one_in;
            self.cost(event);
            return;
        }
        self.tally.forwarded += self.one_in;
        self.send(event);
        self.fetch(event, judged, found, false);
    }

    /// Asks the origin, and keeps what it says.
    fn fetch(
        &mut self,
        event: &Event,
        judged: &Judged,
        found: Option<&Arc<Kept>>,
        refreshed: bool,
    ) {
        self.cost(event);
        match judged {
            Judged::Stored(kept) if kept.body <= self.largest.min(kept.largest) => {
                let kept = kept.clone();
                self.keep.insert(event.key, Held { kept, refreshed });
            }
            Judged::Stored(_) => {
                self.tally.too_large += self.one_in;
                if found.is_some() {
                    self.keep.remove(event.key);
                }
            }
            Judged::Not { withdraws: true } if found.is_some() => self.keep.remove(event.key),
            Judged::Not { .. } => {}
        }
    }

    /// Bytes that come from the origin.
    fn send(&mut self, event: &Event) {
        let bytes = event.sent.saturating_mul(self.one_in);
        self.tally.forwarded_bytes = self.tally.forwarded_bytes.saturating_add(bytes);
    }

    fn cost(&mut self, event: &Event) {
        self.tally.origin.add(event.body, event.took, self.one_in);
        if let Some(by_url) = &mut self.by_url {
            by_url
                .entry(event.url)
                .or_default()
                .add(event.body, event.took, 1);
        }
    }
}
