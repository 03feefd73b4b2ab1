//! Judges what is stored under a key for one request.

use super::{OnFailure, StoredExplanation, Tier};
use crate::{
    ask::Ask,
    cache::Cache,
    walk::lookup::{answers, condition_is_the_origins, is_far_ahead, reuse_site_for},
};
use http::{HeaderMap, HeaderName};
use rules::{
    reuse::{self, Failure, Verdict},
    time::Time,
    vary,
};
use std::{borrow::Cow, sync::Arc, time::Duration};
use store::{Body, Stored, Variant, Variants, purge::Standing};

/// The request that stored responses are judged for.
pub(super) struct Judge<'a> {
    pub(super) cache: &'a Cache,
    pub(super) ask: &'a Ask,
    /// Whether it bypasses the store before anything there is looked at.
    pub(super) bypassed: bool,
}

impl Judge<'_> {
    /// Whether memory has a response that the request selects and that is not invalidated: then the disk is not asked.
    pub(super) fn decides_here(&self) -> bool {
        let (here, selected) = self.among(self.here().as_ref(), Tier::Memory);
        let selected = selected.and_then(|index| here.get(index));
        selected.is_some_and(|one| !one.invalidated)
    }

    /// Returns what is stored, and which of it is selected, as lookup would: from the disk if memory has nothing that
    /// matches and stands.
    pub(super) fn stored(
        &self,
        below: Vec<Arc<Stored>>,
    ) -> (Vec<StoredExplanation>, Option<usize>) {
        let here = self.here();
        let (mut all, selected) = self.among(here.as_ref(), Tier::Memory);
        let is_newest = |stored: &Arc<Stored>| {
            let mut here = here.iter();
            here.all(|here| !here.has_newer(stored))
        };
        let below = Variants::from_vec(below.into_iter().filter(is_newest).collect());
        let (below, index) = self.among(below.as_ref(), Tier::Disk);
        let selected = index.map(|index| all.len() + index).or(selected);
        all.extend(below);
        (all, selected)
    }

    /// Returns what memory has.
    fn here(&self) -> Option<Variants> {
        self.cache.memory.peek(self.ask.key.as_bytes())
    }

    /// Judges the variants of one tier, and returns which of them is selected.
    fn among(
        &self,
        variants: Option<&Variants>,
        tier: Tier,
    ) -> (Vec<StoredExplanation>, Option<usize>) {
        let all = variants.map_or(&[][..], Variants::as_slice);
        let select = |all: &Variants| {
            all.select(&self.ask.fields, &mut Vec::new(), self.ask.now)
                .cloned()
        };
        // An invalidated response must not hide another that matches.
        let stands = |stored: &&Arc<Stored>| self.standing(stored) != Standing::Gone;
        let left = Variants::from_vec(all.iter().filter(stands).cloned().collect());
        let chosen = left.as_ref().and_then(select);
        let chosen = chosen.or_else(|| variants.and_then(select));
        let selected = all.iter().position(|one| is_same(one, chosen.as_ref()));
        let judged = all.iter().map(|stored| self.judge(stored, tier));
        (judged.collect(), selected)
    }

    /// Returns what purges say of it.
    fn standing(&self, stored: &Stored) -> Standing {
        let log = self.cache.memory.log();
        log.standing(self.ask.key.as_bytes(), stored)
    }

    fn judge(&self, stored: &Stored, tier: Tier) -> StoredExplanation {
        let standing = self.standing(stored);
        let differing = stored.variant.as_deref();
        let unsure = standing == Standing::Unsure;
        let own = stored.facts;
        let stored = standing_as(stored, standing, self.ask.now);
        // It is unknown whether it was purged, but its own lifetime is known.
        let told = if unsure { &own } else { &stored.facts };
        let (ask, now) = (self.ask, self.ask.now);
        let (request, site) = (&ask.directives, reuse_site_for(ask));
        let verdict = reuse::judge(&stored.facts, request, &site, now);
        let invalidated = standing == Standing::Gone;
        // Parts never stand in for a whole, nor a failure for another, nor anything that does not meet the request's
        // condition.
        let condition_fails = condition_is_the_origins(ask, &stored);
        let fails = ask.policy().stale.is_failure(stored.status);
        let stands_in = !self.bypassed
            && !fails
            && !invalidated
            && !matches!(stored.body, Body::Parts(_))
            && !condition_fails;
        let sent =
            |failure| stands_in && reuse::on_failure(&stored.facts, request, &site, failure, now);
        let window = |failure| {
            let window = reuse::window_on_failure(&stored.facts, request, &site, failure);
            if fails { 0 } else { window }
        };
        StoredExplanation {
            tier,
            status: stored.status,
            matches: stored.matches(&ask.fields, &mut Vec::new()),
            nominated: nominated(&stored),
            differing: differing
                .map(|variant| self::differing(variant, &ask.fields))
                .unwrap_or_default(),
            verdict,
            is_enough: match &stored.body {
                Body::Filling(fill) => !is_far_ahead(ask, &stored, fill),
                _ => answers(ask, &stored),
            },
            condition_fails,
            is_fresh: stored.facts.remaining(now).is_some(),
            age: stored.facts.age(now),
            lifetime: Duration::from_millis(told.lifetime_ms),
            source: told.source,
            site_gives_lifetime: ask.operation().is_some_and(|own| own.ttl.is_some())
                || ask.policy().lifetime.of(stored.status).is_some(),
            length: stored.body.length(),
            form: form(&stored.body),
            invalidated,
            unsure,
            on_failure: OnFailure {
                error: sent(Failure::Status),
                unreachable: sent(Failure::Unreachable),
                error_window: window(Failure::Status),
                unreachable_window: window(Failure::Unreachable),
            },
            while_revalidate: while_revalidate(&stored),
            replaceable: invalidated
                || unsure
                || !(wants_the_origin(verdict) || stored.facts.is_always_validated()),
        }
    }
}

fn is_same(stored: &Arc<Stored>, chosen: Option<&Arc<Stored>>) -> bool {
    chosen.is_some_and(|chosen| Arc::ptr_eq(stored, chosen))
}

/// Returns the window in seconds; 0 if there is none, or it is closed.
fn while_revalidate(stored: &Stored) -> u32 {
    let facts = &stored.facts;
    let window = facts.stale_while_revalidate.filter(|_| !facts.no_cache);
    window.unwrap_or(0)
}

/// Whether the client accepts only what the origin says now.
const fn wants_the_origin(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Validate(reason) if reason.is_the_clients())
}

/// Returns the stored response as lookup takes it at `now`, after what purges have left of it.
fn standing_as(stored: &Stored, standing: Standing, now: Time) -> Cow<'_, Stored> {
    match standing {
        Standing::Stale { since, checked } => Cow::Owned(stored.stale_since(since, checked)),
        Standing::Unsure => Cow::Owned(stored.to_be_validated()),
        Standing::Good => match stored.with_age_unknown(now) {
            Some(ended) => Cow::Owned(ended),
            None => Cow::Borrowed(stored),
        },
        Standing::Gone => Cow::Borrowed(stored),
    }
}

fn nominated(stored: &Stored) -> Vec<String> {
    let variant = stored.variant.iter();
    variant
        .flat_map(|variant| variant.nominated.iter().map(ToString::to_string))
        .collect()
}

const fn form(body: &Body) -> &'static str {
    match body {
        Body::Whole(_) | Body::Mapped(_) | Body::Chunks(_) => "whole",
        Body::Disk(_) => "disk",
        Body::Parts(_) => "parts",
        Body::Filling(_) => "filling",
    }
}

/// Returns the nominated fields whose values differ from those of the request that was answered: [`vary::variant_key`]
/// writes one line for each.
fn differing(variant: &Variant, fields: &HeaderMap) -> Vec<String> {
    let lines = variant.key.split_inclusive(|byte| *byte == b'\n');
    let differs = |(name, line): &(&HeaderName, &[u8])| {
        let mut own = Vec::new();
        vary::variant_key(std::slice::from_ref(*name), fields, &mut own);
        own != *line
    };
    variant
        .nominated
        .iter()
        .zip(lines)
        .filter(differs)
        .map(|(name, _)| name.to_string())
        .collect()
}
