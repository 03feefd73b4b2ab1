//! What a request lacks.

use crate::{ask::Ask, cache::Worker, clock, collapse, outcome::Detail};
use rules::{
    range::{self, Written},
    status::ForwardReason,
};
use std::{borrow::Cow, sync::Arc};
use store::{Body, Stored};

/// What the origin must be asked for.
#[derive(Clone, Debug)]
pub struct Need {
    /// Why the store does not answer: `fwd` of `Cache-Status` (RFC 9211 section 2.2).
    pub why: ForwardReason,
    /// The same in more detail; `None` if `why` says it all.
    pub detail: Option<Detail>,
    /// The stored response that this request selects but that is not usable as it is: to be validated, completed, or
    /// sent if the origin fails.
    pub selected: Option<Arc<Stored>>,
    /// Other stored responses of the key; their entity tags are offered too.
    pub others: Vec<Arc<Stored>>,
}

impl Need {
    /// What is lacking for a reason, perhaps with detail, although `selected` is there. `variants` are what is usable of
    /// the key, `selected` perhaps among them.
    pub fn of(
        why: ForwardReason,
        detail: Option<Detail>,
        selected: Arc<Stored>,
        variants: Vec<Arc<Stored>>,
    ) -> Self {
        let mut others = variants;
        others.retain(|other| other.id() != selected.id());
        Self {
            why,
            detail,
            selected: Some(selected),
            others,
        }
    }

    pub(super) fn miss(why: ForwardReason) -> Self {
        Self {
            why,
            detail: None,
            selected: None,
            others: Vec::new(),
        }
    }

    /// Adds those of `others` that are of further variants.
    pub(super) fn beside(mut self, others: Vec<Arc<Stored>>) -> Self {
        let held: Vec<_> = self.selected.iter().chain(&self.others).cloned().collect();
        let is_further =
            |other: &Arc<Stored>| held.iter().all(|held| held.variant != other.variant);
        self.others.extend(others.into_iter().filter(is_further));
        if self.selected.is_none() && !self.others.is_empty() {
            self.why = ForwardReason::VaryMiss;
        }
        self
    }

    /// Whether `ask`, which has this need, wants a part of a body that is on its way but is not to be waited for: the
    /// part is fetched beside the body.
    pub fn is_beside_fill(&self, ask: &Ask) -> bool {
        let selected = self.selected.as_ref();
        self.why == ForwardReason::Partial
            && ask.range().is_some()
            && selected.is_some_and(|stored| matches!(stored.body, Body::Filling(_)))
    }

    /// Whether the origin is asked for the part that `ask`, which has this need, wants: what is held of the page is no
    /// more than parts, or is on its way and not to be waited for.
    pub fn asks_for_part(&self, ask: &Ask) -> bool {
        let selected = self.selected.as_ref();
        let is_parted = selected.is_none_or(|stored| matches!(stored.body, Body::Parts(_)));
        (is_parted || self.is_beside_fill(ask)) && one_range(ask).is_some()
    }

    /// Whether the origin's answer to `ask`, which has this need, is likely to be a part of the page. From the first byte
    /// on, it may be all of it.
    pub fn brings_part(&self, ask: &Ask) -> bool {
        let begins = Written::From {
            first: 0,
            last: None,
        };
        self.asks_for_part(ask) && one_range(ask) != Some(begins)
    }

    /// Whether purges on other nodes may have been missed, so that the origin must confirm stored responses.
    pub const fn is_unsure(&self) -> bool {
        matches!(self.detail, Some(Detail::Unsure))
    }

    /// Whether the stored response is not sent because of the client alone. Then the client is taken to want the
    /// origin's own answer, and not one that others have fetched meanwhile or store elsewhere.
    pub const fn is_for_the_origin(&self) -> bool {
        matches!(&self.detail, Some(Detail::Validated(why)) if why.is_the_clients())
    }

    /// Returns the key under which `ask`, which has this need, shares a fetch, and under which answers are remembered as
    /// of no use to others. Once it is known what selects variants, requests for different variants have different keys.
    pub fn collapse_key<'a>(&self, ask: &'a Ask) -> Cow<'a, [u8]> {
        let held = self.selected.iter().chain(&self.others);
        collapse::key_of(ask.key.as_bytes(), &ask.fields, held)
    }

    /// Whether the last answer to `ask`, which has this need, was lately of no use to others. That answer may have come
    /// while this request waited.
    pub fn is_unshared(&self, worker: &Worker, ask: &Ask) -> bool {
        let (table, now) = (&worker.cache.hit_for_miss, clock::now());
        table.knows(&self.collapse_key(ask), ask.credentials(), now)
    }
}

/// The range that `ask` wants, if it is a single one.
pub fn one_range(ask: &Ask) -> Option<Written> {
    match *range::parse(ask.range()?)? {
        [only] => Some(only),
        _ => None,
    }
}
