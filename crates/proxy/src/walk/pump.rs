//! Pump: moves a body from the origin into a fill, and the fill into the store.

mod deserted;
mod destination;
mod room;

pub use destination::{Before, Destination};
pub use room::{Room, begin_fill};

use crate::{
    cache::Worker,
    collapse::LastWord,
    content_key::errors::ErrorSearch,
    endings::Ending,
    error::Failure,
    hit_for_miss::Unshared,
    outcome::bump,
    patience::{self, STILL},
    walk::arrival::{Arrival, ArrivalPiece},
};
use deserted::Deserted;
use std::{
    future::poll_fn,
    rc::Rc,
    task::{Context, Poll},
};
use store::{Body, Reservation, fill::Writer};
use tokio::task::yield_now;

/// Moves a body from the origin into a fill, and the fill into the store.
pub struct Pump {
    worker: Rc<Worker>,
    body: Arrival,
    /// The end of the fill that it writes.
    pub writer: Writer,
    destination: Destination,
    room: Room,
    /// Whether the store was told that the response is not kept.
    withdrawn: bool,
    /// How it is searched for errors of a GraphQL service. If there are any, it is not kept.
    errors: ErrorSearch,
    /// Tells the followers of the flight that landed with this body if it breaks off or is not kept.
    followers: Option<LastWord>,
    /// Room for what may wait of the body while it is not read.
    unread: Option<Reservation>,
    /// Looks after the fill while nobody reads it.
    deserted: Deserted,
    /// Begun once all of the body has come.
    ending: Option<Ending>,
}

/// A body that is about to be moved from the origin into a fill.
pub struct Inflow {
    /// Where the body comes from.
    pub arrival: Arrival,
    /// The fill that the body goes into.
    pub writer: Writer,
    /// How much of the body may be kept.
    pub room: Room,
    /// How it is searched for errors of a GraphQL service. If there are any, it is not kept.
    pub errors: ErrorSearch,
}

impl Inflow {
    /// Returns the pump that moves it once it is run. `destination` is what becomes of the whole body.
    pub fn pump(self, worker: &Rc<Worker>, destination: Destination) -> Box<Pump> {
        let mut pump = Pump::new(worker, self.arrival, self.writer, destination, self.room);
        pump.errors = self.errors;
        pump
    }
}

impl Pump {
    /// Creates a pump that has not begun. It is boxed because it is large and is moved often.
    pub fn new(
        worker: &Rc<Worker>,
        body: Arrival,
        writer: Writer,
        destination: Destination,
        room: Room,
    ) -> Box<Self> {
        let unread = body.unread();
        let unread = (unread > 0).then(|| {
            let mut held = worker.cache.memory.budget().reservation();
            held.hold(unread);
            held
        });
        Box::new(Self {
            worker: worker.clone(),
            body,
            writer,
            unread,
            destination,
            room,
            withdrawn: false,
            errors: ErrorSearch::Nothing,
            followers: None,
            deserted: Deserted::default(),
            ending: None,
        })
    }

    /// Lets the followers of a flight hear first if the body breaks off or is not kept.
    pub fn tell(&mut self, followers: LastWord) {
        self.followers = Some(followers);
    }

    /// Runs until the body has ended or failed, or nothing wants it any more.
    pub async fn run(mut self: Box<Self>) {
        bump(&self.worker.counters.fills);
        loop {
            self.body.read_little_if(self.writer.is_short());
            let Some(next) = poll_fn(|context| self.poll_next(context)).await else {
                // Nothing wants it any more.
                bump(&self.worker.counters.fills_failed);
                return self.destination.take_back(&self.worker);
            };
            match next {
                ArrivalPiece::Received(data) => self.takes(&data),
                ArrivalPiece::Stored(data) => {
                    self.takes(&data);
                    yield_now().await;
                }
                ArrivalPiece::End => {
                    self.unread = None;
                    self.ends();
                    self.wait_for_device().await;
                    return self.complete();
                }
                ArrivalPiece::Broken(why) => return self.breaks_off(&why),
            }
            self.worker.cache.memory.make_room();
            self.wait_for_room().await;
        }
    }

    /// Polls for the next piece; `None` if nothing wants it.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<ArrivalPiece>> {
        let is_found = || self.destination.is_found(&self.worker);
        let abandoned = self
            .deserted
            .poll_abandoned(&self.writer, is_found, context);
        if abandoned.is_ready() {
            return Poll::Ready(None);
        }
        self.body.poll_next(context).map(Some)
    }

    fn breaks_off(self, why: &Failure) {
        let counters = &self.worker.counters;
        bump(&counters.fills_failed);
        if why.is_the_origins() {
            bump(&counters.origin_errors);
            if let Some(followers) = &self.followers {
                followers.failed(why);
            }
        }
        if let Some(unanswered) = Unshared::of_failure(why) {
            self.destination.note(&self.worker, unanswered);
        }
        self.destination.take_back(&self.worker);
        self.writer.fail(why.token());
    }

    /// Takes more of the body. It is copied: stored content must not share memory with other stored content, which
    /// would seem to read it.
    fn takes(&mut self, data: &[u8]) {
        let fill = self.writer.fill();
        let received = fill.received() + data.len() as u64;
        if fill.length() == Some(received) {
            // The client may be done, and gone, before the disk is.
            self.ends();
        }
        if received > self.room.largest {
            if !self.writer.is_spilled() {
                // Other requests need not wait for the next one.
                self.destination.note(&self.worker, Unshared::TooLarge);
            }
            self.writer.spill();
        } else if received > self.room.in_memory {
            self.writer.overflow();
        }
        self.destination.note_received(received);
        self.writer.push(data);
    }

    fn ends(&mut self) {
        self.ending
            .get_or_insert_with(|| self.worker.endings.begin());
    }

    /// Waits until more may be pushed. A response that is not kept any more is withdrawn.
    async fn wait_for_room(&mut self) {
        let Self {
            worker,
            writer,
            destination,
            withdrawn,
            ..
        } = self;
        patience::wait_for_room(writer, |writer| {
            if writer.is_spilled() && !*withdrawn {
                *withdrawn = true;
                destination.withdraw(worker);
            }
        })
        .await;
    }

    /// Waits until the device has all of a body that has come completely, or gives the body up.
    async fn wait_for_device(&mut self) {
        let end = poll_fn(|context| self.writer.poll_end(context));
        if tokio::time::timeout(STILL, end).await.is_err() {
            self.writer.spill();
        }
    }

    fn complete(mut self) {
        let fill = self.writer.fill().clone();
        let body = self.writer.finish();
        let has_come = body.is_some();
        if !has_come && !self.withdrawn {
            self.destination.withdraw(&self.worker);
        }
        let body = match body {
            Some(body) if has_errors(self.errors, &body) => {
                if let Some(followers) = &self.followers {
                    self.destination.pass_on(body, followers);
                }
                None
            }
            body => body,
        };
        let is_kept = self.destination.keep(&self.worker, body);
        if has_come && !is_kept {
            fill.spill();
        }
    }
}

/// Whether a GraphQL answer tells of errors, or is too large to be searched for them.
fn has_errors(search: ErrorSearch, body: &Body) -> bool {
    if search == ErrorSearch::Nothing {
        return false;
    }
    match body {
        Body::Whole(bytes) => search.finds(bytes),
        Body::Mapped(extent) => search.finds(&extent.bytes()),
        Body::Chunks(chunks) => search.finds(&chunks.concat()),
        Body::Disk(_) | Body::Parts(_) | Body::Filling(_) => true,
    }
}

#[cfg(test)]
mod tests;
