//! The leader's side of a flight.

use crate::{
    ask::Ask,
    cache::Worker,
    clock,
    collapse::{Flight, FlightStatus},
    outcome::{Detail, Unkept},
    walk::{
        below::{self, Role, SharedLookup},
        fetch::{self, Fetched, Landing},
        forward::not_fetched,
        lookup::Need,
        pump::Pump,
    },
};
use std::{future::poll_fn, rc::Rc};
use store::{Body, Stored, fill::Writer};
use tokio::sync::oneshot;

/// A leader's fetch: a task of its own, so that it outlives its client while others follow.
pub struct Leader {
    /// The worker that serves its client; the fetch stays there.
    pub worker: Rc<Worker>,
    /// The leader's request.
    pub ask: Rc<Ask>,
    /// What it must bring, and what is already stored.
    pub need: Need,
    /// The fill that followers are interested in.
    pub writer: Writer,
    /// Tells followers how the fetch ends.
    pub flight: Flight,
    /// Where the leader's client waits; `None` for a refresh.
    pub to: Option<oneshot::Sender<Fetched>>,
}

impl Leader {
    /// Fetches, lands the flight, hands over the answer and fills the body.
    pub async fn fly(self) {
        let Self {
            worker,
            ask,
            need,
            writer,
            mut flight,
            to,
        } = self;
        let fill = writer.fill().clone();
        let role = match to {
            Some(_) => Role::Leader(&mut flight),
            None => Role::Refresh(&mut flight),
        };
        let fetching = ask_below(&worker, &ask, need, writer, role);
        let abandoned = poll_fn(|context| fill.poll_abandoned(context));
        let mut fetched = tokio::select! {
            biased;
            fetched = fetching => fetched,
            () = abandoned => return,
        };
        let mut pump = take_pump(&mut fetched.landing);
        if let Some(pump) = &mut pump {
            pump.tell(flight.last_word());
        }
        if has_failed(&ask, &fetched.landing) {
            ask.remember_failed(&worker, flight.key(), clock::now());
        }
        let coming = match flight_status(&fetched.landing) {
            FlightStatus::PartComing(part) => {
                flight.tell(part.clone());
                Some((flight, part))
            }
            status => {
                flight.land(status);
                None
            }
        };
        match to {
            // A client that has left does not take the answer; followers may still want the body.
            Some(to) => drop(to.send(fetched)),
            // No client reads it. A reader that was kept would make the pump wait.
            None => drop(fetched),
        }
        if let Some(pump) = pump {
            pump.run().await;
        }
        if let Some((flight, part)) = coming {
            flight.land(FlightStatus::Fetched(part));
        }
    }
}

/// Whether the origin has failed, so that it must not be asked again at once for something that no client waits for.
fn has_failed(ask: &Ask, landing: &Landing) -> bool {
    match landing {
        Landing::Failed(failure) => failure.is_the_origins(),
        Landing::Stale { .. } => true,
        Landing::Raw { head, .. } => ask.policy().stale.is_failure(head.status),
        Landing::Found(_) | Landing::Stored { .. } => false,
    }
}

/// Returns how a flight ends once the head is there.
fn flight_status(landing: &Landing) -> FlightStatus {
    match landing {
        Landing::Found(_) => FlightStatus::FoundHere,
        Landing::Stored { stored, kept, .. } => match kept {
            Ok(()) | Err(Detail::Unkept(Unkept::Beside | Unkept::Overruled))
                if is_coming(stored) =>
            {
                FlightStatus::PartComing(stored.clone())
            }
            Ok(()) => FlightStatus::Fetched(stored.clone()),
            Err(Detail::Unkept(Unkept::Invalidated | Unkept::Superseded)) => {
                FlightStatus::Overtaken
            }
            Err(Detail::Unkept(Unkept::Overruled)) => FlightStatus::Unkept(stored.clone()),
            Err(_) => FlightStatus::Released,
        },
        Landing::Failed(failure) if failure.is_the_origins() => {
            FlightStatus::Failed(failure.clone())
        }
        Landing::Stale { why, .. } => FlightStatus::Stale(why.clone()),
        Landing::Raw { .. } | Landing::Failed(_) => FlightStatus::Released,
    }
}

/// Whether its body is a part that is on its way.
fn is_coming(stored: &Stored) -> bool {
    matches!(&stored.body, Body::Parts(parts) if parts.is_coming())
}

/// Fetches for a leader, if the shared tier does not answer.
async fn ask_below(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    need: Need,
    writer: Writer,
    mut role: Role<'_>,
) -> Fetched {
    match below::look_up_shared(worker, ask, need, &mut role).await {
        SharedLookup::Hit(hit) => not_fetched(Landing::Found(Box::new(hit))),
        SharedLookup::Need(need, lease) => {
            if let Some(flight) = role.flight() {
                flight.asks_origin();
            }
            fetch::fetch(worker, ask, &need, Some(writer), lease).await
        }
    }
}

/// Takes the pump out of `landing`; `None` if no body is to be moved.
pub fn take_pump(landing: &mut Landing) -> Option<Box<Pump>> {
    match landing {
        Landing::Stored { pump, .. } | Landing::Raw { pump, .. } => pump.take(),
        Landing::Found(_) | Landing::Stale { .. } | Landing::Failed(_) => None,
    }
}
