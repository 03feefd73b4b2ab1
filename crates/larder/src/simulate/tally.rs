//! One simulation: a size, a lifetime, a rule, and what came of it.

use super::{
    counts::Sum,
    event::{Batch, Event, Judged, Kept},
    keep::{Held, Keep},
    plan::Eviction,
    urls::{ByHash, Cost, Sampled},
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
    /// Requests whose answers are stored, and were not answered from there.
    pub missed: Sum,
    /// Requests whose answers are not stored.
    pub unfilled: Unfilled,
    /// Requests that the site does not let fill the store.
    pub apart: Unfilled,
    /// Answers not stored because of their size.
    pub too_large: u64,
    pub evictions: u64,
    /// The most that what is kept weighed.
    pub peak: u64,
}

/// Requests that do not fill the store, and those of them that it did not answer. Their share is what counts: how many there
/// are in all is known ([`Totals`](super::counts::Totals)).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unfilled {
    pub asked: Sum,
    pub missed: Sum,
}

/// One simulation under way.
pub(super) struct Simulation {
    pub setting: Setting,
    pub tally: Tally,
    /// What each URL costs; in one simulation of them all.
    pub by_url: Option<ByHash<Cost>>,
    keep: Keep,
    largest: u64,
    sampled: Sampled,
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
            sampled: Sampled::default(),
            one_in: 1,
        }
    }

    /// Goes through a batch.
    pub(super) fn take(&mut self, batch: &Batch, lifetimes: usize) {
        if batch.sampled != self.sampled {
            (self.sampled, self.one_in) = (batch.sampled, batch.sampled.one_in());
            self.thin();
        }
        for (event, judged) in batch.under(self.setting.lifetime, lifetimes) {
            self.ask(event, judged);
        }
        // Often enough: a batch is small beside what is kept.
        self.tally.peak = self
            .tally
            .peak
            .max(self.keep.weight().saturating_mul(self.one_in));
        self.tally.evictions = self.keep.evictions() * self.one_in;
    }

    fn thin(&mut self) {
        let sampled = self.sampled;
        self.keep
            .thin(self.one_in, |key, held| sampled.follows(held.kept.url, key));
        if let Some(by_url) = &mut self.by_url {
            by_url.retain(|url, _| sampled.follows_url(*url));
        }
    }

    /// Lookup, as the walk does it, over what this simulation keeps.
    fn ask(&mut self, event: &Event, judged: &Judged) {
        let times = self.one_in;
        if let Some(unfilled) = self.tally.unfilled(event, judged) {
            unfilled.asked.send(event.sent, times);
            unfilled.asked.origin.add(event.body, event.took, times);
        }
        let found = self.keep.get(event.key);
        let found = found.filter(|held| held.kept.number >= event.invalid_before);
        let Some(held) = found else {
            return self.forward(event, judged, None);
        };
        let kept = &held.kept;
        if event.now < kept.facts.response_time && event.now >= kept.asked {
            // It is on its way.
            return self.wait(event, judged, &held);
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

    fn wait(&mut self, event: &Event, judged: &Judged, held: &Held) {
        if held.refreshed {
            self.tally.stale += self.one_in;
        } else if event.fills {
            self.tally.collapsed += self.one_in;
            self.tally
                .missed(event, judged)
                .send(event.sent, self.one_in);
        } else {
            self.forward(event, judged, None);
        }
    }

    fn forward(&mut self, event: &Event, judged: &Judged, found: Option<&Arc<Kept>>) {
        if event.fills && event.directives.only_if_cached {
            self.tally.missed(event, judged).requests += self.one_in;
            return;
        }
        let hides = event.fills
            && event.failed
            && found.is_some_and(|kept| {
                let (facts, directives) = (&kept.facts, &event.directives);
                reuse::on_failure(facts, directives, &event.site, Failure::Status, event.now)
            });
        if hides {
            self.tally.stale += self.one_in;
            self.cost(event, judged);
            return;
        }
        self.tally
            .missed(event, judged)
            .send(event.sent, self.one_in);
        if event.fills {
            self.fetch(event, judged, found, false);
        } else {
            self.cost(event, judged);
        }
    }

    /// Asks the origin, and keeps what it says.
    fn fetch(
        &mut self,
        event: &Event,
        judged: &Judged,
        found: Option<&Arc<Kept>>,
        refreshed: bool,
    ) {
        self.cost(event, judged);
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

    fn cost(&mut self, event: &Event, judged: &Judged) {
        let origin = &mut self.tally.missed(event, judged).origin;
        origin.add(event.body, event.took, self.one_in);
        if let Some(by_url) = &mut self.by_url {
            let cost = by_url.entry(event.url).or_default();
            cost.add(event.body, event.took, self.sampled.variants());
        }
    }
}

impl Tally {
    /// Where a request counts that does not fill the store.
    fn unfilled(&mut self, event: &Event, judged: &Judged) -> Option<&mut Unfilled> {
        match judged {
            _ if !event.fills => Some(&mut self.apart),
            Judged::Not { .. } => Some(&mut self.unfilled),
            Judged::Stored(_) => None,
        }
    }

    /// Where a request counts that is not answered from the store.
    fn missed(&mut self, event: &Event, judged: &Judged) -> &mut Sum {
        match judged {
            _ if !event.fills => &mut self.apart.missed,
            Judged::Not { .. } => &mut self.unfilled.missed,
            Judged::Stored(_) => &mut self.missed,
        }
    }
}
