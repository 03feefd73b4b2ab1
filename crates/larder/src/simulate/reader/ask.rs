//! Asks the store: finds out whether an answer would be stored.

use super::Reader;
use crate::simulate::{
    answer::{Answer, FIELDS, not_stored},
    event::{Event, Judged, Kept},
    urls::Fetch,
};
use proxy::{
    outcome::BypassReason,
    replay::{Replay, ReplayedRequest},
};
use rules::{freshness::Facts, storable::NotStorable};
use std::{sync::Arc, time::Duration};
use store::model;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Judges an answer that refreshes a stale one, if only its request is why it would not be kept otherwise.
fn behind(
    replay: &Replay,
    asked: &mut ReplayedRequest,
    answer: &Answer,
    wait: Duration,
    why: NotStorable,
) -> Option<Result<Facts, NotStorable>> {
    if why != NotStorable::NoStoreRequest {
        return None;
    }
    let judged = replay.judge_refresh(asked, answer.status, &answer.fields, wait);
    Some(judged.map(|storable| storable.facts))
}

/// Returns the bytes of the fields that the line records.
fn told(answer: &Answer) -> usize {
    let fields = answer.fields.iter();
    fields
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum()
}

/// Returns what selects the answer among the variants of its page, if there are any.
fn variant_of(asked: &ReplayedRequest, answer: &Answer) -> Option<u64> {
    let variant = asked.variant(&answer.fields);
    variant.map(|variant| xxh3_64(&variant.key))
}

impl Reader {
    /// Asks the store whether the answer would be stored.
    pub(super) fn ask(
        &mut self,
        asked: &mut ReplayedRequest,
        answer: &Answer,
        url: u64,
        fetch: Fetch,
    ) {
        // Requests of the same second have no order: whether one waited for the other cannot be known.
        let wait = if self.totals.notes.with_fractions {
            fetch.took
        } else {
            0
        };
        let wait = Duration::from_micros(wait);
        self.judged.clear();
        for replay in &self.replays {
            let judged = replay.judge(asked, answer.status, &answer.fields, wait);
            self.judged.push(judged);
        }
        self.count_unfilled(asked, answer, url, fetch);
        let page = xxh3_64(asked.key());
        let key = variant_of(asked, answer)
            .map_or(page, |variant| xxh3_64_with_seed(asked.key(), variant));
        if !self.urls.follows(url, key) {
            return;
        }
        let weight = model::weight(asked.key().len(), FIELDS + told(answer), fetch.body);
        let largest = asked.largest_body();
        let (number, at) = (self.number, self.clock.now);
        let kept = |facts| Kept {
            facts,
            url,
            number,
            weight,
            body: fetch.body,
            largest,
        };
        let judged = self.judged.drain(..).zip(&self.replays);
        let judged = judged.map(|(judged, replay)| match judged {
            Ok(storable) => Judged::Stored(Arc::new(kept(storable.facts))),
            Err(why) => {
                let behind = behind(replay, asked, answer, wait, why);
                let behind = behind.map(|judged| match judged {
                    Ok(facts) => Judged::Stored(Arc::new(kept(facts))),
                    Err(why) => not_stored(answer.status, why, None),
                });
                not_stored(answer.status, why, behind.map(Box::new))
            }
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
            fetch,
            invalid_before: known.map_or(0, |known| known.invalid_before),
            directives: asked.directives().clone(),
            site: asked.reuse(),
            terms: asked.terms(),
            status: answer.status,
            is_failure: asked.is_failure(answer.status),
        });
    }

    /// Counts a request whose answer does not fill the store, whether its URL is followed or not: one URL may be
    /// requested as often as all others together.
    fn count_unfilled(&mut self, asked: &ReplayedRequest, answer: &Answer, url: u64, fetch: Fetch) {
        let totals = &mut self.totals;
        let why = if asked.terms().stores_nothing {
            if totals.apart.requests == 0 {
                totals.apart_example = asked.uri();
            }
            totals.apart.add(answer.sent, fetch);
            Some(BypassReason::Cookie.token())
        } else {
            for (unstored, judged) in totals.unfilled.iter_mut().zip(&self.judged) {
                if judged.is_err() {
                    unstored.add(answer.sent, fetch);
                }
            }
            let base = self.judged.get(self.base);
            base.and_then(|judged| judged.err()).map(|why| {
                let group = totals.unstored.entry(why.token()).or_default();
                group.add(fetch, || asked.uri());
                why.token()
            })
        };
        if let (Some(known), Some(why)) = (self.urls.all.get_mut(&url), why) {
            known.unstored = Some(why);
        }
    }
}
