//! The followers' side of a flight: what it leaves for each of them when it has landed.

use super::{FollowerFallback, History, answer, followed, found};
use crate::{
    ask::Ask,
    body::ReplyBody,
    cache::Worker,
    clock,
    collapse::{FlightStatus, Follower, is_purged},
    error::Failure,
    hit_for_miss::Unshared,
    outcome::Failing,
    walk::{
        below, deliver,
        fetch::Landing,
        land,
        lookup::{self, Decision, Need},
    },
    way,
};
use http::Response;
use rules::status::Handled;
use std::rc::Rc;

/// Waits for the flight and takes what it has brought.
///
/// A failure of the origin, also if what has landed breaks off, becomes the follower's if it cannot be the leader's
/// alone: nothing was sent, or another flight that the request followed has failed. The leader may have asked for
/// something that no other did, e.g. with a header that is too long for the server. An expired time limit is no
/// exception: a follower that waits beyond `collapse_wait` fetches alone, and has waited longer by then.
pub async fn follow(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    need: Need,
    mut follower: Follower,
    history: History,
) -> Result<Response<ReplyBody>, FollowerFallback> {
    let patience = ask.policy().collapse_wait;
    match follower.next_status_within(patience).await {
        Some(
            status @ (FlightStatus::OtherVariant
            | FlightStatus::Fetched(_)
            | FlightStatus::PartComing(_)
            | FlightStatus::Unkept(_)),
        ) => {
            let is_newer = follower.began() > history.came;
            let found = look_up_landed(worker, ask, &status, is_newer).await;
            let found = or_unkept(worker, ask, found, &follower);
            match (found, follower.failure()) {
                // The body has broken off meanwhile.
                (Decision::Forward(now), Some(failure)) => {
                    failed(worker, ask, now, failure, history)
                }
                (found, _) => collapsed(worker, ask, need, (status, found)),
            }
        }
        Some(FlightStatus::Overtaken | FlightStatus::FoundHere) => {
            found_meanwhile(worker, ask, need).await
        }
        Some(FlightStatus::Failed(failure)) => failed(worker, ask, need, failure, history),
        Some(FlightStatus::Stale(why)) => match land::instead(worker, ask, &need, why) {
            Some(landing) => Ok(answer(worker, ask, &need, followed(landing))),
            // It was purged meanwhile, or is not for this request.
            None => Err(FollowerFallback::Together(need)),
        },
        Some(FlightStatus::Released | FlightStatus::Flying) | None => {
            Err(FollowerFallback::Alone(need))
        }
    }
}

/// Answers with what the leader has brought, if what is `found` since the flight `landed` is what this request needs.
fn collapsed(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    need: Need,
    (landed, found): (FlightStatus, Decision),
) -> Result<Response<ReplyBody>, FollowerFallback> {
    match found {
        Decision::Hit(mut hit) | Decision::StaleHit(mut hit) => {
            hit.outcome.handled = Handled::Forwarded {
                why: need.why,
                status: None,
                stored: false,
                collapsed: true,
            };
            Ok(deliver::stored(worker, ask, hit))
        }
        Decision::Forward(now) if now.collapse_key(ask) != need.collapse_key(ask) => {
            Err(FollowerFallback::Together(now))
        }
        // A request that came during the fetch must not rely on it, and what was purged meanwhile is out of date. The
        // next fetch begins now.
        Decision::Forward(now) if now.is_unsure() || was_purged(worker, ask, &landed, &now) => {
            Err(FollowerFallback::Together(now))
        }
        // A part is not fetched by each request that wants it either.
        Decision::Forward(now) if now.is_beside_fill(ask) => Err(FollowerFallback::Together(now)),
        Decision::Forward(now) => {
            waited_in_vain(worker, ask, &landed, &need);
            Err(match &now.selected {
                // What is there is not good enough for this request.
                Some(_) => FollowerFallback::Alone(now),
                // Nor may there be room for what the next would bring.
                None if is_spilled(&landed) => FollowerFallback::Alone(now),
                None => FollowerFallback::Together(now),
            })
        }
        Decision::Bypass(_) => Err(FollowerFallback::Alone(need)),
    }
}

/// Whether there was no room for what has landed, so that it was not kept.
fn is_spilled(landed: &FlightStatus) -> bool {
    let fill = landed.brought().and_then(|stored| stored.body.fill());
    fill.is_some_and(|fill| fill.is_spilled())
}

/// Where what has landed was stale when it came, the next for its key do not wait for one another.
fn waited_in_vain(worker: &Worker, ask: &Ask, landed: &FlightStatus, need: &Need) {
    if landed
        .brought()
        .is_some_and(|stored| way::is_late(&stored.facts))
    {
        let key = need.collapse_key(ask);
        ask.remember_unshared(worker, &key, Unshared::Late, clock::now());
    }
}

/// Whether what has landed, or what the request selects now, was purged meanwhile, even softly.
fn was_purged(worker: &Worker, ask: &Ask, landed: &FlightStatus, need: &Need) -> bool {
    let (log, key) = (worker.cache.memory.log(), ask.key.as_bytes());
    let mut concerned = landed.brought().into_iter().chain(&need.selected);
    concerned.any(|stored| is_purged(log, key, stored))
}

/// Answers with what is stored by now, or returns what is still needed.
async fn found_meanwhile(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    need: Need,
) -> Result<Response<ReplyBody>, FollowerFallback> {
    match below::find(worker, ask).await {
        Decision::Hit(mut hit) | Decision::StaleHit(mut hit) => {
            hit.outcome.waited = true;
            Ok(found(worker, ask, hit))
        }
        Decision::Forward(now) => Err(FollowerFallback::Together(now)),
        Decision::Bypass(_) => Err(FollowerFallback::Alone(need)),
    }
}

/// Handles the failure of the leader's fetch.
fn failed(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    need: Need,
    failure: Failure,
    history: History,
) -> Result<Response<ReplyBody>, FollowerFallback> {
    let why = Failing::Unreachable(failure.clone().into());
    let landing = match land::instead(worker, ask, &need, why) {
        Some(stale) => stale,
        None if failure.may_have_arrived() && !history.has_failed => {
            return Err(FollowerFallback::Again(need));
        }
        None => Landing::Failed(failure),
    };
    Ok(answer(worker, ask, &need, followed(landing)))
}

/// Looks up what a leader's fetch has brought for others. `is_newer` says that the fetch began after the request had
/// come.
async fn look_up_landed(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    status: &FlightStatus,
    is_newer: bool,
) -> Decision {
    if let FlightStatus::PartComing(part) = status
        && let Some(hit) = lookup::of_unstored(worker, ask, part, clock::now())
    {
        return Decision::Hit(hit);
    }
    let found = below::find(worker, ask).await;
    if let Decision::Forward(need) = &found
        && need.is_unsure()
        && is_newer
        && let FlightStatus::Fetched(fetched) = status
        && let Some(hit) = lookup::confirmed(worker, ask, fetched, clock::now())
    {
        return Decision::Hit(hit);
    }
    found
}

/// Finds what the flight has brought for its followers alone, if nothing else was `found`.
fn or_unkept(worker: &Worker, ask: &Ask, found: Decision, follower: &Follower) -> Decision {
    if let Decision::Forward(_) = &found
        && let Some(unkept) = follower.unkept()
        && let Some(hit) = lookup::of_unstored(worker, ask, &unkept, clock::now())
    {
        return Decision::Hit(hit);
    }
    found
}
