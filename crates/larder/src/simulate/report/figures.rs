//! Turns counts into figures.

use super::{Costly, Load, Outcome, Reason};
use crate::simulate::{
    counts::{Group, Sum, Totals},
    plan::Plan,
    reader::Reader,
    tally::{Setting, Simulation, Tally, Unfilled},
    urls::{ByHash, Cost, Urls},
};
use proxy::outcome::BypassReason;
use std::collections::BTreeMap;

/// The most URLs that are reported.
const URLS: usize = 20;

/// Turns counts into figures.
pub(super) struct Maker<'a> {
    pub plan: &'a Plan,
    pub reader: &'a Reader,
    pub seconds: f64,
    pub tells_time: bool,
}

impl Maker<'_> {
    pub(super) fn load(&self, cost: Cost) -> Load {
        Load {
            requests: cost.fetches,
            rate: cost.fetches as f64 / self.seconds,
            bytes: cost.bytes,
            bandwidth: cost.bytes as f64 / self.seconds,
            busy: self.tells_time.then(|| cost.micros as f64 / 1e6),
        }
    }

    pub(super) fn outcome(&self, simulations: &[Simulation], wanted: Setting) -> Outcome {
        let tally = tally_of(simulations, wanted);
        let totals = &self.reader.totals;
        // If only a part of the URLs was followed, their misses are an estimate, and so are stale hits and waits.
        // Requests are counted, and no estimate may exceed them.
        let missed = missed(totals, &tally, wanted.lifetime);
        let hits = totals.asked.saturating_sub(missed.requests);
        let stale = tally.stale.min(hits);
        let bytes = totals.asked_sent.saturating_sub(missed.sent);
        let mut origin = at_most(missed.origin, totals.asked + stale);
        for group in totals.bypassed.values() {
            origin.fetches += group.requests;
            origin.bytes += group.bytes;
            origin.micros += group.micros;
        }
        let name = self
            .plan
            .lifetimes
            .get(wanted.lifetime)
            .map(|lifetime| lifetime.name.clone());
        Outcome {
            memory: wanted.memory,
            lifetime: name.unwrap_or_default(),
            eviction: wanted.eviction,
            hit_ratio: share(hits, totals.requests),
            byte_hit_ratio: share(bytes, totals.sent),
            hits,
            stale,
            collapsed: tally.collapsed.min(totals.asked - hits),
            origin: self.load(origin),
            evictions: tally.evictions,
            peak: tally.peak,
            too_large: tally.too_large.min(totals.asked),
        }
    }
}

pub(super) fn tally_of(simulations: &[Simulation], wanted: Setting) -> Tally {
    let mut all = simulations.iter();
    let found = all.find(|simulation| simulation.setting == wanted);
    found.map(|simulation| simulation.tally).unwrap_or_default()
}

/// Returns what the store did not answer, under the lifetime of this index.
fn missed(totals: &Totals, tally: &Tally, lifetime: usize) -> Sum {
    let unfilled = totals.unfilled.get(lifetime).copied().unwrap_or_default();
    let of_all = |some: &Unfilled, all| some.missed.of_all(&some.asked, all);
    tally
        .missed
        .and(&of_all(&tally.unfilled, &unfilled))
        .and(&of_all(&tally.apart, &totals.apart))
}

/// Returns the requests that bypass the store: at once, or because it has no answer and they must not fill it.
pub(super) fn bypassed(totals: &Totals, tally: &Tally) -> Vec<Reason> {
    let mut groups = totals.bypassed.clone();
    let missed = tally.apart.missed.of_all(&tally.apart.asked, &totals.apart);
    if missed.requests > 0 {
        let group = groups.entry(BypassReason::Cookie.token()).or_default();
        if group.requests == 0 {
            group.example.clone_from(&totals.apart_example);
        }
        group.requests += missed.requests;
        group.bytes += missed.origin.bytes;
        group.micros += missed.origin.micros;
    }
    reasons(&groups)
}

/// Limits a cost to a number of fetches. An estimate from a part of the URLs may give more fetches than there were
/// requests, and is scaled down to them.
fn at_most(cost: Cost, fetches: u64) -> Cost {
    if cost.fetches <= fetches {
        return cost;
    }
    let scaled = |number: u64| (number as f64 * share(fetches, cost.fetches)) as u64;
    Cost {
        fetches,
        bytes: scaled(cost.bytes),
        micros: scaled(cost.micros),
    }
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 {
        0.0
    } else {
        part as f64 / of as f64
    }
}

pub(super) fn reasons(groups: &BTreeMap<&'static str, Group>) -> Vec<Reason> {
    let mut all: Vec<_> = groups
        .iter()
        .map(|(reason, group)| Reason {
            reason,
            requests: group.requests,
            bytes: group.bytes,
            busy: group.micros as f64 / 1e6,
            example: group.example.clone(),
        })
        .collect();
    all.sort_by_key(|reason| std::cmp::Reverse(reason.requests));
    all
}

/// Returns the URLs that cost the origin most time; most bytes if the log does not tell times.
pub(super) fn costly(urls: &Urls, by_url: &ByHash<Cost>, tells_time: bool) -> Vec<Costly> {
    let cost = |hash: &u64, passed: Cost| {
        let stored = by_url.get(hash).copied().unwrap_or_default();
        stored.and(&passed)
    };
    let mut all: Vec<_> = urls
        .all
        .iter()
        .map(|(hash, url)| (cost(hash, url.passed), url))
        .collect();
    all.retain(|(cost, _)| cost.fetches > 0);
    let weight = |cost: &Cost| {
        if tells_time {
            (cost.micros, cost.bytes)
        } else {
            (cost.bytes, cost.fetches)
        }
    };
    all.sort_by(|(one, a), (other, b)| {
        weight(other)
            .cmp(&weight(one))
            .then_with(|| a.text.cmp(&b.text))
    });
    all.truncate(URLS);
    all.into_iter()
        .map(|(cost, url)| Costly {
            url: url.text.to_string(),
            requests: url.requests,
            fetches: cost.fetches,
            bytes: cost.bytes,
            busy: cost.micros as f64 / 1e6,
            reason: url.unstored,
        })
        .collect()
}
