//! Pump: moves a body from the origin into a fill, and the fill into the store.

use crate::{
    ask::Ask,
    cache::{Cache, Worker},
    content_key::operation,
    outcome::bump,
    patience::{self, STILL},
    walk::{
        arrival::{Arrival, Piece},
        below,
    },
};
use rules::time::Time;
use std::{
    future::poll_fn,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
};
use store::{
    Body, Reservation, Stored,
    fill::{Backing, Overflow, Pushed, Writer},
    shared::Lease,
};

/// Moves a body from the origin into a fill, and the fill into the store.
pub struct Pump {
    worker: Rc<Worker>,
    body: Arrival,
    pub writer: Writer,
    destination: Destination,
    room: Room,
    /// Whether the store was told that it is not kept.
    forgotten: bool,
    /// A GraphQL answer, which is kept only if it tells of no errors.
    without_errors: bool,
    /// What may wait of the body while it is not read.
    unread: Option<Reservation>,
}

/// How much of a body is kept, and where.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Larger bodies are not kept in memory.
    pub in_memory: u64,
    /// Larger bodies are not kept at all.
    largest: u64,
}

impl Room {
    /// The room for what `ask` fetches.
    pub fn of(worker: &Worker, ask: &Ask) -> Self {
        let largest = ask.policy().largest_body;
        let in_memory = largest.min(worker.cache.memory.largest_body());
        let largest = match worker.cache.disk {
            Some(_) => largest,
            None => in_memory,
        };
        Self { in_memory, largest }
    }

    /// Announces a body of `length` bytes, if that is known, to its fill. Whether it has a chance to be kept.
    pub fn admits(
        &self,
        worker: &Worker,
        ask: &Ask,
        length: Option<u64>,
        writer: &mut Writer,
    ) -> bool {
        writer.announce(length);
        if worker.cache.disk.is_some() {
            writer.overflow_to(Arc::new(ToDisk {
                cache: worker.cache.clone(),
                key: ask.key.as_bytes().into(),
                now: ask.now,
            }));
        }
        match length {
            Some(length) if length > self.largest => false,
            Some(length) if length > self.in_memory => writer.overflow() == Pushed::Kept,
            _ => true,
        }
    }
}

/// The disk, for a body that outgrows memory: taken when it is asked for the second time, so that a scan does not wear the
/// device out, or where it takes the place of one that is there.
#[derive(Debug)]
struct ToDisk {
    cache: Arc<Cache>,
    key: Box<[u8]>,
    now: Time,
}

impl Overflow for ToDisk {
    fn begin(&self, length: Option<u64>) -> Option<Box<dyn Backing>> {
        let disk = self.cache.disk.as_ref()?;
        let again = self.cache.fetched.knows(&self.key, self.now) || disk.knows(&self.key);
        self.cache.fetched.remember(&self.key, 0, self.now);
        if !again {
            return None;
        }
        Overflow::begin(&**disk, length)
    }
}

/// What a response took the place of, and what that takes of the budget meanwhile. It comes back where the new one's body breaks
/// off: an origin that fails half-way leaves what is stored as usable as one that fails at once (RFC 9111 section 4.2.4).
pub struct Before {
    pub stored: Arc<Stored>,
    pub _room: Reservation,
}

/// What becomes of a body once it is complete.
pub enum Destination {
    /// It takes the place of the fill in this stored response.
    Whole {
        key: Vec<u8>,
        stored: Arc<Stored>,
        before: Option<Before>,
        lease: Option<Lease>,
    },
    /// It is given to this function, which stores it (parts, answers to POST).
    Then(StoreBody),
}

/// What stores a complete body.
type StoreBody = Box<dyn FnOnce(&Worker, Body)>;

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
            forgotten: false,
            without_errors: false,
        })
    }

    /// Whether the body announces a length, of at most `bytes`.
    pub fn is_at_most(&self, bytes: u64) -> bool {
        let announced = self.writer.fill().length();
        announced.is_some_and(|length| length <= bytes)
    }

    /// Keeps the body only if it is GraphQL's answer without errors.
    pub fn if_without_errors(mut self: Box<Self>, required: bool) -> Box<Self> {
        self.without_errors = required;
        self
    }

    /// Runs until the body has ended, has failed, or nobody wants it any more.
    pub async fn run(mut self: Box<Self>) {
        bump(&self.worker.counters.fills);
        let mut received = 0u64;
        let announced = self.writer.fill().length();
        let mut ending = None;
        loop {
            self.body.read_little(self.writer.is_short());
            let next = poll_fn(|context| next_piece(&self.writer, &mut self.body, context)).await;
            match next {
                Piece::Data(data) => {
                    received += data.len() as u64;
                    if announced == Some(received) {
                        // Its client may be done, and gone, before the disk is.
                        ending = Some(self.worker.endings.begin());
                    }
                    if received > self.room.largest {
                        self.writer.spill();
                    } else if received > self.room.in_memory {
                        self.writer.overflow();
                    }
                    self.writer.push(&data);
                    drop(data);
                    self.worker.cache.memory.make_room();
                    self.wait_for_room().await;
                }
                Piece::End => {
                    self.unread = None;
                    ending.get_or_insert_with(|| self.worker.endings.begin());
                    self.wait_for_device().await;
                    return self.complete();
                }
                Piece::Broken => {
                    bump(&self.worker.counters.fills_failed);
                    self.take_back();
                    return;
                }
            }
        }
    }

    /// The response broke off: what was there before is there again, unless it was purged or replaced meanwhile.
    fn take_back(&self) {
        if let Destination::Whole {
            key,
            stored,
            before: Some(before),
            ..
        } = &self.destination
            && {
                let memory = &self.worker.cache.memory;
                memory.put_back(key, stored.id(), &before.stored)
            }
        {
            return;
        }
        forget(&self.worker, &self.destination);
    }

    /// Waits until more may be pushed. What is not kept any more is not found any more.
    async fn wait_for_room(&mut self) {
        let Self {
            worker,
            writer,
            destination,
            forgotten,
            ..
        } = self;
        patience::wait_for_room(writer, |writer| {
            if writer.is_spilled() && !*forgotten {
                *forgotten = true;
                forget(worker, destination);
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
        let memory = &self.worker.cache.memory;
        let fill = self.writer.fill().clone();
        match (self.writer.finish(), self.destination) {
            // The device failed, or it was not kept: nobody is to find it.
            (None, Destination::Whole { key, stored, .. }) => memory.remove(&key, stored.id()),
            (None, Destination::Then(_)) => {}
            (Some(body), Destination::Whole { key, stored, .. })
                if self.without_errors && has_errors(&body) =>
            {
                memory.remove(&key, stored.id());
                fill.let_go();
            }
            (
                Some(body),
                Destination::Whole {
                    key, stored, lease, ..
                },
            ) => {
                // Where it is not in its place any more it was withdrawn, or a later one has come.
                let whole =
                    memory.amend(&key, stored.id(), |held| Some(held.clone().with_body(body)));
                let Some(whole) = whole else {
                    fill.let_go();
                    return;
                };
                let (marks, checked) = (whole.marks.as_deref(), whole.checked());
                if !memory.log().refuses(&key, marks, checked) {
                    below::keep(&self.worker, &key, &whole, lease);
                    // Besides by the request that fetched it.
                    if stored.uses() > 1 {
                        below::keep_asked_for(&self.worker, &key, &whole);
                    }
                }
            }
            (Some(body), Destination::Then(store)) => store(&self.worker, body),
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

/// The response is not to be found any more; those who read it go on.
fn forget(worker: &Worker, destination: &Destination) {
    if let Destination::Whole { key, stored, .. } = destination {
        worker.cache.memory.remove(key, stored.id());
    }
}

/// What comes next; nothing more where nobody wants it.
fn next_piece(writer: &Writer, body: &mut Arrival, context: &mut Context<'_>) -> Poll<Piece> {
    if writer.fill().poll_abandoned(context).is_ready() {
        return Poll::Ready(Piece::Broken);
    }
    body.poll_next(context)
}

#[cfg(test)]
mod tests;
