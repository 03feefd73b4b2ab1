//! What others have fetched between a request's lookup and its own flight.

use crate::{
    ask::Ask,
    cache::Worker,
    clock,
    walk::lookup::{self, Decision, Hit, Looked, Need},
};
use rules::status::ForwardReason;

/// What another flight has landed after a request's lookup and before its own took off.
pub enum Meanwhile {
    /// Nothing that changes what is to be done.
    Nothing,
    /// What the request asks for.
    Answer(Box<Hit>),
    /// Other variants than the one it asks for.
    Variants(Need),
}

/// Looks again, once a flight has taken off: from now on nobody else fetches the same.
pub fn meanwhile(worker: &Worker, ask: &Ask, need: &Need) -> Meanwhile {
    // The client wants the origin's own word.
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
