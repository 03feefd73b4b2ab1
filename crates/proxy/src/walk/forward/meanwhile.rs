//! What other requests have fetched between a request's lookup and its own flight.

use crate::{
    ask::Ask,
    cache::Worker,
    clock,
    walk::lookup::{self, Decision, Hit, Looked, Need},
};
use rules::status::ForwardReason;

/// What another flight has landed after a request's lookup and before its own flight took off.
pub enum Meanwhile {
    /// Nothing that changes what the request needs.
    Nothing,
    /// What the request asks for.
    Answer(Box<Hit>),
    /// Other variants than the one that it asks for.
    Variants(Need),
}

/// Looks again once a flight has taken off: from now on no other request fetches the same.
pub fn meanwhile(worker: &Worker, ask: &Ask, need: &Need) -> Meanwhile {
    // The client wants the origin's own answer.
    if need.is_for_the_origin() {
        return Meanwhile::Nothing;
    }
    match lookup::find(worker, ask, clock::now()) {
        Looked::Decided(Decision::Hit(mut hit)) => {
            // The request may have followed another flight before.
            hit.outcome.waited = true;
            Meanwhile::Answer(Box::new(hit))
        }
        Looked::Decided(Decision::Forward(now))
            if now.why == ForwardReason::VaryMiss && need.why != ForwardReason::VaryMiss =>
        {
            Meanwhile::Variants(now)
        }
        Looked::Decided(_) | Looked::Wait(_) => Meanwhile::Nothing,
    }
}
