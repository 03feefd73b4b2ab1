//! What is stored under a key, judged for one request.

use super::{OnFailure, StoredExplanation, Tier};
use crate::{ask::Key, cache::Cache, policy::Policy, walk::lookup::reuse_site};
use http::{HeaderMap, HeaderName};
use rules::{
    directives,
    reuse::{self, Failure, ValidateReason, Verdict},
    time::Time,
    vary,
};
use std::{borrow::Cow, sync::Arc, time::Duration};
use store::{Body, Stored, Variant, Variants, purge::Standing};

/// The request that stored responses are judged for.
pub(super) struct Judge<'a> {
    pub(super) cache: &'a Cache,
    pub(super) policy: &'a Policy,
    pub(super) key: &'a Key,
    pub(super) fields: &'a HeaderMap,
    pub(super) now: Time,
}

impl Judge<'_> {
    /// What is stored, and which of it is selected: as lookup has it, the disk's where memory has none that matches and stands.
    pub(super) async fn stored(&self) -> (Vec<StoredExplanation>, Option<usize>) {
        let here = self.cache.memory.peek(self.key.as_bytes());
        let variants = here.as_ref().map_or(&[][..], Variants::as_slice);
        let mut all: Vec<_> = variants
            .iter()
            .map(|stored| self.judge(stored, Tier::Memory))
            .collect();
        // Where that was invalidated, no other in memory takes its place.
        let chosen = here.as_ref().and_then(|here| self.select(here));
        let selected = variants.iter().position(|stored| is_same(stored, chosen));
        let decides = selected.and_then(|index| all.get(index));
        if decides.is_some_and(|one| !one.invalidated) {
            return (all, selected);
        }
        if let Some(disk) = &self.cache.disk {
            let below = disk.peek(self.key.as_bytes()).await.into_iter();
            let is_newest = |stored: &Arc<Stored>| {
                let mut here = here.iter();
                here.all(|here| !here.has_newer(stored))
            };
            if let Some(below) = Variants::from_vec(below.filter(is_newest).collect()) {
                let chosen = self.select(&below);
                let mut on_disk = below.as_slice().iter();
                let index = on_disk.position(|stored| is_same(stored, chosen));
                let selected = index.map(|index| all.len() + index).or(selected);
                let on_disk = below.as_slice().iter();
                all.extend(on_disk.map(|stored| self.judge(stored, Tier::Disk)));
                return (all, selected);
            }
        }
        (all, selected)
    }

    fn select<'v>(&self, variants: &'v Variants) -> Option<&'v Arc<Stored>> {
        variants.select(self.fields, &mut Vec::new(), self.now)
    }

    fn judge(&self, stored: &Stored, tier: Tier) -> StoredExplanation {
        let standing = self
            .cache
            .memory
            .log()
            .standing(self.key.as_bytes(), stored);
        let differing = stored.variant.as_deref();
        let stored = standing_as(stored, standing);
        let request = directives::request(self.fields);
        let site = reuse_site(self.policy);
        let verdict = reuse::judge(&stored.facts, &request, &site, self.now);
        let invalidated = standing == Standing::Gone;
        // Parts stand in for no whole.
        let stands_in = !invalidated && !matches!(stored.body, Body::Parts(_));
        let sent = |failure| {
            stands_in && reuse::on_failure(&stored.facts, &request, &site, failure, self.now)
        };
        let window = |failure| reuse::window_on_failure(&stored.facts, &request, &site, failure);
        StoredExplanation {
            tier,
            status: stored.status,
            matches: stored.matches(self.fields, &mut Vec::new()),
            nominated: nominated(&stored),
            differing: differing
                .map(|variant| self::differing(variant, self.fields))
                .unwrap_or_default(),
            verdict,
            age: stored.facts.age(self.now),
            lifetime: Duration::from_millis(stored.facts.lifetime_ms),
            source: stored.facts.source,
            length: stored.body.length(),
            form: form(&stored.body),
            invalidated,
            on_failure: OnFailure {
                error: sent(Failure::Status),
                unreachable: sent(Failure::Unreachable),
                error_window: window(Failure::Status),
                unreachable_window: window(Failure::Unreachable),
            },
            while_revalidate: while_revalidate(&stored),
            replaceable: invalidated
                || standing == Standing::Unsure
                || !(wants_the_origin(verdict) || stored.facts.is_always_validated()),
        }
    }
}

fn is_same(stored: &Arc<Stored>, chosen: Option<&Arc<Stored>>) -> bool {
    chosen.is_some_and(|chosen| Arc::ptr_eq(stored, chosen))
}

/// The window in seconds; 0 where there is none, or one that is shut.
fn while_revalidate(stored: &Stored) -> u32 {
    let facts = &stored.facts;
    let window = facts.stale_while_revalidate.filter(|_| !facts.no_cache);
    window.unwrap_or(0)
}

/// Whether the client takes nothing but what the origin says now.
const fn wants_the_origin(verdict: Verdict) -> bool {
    let Verdict::Validate(reason) = verdict else {
        return false;
    };
    matches!(
        reason,
        ValidateReason::RequestNoCache | ValidateReason::RequestAge
    )
}

/// What purges have left of a stored response, as lookup takes it.
fn standing_as(stored: &Stored, standing: Standing) -> Cow<'_, Stored> {
    match standing {
        Standing::Stale { since, checked } => Cow::Owned(stored.stale_since(since, checked)),
        Standing::Unsure => Cow::Owned(stored.to_be_validated()),
        Standing::Good | Standing::Gone => Cow::Borrowed(stored),
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

/// The nominated fields whose value in the request that was answered is another one: [`vary::variant_key`] writes one line
/// for each.
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
