//! One simulation: a size, a lifetime, a rule, and the result.

use super::{
    coming::{Replaced, Seen},
    counts::Sum,
    event::{Batch, Event, Judged, Kept},
    failed::Failed,
    keep::Keep,
    plan::Eviction,
    urls::{ByHash, Cost, Sampled},
};
use proxy::{
    hit_for_miss::{Credentials, Unshared},
    way::{self, Company},
};
use rules::{directives::RequestDirectives, reuse::Verdict, time::Time};
use std::sync::Arc;
use store::model;

/// The most keys that are known to be of no use to others; as many as the server's table has slots. Beyond that, the
/// table is emptied.
const MOST_UNSHARED: usize = 1 << 16;

/// The parameters of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// Bytes of memory; `None` means no limit.
    pub memory: Option<u64>,
    /// The index of the lifetime.
    pub lifetime: usize,
    pub eviction: Eviction,
}

/// The results. If one URL in many is followed, each event counts as many times.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Stale hits, including those that hide a failure.
    pub stale: u64,
    /// Requests that waited for another's fetch.
    pub collapsed: u64,
    /// Requests whose answers are stored, but that were not answered from the store.
    pub missed: Sum,
    /// Requests whose answers are not stored.
    pub unfilled: Unfilled,
    /// Requests that the site does not let fill the store.
    pub apart: Unfilled,
    /// Answers that were not stored because of their size.
    pub too_large: u64,
    pub evictions: u64,
    /// The greatest weight of what is kept.
    pub peak: u64,
}

/// Requests that do not fill the store, and those of them that it did not answer. Only their share matters: how many
/// there are in all is known ([`Totals`](super::counts::Totals)).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unfilled {
    pub asked: Sum,
    pub missed: Sum,
}

/// One simulation in progress.
pub(super) struct Simulation {
    pub setting: Setting,
    pub tally: Tally,
    /// The cost of each URL; one simulation records it.
    pub by_url: Option<ByHash<Cost>>,
    keep: Keep,
    replaced: Replaced,
    /// Keys whose last answer was of no use to others, and until when that counts.
    unshared: ByHash<Time>,
    failed: Failed,
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
            replaced: Replaced::default(),
            unshared: ByHash::default(),
            failed: Failed::default(),
            largest: setting.memory.map_or(u64::MAX, model::largest_body),
            sampled: Sampled::default(),
            one_in: 1,
        }
    }

    /// Processes a batch.
    pub(super) fn take(&mut self, batch: &Batch, lifetimes: usize) {
        if batch.sampled != self.sampled {
            (self.sampled, self.one_in) = (batch.sampled, batch.sampled.one_in());
            self.thin();
        }
        for (event, judged) in batch.under(self.setting.lifetime, lifetimes) {
            self.ask(event, judged);
        }
        if let Some(last) = batch.events.last() {
            self.replaced.settle(last.now);
            self.failed.settle(last.now);
        }
        // This is often enough: a batch is small compared with what is kept.
        self.tally.peak = self
            .tally
            .peak
            .max(self.keep.weight().saturating_mul(self.one_in));
        self.tally.evictions = self.keep.evictions() * self.one_in;
    }

    fn thin(&mut self) {
        let sampled = self.sampled;
        self.keep
            .thin(self.one_in, |key, kept| sampled.follows(kept.url, key));
        self.unshared.clear();
        if let Some(by_url) = &mut self.by_url {
            by_url.retain(|url, _| sampled.follows_url(*url));
        }
    }

    /// Does what the walk would do with what this simulation keeps. The walk's steps wait for sockets and for one
    /// another; the same functions decide here as there (`rules::reuse`, `proxy::way`).
    fn ask(&mut self, event: &Event, judged: &Judged) {
        let times = self.one_in;
        if let Some(unfilled) = self.tally.unfilled(event, judged) {
            unfilled.asked.send(event.sent, times);
            unfilled.asked.origin.add(event.fetch, times);
        }
        let kept = self.keep.get(event.key);
        let seen = kept.map(|kept| self.replaced.seen(event, kept));
        let seen = seen.unwrap_or_default();
        let verdict = seen.here.as_ref().map(|kept| event.judge(kept, event.now));
        match verdict {
            Some(Verdict::Fresh(_)) => {}
            Some(Verdict::Stale(reason)) => {
                self.tally.stale += self.one_in;
                let is_refreshed =
                    reason.refreshes() && seen.coming.is_none() && !self.failed.pauses(event);
                if is_refreshed {
                    let ours = RequestDirectives::default();
                    self.lead(event, &judged.of_refresh(), seen, &ours);
                }
            }
            Some(Verdict::Validate(_)) | None => self.forward(event, judged, seen),
        }
    }

    /// Handles a request that nothing kept can answer.
    fn forward(&mut self, event: &Event, judged: &Judged, seen: Seen) {
        let is_unshared = || {
            self.unshared
                .get(&event.page)
                .is_some_and(|until| event.now < *until)
        };
        let company = way::company(event.terms, is_unshared);
        if company == Company::Stays {
            self.tally.missed(event, judged).requests += self.one_in;
            return;
        }
        if way::late_bypass(event.terms).is_some() {
            self.miss(event, judged);
            return self.cost(event, judged);
        }
        let followed = seen
            .coming
            .as_ref()
            .filter(|_| company == Company::Together);
        if followed.is_some_and(|kept| is_answered(event.judge(kept, kept.facts.response_time))) {
            self.tally.collapsed += self.one_in;
            return self.miss(event, judged);
        }
        let served = match company {
            Company::Together => self.lead(event, judged, seen, &event.directives),
            Company::Alone | Company::Stays => self.fetch(event, judged, seen, &event.directives),
        };
        match served {
            ServedFrom::Store { is_stale } => {
                self.tally.stale += u64::from(is_stale) * self.one_in;
            }
            ServedFrom::Origin { .. } => self.miss(event, judged),
        }
    }

    /// Asks the origin for all who want the same. If it fails, the next refresh has to wait.
    fn lead(
        &mut self,
        event: &Event,
        judged: &Judged,
        seen: Seen,
        directives: &RequestDirectives,
    ) -> ServedFrom {
        let served = self.fetch(event, judged, seen, directives);
        if event.is_failure && !matches!(served, ServedFrom::Origin { is_stored: true }) {
            self.failed.note(event);
        }
        served
    }

    /// Asks the origin, and keeps the answer; `directives` are those of the request that is to get it.
    fn fetch(
        &mut self,
        event: &Event,
        judged: &Judged,
        seen: Seen,
        directives: &RequestDirectives,
    ) -> ServedFrom {
        self.cost(event, judged);
        let mut here = seen.here.iter();
        if let Some(kept) = here.find(|kept| event.hides_behind(kept, directives)) {
            let is_stale = kept.facts.remaining(event.landed).is_none();
            return ServedFrom::Store { is_stale };
        }
        let unshared = match judged {
            Judged::Stored(kept) if kept.body <= self.largest.min(kept.largest) => {
                let kept = kept.clone();
                let unshared = Unshared::of_kept(&kept.facts);
                let is_coming = kept.facts.response_time > event.now;
                let before = seen.here.or(seen.coming).filter(|_| is_coming);
                self.store(event.key, kept, before);
                self.learn(event, unshared);
                return ServedFrom::Origin { is_stored: true };
            }
            Judged::Stored(_) => {
                self.tally.too_large += self.one_in;
                Unshared::TooLarge
            }
            Judged::Not { why, .. } => *why,
        };
        self.learn(event, Some(unshared));
        let is_fresh = seen
            .here
            .as_ref()
            .is_some_and(|kept| kept.facts.remaining(event.landed).is_some());
        if seen.here.is_some() && unshared.withdraws(event.status, is_fresh, Credentials::None) {
            match seen.coming {
                Some(kept) => self.store(event.key, kept, None),
                None => self.keep.remove(event.key),
            }
        }
        ServedFrom::Origin { is_stored: false }
    }

    /// Keeps an answer, which replaces `before` when it arrives.
    fn store(&mut self, key: u64, kept: Arc<Kept>, before: Option<Arc<Kept>>) {
        self.replaced.stored(key, &kept, before);
        self.keep.insert(key, kept);
    }

    /// Hit-for-miss: notes whether requests for the key are kept apart from now on.
    fn learn(&mut self, event: &Event, unshared: Option<Unshared>) {
        if event.landed == event.now {
            // If the log tells no duration of fetches, there is no request to keep apart.
            return;
        }
        match unshared.map(Unshared::keeps_apart) {
            Some(Some(apart)) => {
                if self.unshared.len() >= MOST_UNSHARED {
                    self.unshared.clear();
                }
                self.unshared.insert(event.page, event.landed.plus(apart));
            }
            // Says nothing about other requests.
            Some(None) => {}
            // The answer is of use once it has arrived: an earlier request still goes alone.
            None => {
                if let Some(until) = self.unshared.get_mut(&event.page) {
                    *until = event.landed.min(*until);
                }
            }
        }
    }

    /// Counts that the client is not answered from what is kept.
    fn miss(&mut self, event: &Event, judged: &Judged) {
        let missed = self.tally.missed(event, judged);
        missed.send(event.sent, self.one_in);
    }

    fn cost(&mut self, event: &Event, judged: &Judged) {
        let origin = &mut self.tally.missed(event, judged).origin;
        origin.add(event.fetch, self.one_in);
        if let Some(by_url) = &mut self.by_url {
            let cost = by_url.entry(event.url).or_default();
            cost.add(event.fetch, self.sampled.variants());
        }
    }
}

/// The result of a fetch for its client.
enum ServedFrom {
    /// The origin's answer.
    Origin { is_stored: bool },
    /// The kept answer, since the origin failed. It may still be fresh, if the client had demanded the origin's answer.
    Store { is_stale: bool },
}

/// Whether the kept answer is sent.
const fn is_answered(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Fresh(_) | Verdict::Stale(_) => true,
        Verdict::Validate(_) => false,
    }
}

impl Tally {
    /// Where to count a request that does not fill the store.
    fn unfilled(&mut self, event: &Event, judged: &Judged) -> Option<&mut Unfilled> {
        match judged {
            _ if event.terms.stores_nothing => Some(&mut self.apart),
            Judged::Not { .. } => Some(&mut self.unfilled),
            Judged::Stored(_) => None,
        }
    }

    /// Where to count a request that is not answered from the store.
    fn missed(&mut self, event: &Event, judged: &Judged) -> &mut Sum {
        match judged {
            _ if event.terms.stores_nothing => &mut self.apart.missed,
            Judged::Not { .. } => &mut self.unfilled.missed,
            Judged::Stored(_) => &mut self.missed,
        }
    }
}
