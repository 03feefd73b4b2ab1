//! Selects which of a key's variants answers, and decides whether it may.

use super::{
    Bypassed, Decision, Hit, Need,
    content::{self, Coverage},
    terms::{condition_is_the_origins, reuse_site_for},
};
use crate::{
    ask::Ask,
    cache::Worker,
    outcome::{Detail, Outcome},
    walk::{coding, tiers},
};
use rules::{
    reuse::{self, ValidateReason, Verdict},
    status::{self, ForwardReason},
    time::Time,
};
use std::sync::Arc;
use store::{Stored, Variants, purge::Standing};

/// Selects which of a key's variants answers, and decides whether it may.
pub fn among(worker: &Worker, ask: &Ask, now: Time, variants: &Variants) -> Decision {
    let mut scratch = worker.scratch.take();
    let selected = variants.select(&ask.fields, &mut scratch, now);
    worker.scratch.set(scratch);
    let others = || -> Vec<_> {
        let all = variants.as_slice().iter();
        all.filter_map(|stored| left(worker, ask, stored).stored())
            .collect()
    };
    match selected.map(|stored| left(worker, ask, stored)) {
        Some(Left::Good(stored)) => judge(worker, ask, stored, now, others),
        Some(Left::Unsure(stored)) => {
            let detail = Some(Detail::Unsure);
            Decision::Forward(Need::of(ForwardReason::Stale, detail, stored, others()))
        }
        // A purged response does not hide another that matches. A body that has left its place on disk is first looked
        // for there.
        Some(Left::Gone) if selected.is_some_and(|gone| !gone.body.is_gone()) => {
            match Variants::from_vec(others()) {
                Some(left) => among(worker, ask, now, &left),
                None => Decision::Forward(Need::miss(ForwardReason::UriMiss)),
            }
        }
        Some(Left::Gone) | None => {
            let others = others();
            let why = if others.is_empty() {
                ForwardReason::UriMiss
            } else {
                ForwardReason::VaryMiss
            };
            Decision::Forward(Need {
                others,
                ..Need::miss(why)
            })
        }
    }
}

/// What purges have left of a stored response.
enum Left {
    Good(Arc<Stored>),
    /// Purges elsewhere may have been missed: the origin must confirm it. If the origin cannot, it is not sent.
    Unsure(Arc<Stored>),
    /// Nothing for this request.
    Gone,
}

impl Left {
    fn stored(self) -> Option<Arc<Stored>> {
        match self {
            Self::Good(stored) | Self::Unsure(stored) => Some(stored),
            Self::Gone => None,
        }
    }
}

/// Compares a stored response with the log of purges. This is one comparison if nothing was purged since the last look.
fn left(worker: &Worker, ask: &Ask, stored: &Arc<Stored>) -> Left {
    let (memory, key) = (&worker.cache.memory, ask.key.as_bytes());
    if stored.body.is_gone() {
        // By now the disk may have it elsewhere.
        return Left::Gone;
    }
    if ask.directives.no_transform && coding::is_unreadable(ask, stored) {
        // For other clients it is decoded. As it is, it may be what another client asked for (RFC 9111 section 4.1).
        return Left::Gone;
    }
    match memory.log().standing(key, stored) {
        Standing::Good => Left::Good(stored.clone()),
        Standing::Stale { since, checked } => {
            let stale = Arc::new(stored.stale_since(since, checked));
            memory.exchange(key, stored, &stale);
            Left::Good(stale)
        }
        Standing::Unsure => Left::Unsure(Arc::new(stored.to_be_validated())),
        Standing::Gone => Left::Gone,
    }
}

/// Returns a request's need as purges have left it since its lookup; `None` if they have touched nothing in it.
pub fn purged_since(worker: &Worker, ask: &Ask, need: &Need) -> Option<Need> {
    let (log, key) = (worker.cache.memory.log(), ask.key.as_bytes());
    let is_good = |stored: &&Arc<Stored>| log.standing(key, stored) == Standing::Good;
    let mut held = need.selected.iter().chain(&need.others);
    if held.all(|stored| is_good(&stored)) {
        return None;
    }
    let rest = |stored: &Arc<Stored>| left(worker, ask, stored).stored();
    Some(Need {
        selected: need.selected.as_ref().and_then(rest),
        others: need.others.iter().filter_map(rest).collect(),
        ..need.clone()
    })
}

/// Returns a stored response as purges have left it, unless it may only be sent once its origin has confirmed it.
pub fn unpurged(worker: &Worker, ask: &Ask, stored: &Arc<Stored>) -> Option<Arc<Stored>> {
    match left(worker, ask, stored) {
        Left::Good(stored) => Some(stored),
        Left::Unsure(_) | Left::Gone => None,
    }
}

/// Returns a hit if what a flight has brought, and is not stored, answers a request as if it were: a part that is on its
/// way, or what is not kept.
pub fn of_unstored(worker: &Worker, ask: &Ask, brought: &Arc<Stored>, now: Time) -> Option<Hit> {
    if !brought.matches(&ask.fields, &mut Vec::new()) {
        return None;
    }
    let brought = unpurged(worker, ask, brought)?;
    judge(worker, ask, brought, now, Vec::new).hit()
}

/// Returns a hit if a response that an origin has sent or confirmed after the request came answers it. No purge that
/// the request had to know of has been missed since.
pub fn confirmed(worker: &Worker, ask: &Ask, fetched: &Arc<Stored>, now: Time) -> Option<Hit> {
    if !fetched.matches(&ask.fields, &mut Vec::new()) {
        return None;
    }
    let fetched = match left(worker, ask, fetched) {
        Left::Good(fetched) => fetched,
        Left::Unsure(_) => fetched.clone(),
        Left::Gone => return None,
    };
    judge(worker, ask, fetched, now, Vec::new).hit()
}

fn judge(
    worker: &Worker,
    ask: &Ask,
    stored: Arc<Stored>,
    now: Time,
    variants: impl FnOnce() -> Vec<Arc<Stored>>,
) -> Decision {
    let site = reuse_site_for(ask);
    let need = |why, detail, stored| Decision::Forward(Need::of(why, detail, stored, variants()));
    let outcome = match reuse::judge(&stored.facts, &ask.directives, &site, now) {
        Verdict::Fresh(remaining) => Outcome::hit(status::ttl(remaining)),
        // By an old answer nobody would leave a group.
        Verdict::Stale(_) if ask.asks_group() => {
            let why = ValidateReason::Expired;
            return need(ForwardReason::Stale, Some(Detail::Validated(why)), stored);
        }
        Verdict::Stale(reason) => {
            let ttl = status::stale_ttl(stored.facts.staleness(now));
            Outcome {
                detail: Some(Detail::Stale(reason)),
                ..Outcome::hit(ttl)
            }
        }
        Verdict::Validate(reason) => {
            let why = reason.forward_reason(stored.facts.remaining(now).is_some());
            let stored = tiers::end_if_of_unknown_age(worker, ask.key.as_bytes(), stored, now);
            return need(why, Some(Detail::Validated(reason)), stored);
        }
    };
    match content::body_for(ask, &stored) {
        Coverage::Enough(reader) => {
            if condition_is_the_origins(ask, &stored) {
                return Decision::Bypass(Bypassed::Condition(ForwardReason::Request));
            }
            let hit = Hit {
                stored,
                reader,
                outcome,
                own: None,
            };
            if hit.refreshes() {
                Decision::StaleHit(hit)
            } else {
                Decision::Hit(hit)
            }
        }
        Coverage::Lacking => need(ForwardReason::Partial, None, stored),
    }
}

#[cfg(test)]
mod tests;
