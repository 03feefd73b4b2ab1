//! Forward: who fetches. One request leads and the rest follow; some go alone.

mod fetched;
mod follow;
mod lead;
mod meanwhile;
mod seat;

pub use fetched::{answer, not_fetched};
pub use lead::Leader;
pub use meanwhile::{Meanwhile, meanwhile};

use crate::{
    ask::Ask,
    body::ReplyBody,
    cache::Worker,
    collapse::{FlightStatus, Seat},
    error::Failure,
    walk::{
        below::{self, Role, SharedLookup},
        deliver, fetch,
        lookup::{self, Need},
        outbound,
        pump::begin_fill,
        waiting::AbandonGuard,
    },
    way::{self, Company},
};
use fetched::{followed, found};
use follow::follow;
use http::Response;
use lead::take_pump;
use seat::take_seat;
use std::{rc::Rc, time::Instant};
use tokio::sync::oneshot;

/// How often a request joins others if what they fetch together is purged each time before it can be shared.
const MOST_FLIGHTS: usize = 3;

/// What has happened to a request before it joins others.
#[derive(Clone, Copy, Debug)]
struct History {
    /// When it came. What a later flight brings is newer than the request.
    came: Instant,
    /// Whether a flight that it followed has failed.
    has_failed: bool,
}

impl History {
    /// Nothing has happened yet.
    fn new() -> Self {
        Self {
            came: Instant::now(),
            has_failed: false,
        }
    }
}

/// What a follower is to do when the flight has not answered it.
enum FollowerFallback {
    /// Another variant has landed, or what has landed is gone again: the requests that want the same fetch it together.
    Together(Need),
    /// The origin failed, perhaps because of something in the leader's request alone: the followers fetch together once
    /// more.
    Again(Need),
    /// Another flight would not help.
    Alone(Need),
}

/// Answers a request that needs an origin.
pub async fn forward(worker: Rc<Worker>, mut ask: Rc<Ask>, need: Need) -> Response<ReplyBody> {
    let guard = match AbandonGuard::for_origin(&worker, &*ask, Some(need.why)) {
        Ok(guard) => guard,
        Err(failure) => return deliver::failure(&worker, &ask, &failure),
    };
    let mut response = match company(&worker, &ask, &need) {
        Company::Stays => stays(&worker, &ask, need).await,
        Company::Alone => alone(&worker, &ask, need).await,
        // Boxed, so that the future of a request that goes alone is not as large.
        Company::Together => match Box::pin(in_company(&worker, &ask, need)).await {
            Ok(response) => response,
            Err(need) => alone(&worker, &ask, need).await,
        },
    };
    guard.over();
    deliver::give_fields_back(&mut ask, &mut response);
    response
}

/// With which requests this request goes.
fn company(worker: &Worker, ask: &Ask, need: &Need) -> Company {
    way::company(lookup::terms(ask), || need.is_unshared(worker, ask))
}

/// Goes with others as long as that may help. Returns what is left to be fetched alone as an error.
async fn in_company(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    mut need: Need,
) -> Result<Response<ReplyBody>, Need> {
    let mut history = History::new();
    for _ in 0..MOST_FLIGHTS {
        need = match together(worker, ask, need, history).await {
            Ok(response) => return Ok(response),
            Err(FollowerFallback::Alone(need)) => return Err(need),
            Err(FollowerFallback::Together(need)) => need,
            Err(FollowerFallback::Again(need)) => {
                history.has_failed = true;
                need
            }
        };
        if company(worker, ask, &need) != Company::Together {
            break;
        }
    }
    Err(need)
}

/// Leads a flight or follows one.
async fn together(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    need: Need,
    history: History,
) -> Result<Response<ReplyBody>, FollowerFallback> {
    let (fill, writer) = begin_fill(worker);
    let interest = fill.interest();
    match take_seat(worker, ask, &need, fill) {
        // The others may be waiting for this request, or nothing that they fetch is good enough for it.
        Seat::Follow(_) if outbound::comes_round(ask) || lookup::is_forced(ask) => {
            Err(FollowerFallback::Alone(need))
        }
        Seat::Lead(flight) => {
            match meanwhile(worker, ask, &need) {
                Meanwhile::Nothing => {}
                Meanwhile::Answer(hit) => {
                    flight.land(FlightStatus::FoundHere);
                    return Ok(deliver::stored(worker, ask, *hit));
                }
                Meanwhile::Variants(need) => {
                    flight.land(FlightStatus::OtherVariant);
                    return Err(FollowerFallback::Together(need));
                }
            }
            let (to, from) = oneshot::channel();
            let leader = Leader {
                worker: worker.clone(),
                ask: ask.clone(),
                need: need.clone(),
                writer,
                flight,
                to: Some(to),
            };
            // Boxed because the runtime moves the future several times.
            tokio::task::spawn_local(Box::pin(leader.fly()));
            let fetched = from.await;
            let response = match fetched {
                Ok(fetched) => answer(worker, ask, &need, fetched),
                // The task ended without an answer: it panicked.
                Err(_) => deliver::failure(worker, ask, &Failure::Internal),
            };
            if !deliver::reads_fill(&response) {
                // The client has all it wants; the fill goes on for later requests.
                interest.keep();
            }
            Ok(response)
        }
        Seat::Follow(follower) => {
            drop((interest, writer));
            // Boxed, so that the leader's future is not as large.
            Box::pin(follow(worker, ask, need, follower, history)).await
        }
    }
}

/// Answers a request that wants nothing from the origin with what is stored elsewhere.
async fn stays(worker: &Rc<Worker>, ask: &Rc<Ask>, need: Need) -> Response<ReplyBody> {
    match below::look_up_shared(worker, ask, need, &mut Role::Last).await {
        SharedLookup::Hit(hit) => found(worker, ask, hit),
        SharedLookup::Need(..) => deliver::failure(worker, ask, &Failure::OnlyIfCached),
    }
}

/// Fetches for one request only. What is storable is stored all the same.
async fn alone(worker: &Rc<Worker>, ask: &Rc<Ask>, need: Need) -> Response<ReplyBody> {
    let need = if worker.cache.shared.is_none() || need.is_unshared(worker, ask) {
        need
    } else {
        match below::look_up_shared(worker, ask, need, &mut Role::Single).await {
            SharedLookup::Hit(hit) => return found(worker, ask, hit),
            SharedLookup::Need(need, _) => need,
        }
    };
    let mut fetched = fetch::fetch(worker, ask, &need, None, None).await;
    let pump = take_pump(&mut fetched.landing);
    let response = answer(worker, ask, &need, fetched);
    if let Some(pump) = pump {
        if !deliver::reads_fill(&response) {
            pump.writer.fill().interest().keep();
        }
        tokio::task::spawn_local(pump.run());
    }
    response
}

#[cfg(test)]
mod tests;
