//! Who follows: what a landed flight leaves for each of those who waited.

use super::{Left, answer, not_fetched, page_key};
use crate::{
    ask::Ask,
    body::ReplyBody,
    cache::Worker,
    collapse::{Follower, Landed},
    error::Failure,
    walk::{
        below, deliver,
        fetch::Landing,
        land,
        lookup::{Found, Need},
        receive,
    },
};
use http::Response;
use rules::{reuse, status::Handled};
use std::rc::Rc;

pub async fn follow(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    need: Need,
    mut follower: Follower,
) -> Result<Response<ReplyBody>, Left> {
    let landed = tokio::time::timeout(ask.policy().collapse_wait, follower.landed()).await;
    let response = match landed {
        Ok(Landed::Stored) => match below::find(worker, ask, receive::now()).await {
            Found::Hit(mut hit) | Found::StaleHit(mut hit) => {
                let handled = Handled::Forwarded {
                    why: need.why,
                    status: None,
                    stored: false,
                    collapsed: true,
                };
                hit.outcome.handled = handled;
                deliver::stored(worker, ask, hit)
            }
            Found::Forward(now) if page_key(ask, &now) != page_key(ask, &need) => {
                return Err(Left::Together(now));
            }
            Found::Forward(need) => return Err(Left::Alone(need)),
            Found::Bypass(_) => return Err(Left::Alone(need)),
        },
        Ok(Landed::Overtaken) => match below::find(worker, ask, receive::now()).await {
            Found::Hit(hit) | Found::StaleHit(hit) => deliver::stored(worker, ask, hit),
            Found::Forward(need) => return Err(Left::Together(need)),
            Found::Bypass(_) => return Err(Left::Alone(need)),
        },
        Ok(Landed::Found) => match below::find(worker, ask, receive::now()).await {
            Found::Hit(hit) | Found::StaleHit(hit) => deliver::stored(worker, ask, hit),
            Found::Forward(need) => return Err(Left::Alone(need)),
            Found::Bypass(_) => return Err(Left::Alone(need)),
        },
        Ok(Landed::Failed(error)) => {
            let why = error.kind().detail();
            let failed = Landing::Failed(Failure::Origin(error));
            let landing =
                stale(worker, ask, &need, reuse::Failure::Unreachable, why).unwrap_or(failed);
            answer(worker, ask, &need, not_fetched(ask, landing))
        }
        Ok(Landed::Stale(failure, why)) => match stale(worker, ask, &need, failure, why) {
            Some(landing) => answer(worker, ask, &need, not_fetched(ask, landing)),
            None => return Err(Left::Alone(need)),
        },
        Ok(Landed::Released | Landed::Flying) | Err(_) => return Err(Left::Alone(need)),
    };
    Ok(response)
}

/// What is stored, for a follower whose leader found the origin failing.
fn stale(
    worker: &Worker,
    ask: &Ask,
    need: &Need,
    failure: reuse::Failure,
    why: &'static str,
) -> Option<Landing> {
    let stored = land::usable_on_failure(worker, ask, need, failure)?;
    Some(Landing::Stale {
        stored,
        failure,
        why,
    })
}
