//! Pump: moves a body from the origin into a fill, and the fill into the store.

mod destination;
mod room;

pub use destination::{Before, Destination};
pub use room::Room;

use crate::{
    cache::Worker,
    collapse::LastWord,
    content_key::operation,
    endings::Ending,
    error::Failure,
    hit_for_miss::Unshared,
    outcome::bump,
    patience::{self, STILL},
    walk::arrival::{Arrival, ArrivalPiece},
};
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
    /// The fill's end that it writes.
    pub writer: Writer,
    destination: Destination,
    room: Room,
    /// Whether the store was told that it is not kept.
    withdrawn: bool,
    /// A GraphQL answer, which is kept only if it tells of no errors.
    without_errors: bool,
    /// Where those hear who followed the flight that it has landed with.
    followers: Option<LastWord>,
    /// What may wait of the body while it is not read.
    unread: Option<Reservation>,
    /// From when on all of it has come.
    ending: Option<Ending>,
}

/// A body that is about to be moved from the origin into a fill.
pub struct Inflow {
    /// Where it comes from.
    pub arrival: Arrival,
    /// The fill that it goes into.
    pub writer: Writer,
    /// How much of it may be kept.
    pub room: Room,
}

impl Inflow {
    /// What moves it on, once it is run. `destination`: what becomes of the whole.
    pub fn pump(self, worker: &Rc<Worker>, destination: Destination) -> Box<Pump> {
        Pump::new(worker, self.arrival, self.writer, destination, self.room)
    }
}

impl Pump {
    /// A pump that has not begun. Boxed, since it is large, and goes through many hands.
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
            without_errors: false,
            followers: None,
            ending: None,
        })
    }

    /// Has those who followed a flight hear of it first, should the body break off.
    pub fn tell(&mut self, followers: LastWord) {
        self.followers = Some(followers);
    }

    /// Keeps the body only if it is GraphQL's answer without errors.
    pub fn if_without_errors(mut self: Box<Self>, required: bool) -> Box<Self> {
        self.without_errors = required;
        self
    }

    /// Runs until the body has ended, has failed, or nobody wants it any more.
    pub async fn run(mut self: Box<Self>) {
        bump(&self.worker.counters.fills);
        loop {
            self.body.read_little(self.writer.is_short());
            let next = poll_fn(|context| next_piece(&self.writer, &mut self.body, context)).await;
            let Some(next) = next else {
                // Nobody wants it any more.
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
        self.writer.fail(why.detail());
    }

    /// More has come. It is copied: what is to be stored shares memory with nothing else that was, which would seem to read it.
    fn takes(&mut self, data: &[u8]) {
        let fill = self.writer.fill();
        let received = fill.received() + data.len() as u64;
        if fill.length() == Some(received) {
            // Its client may be done, and gone, before the disk is.
            self.ends();
        }
        if received > self.room.largest {
            if !self.writer.is_spilled() {
                // Others need not wait for the next one.
                self.destination.note(&self.worker, Unshared::TooLarge);
            }
            self.writer.spill();
        } else if received > self.room.in_memory {
            self.writer.overflow();
        }
        self.writer.push(data);
    }

    fn ends(&mut self) {
        self.ending
            .get_or_insert_with(|| self.worker.endings.begin());
    }

    /// Waits until more may be pushed. What is not kept any more is not found any more.
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

    /// Waits until the device has all of a body that has come as a whole, or is given up.
    async fn wait_for_device(&mut self) {
        let end = poll_fn(|context| self.writer.poll_end(context));
        if tokio::time::timeout(STILL, end).await.is_err() {
            self.writer.spill();
        }
    }

    fn complete(self) {
        let fill = self.writer.fill().clone();
        let body = self.writer.finish();
        let has_come = body.is_some();
        if !has_come && !self.withdrawn {
            self.destination.withdraw(&self.worker);
        }
        let body = body.filter(|body| !(self.without_errors && has_errors(body)));
        let is_kept = self.destination.keep(&self.worker, body);
        if has_come && !is_kept {
            fill.spill();
        }
    }
}

/// Whether a GraphQL answer tells of errors, or is too large to be looked through.
fn has_errors(body: &Body) -> bool {
    match body {
        Body::Whole(bytes) => operation::has_errors(bytes),
        Body::Mapped(extent) => operation::has_errors(&extent.bytes()),
        Body::Chunks(chunks) => operation::has_errors(&chunks.concat()),
        Body::Disk(_) | Body::Parts(_) | Body::Filling(_) => true,
    }
}

/// What comes next; `None` where nobody wants it.
fn next_piece(
    writer: &Writer,
    body: &mut Arrival,
    context: &mut Context<'_>,
) -> Poll<Option<ArrivalPiece>> {
    if writer.fill().poll_abandoned(context).is_ready() {
        return Poll::Ready(None);
    }
    body.poll_next(context).map(Some)
}

#[cfg(test)]
mod tests;
