//! What is known about a connection while it lives, and how the coarse clock judges it.
//!
//! A `Watch` is shared by the connection's I/O, its requests and the worker's clock. All of them run on the worker's
//! thread. Its fields are atomics, read and written relaxed, only because `hyper` requires the I/O of an upgradable
//! connection to be `Send`.
//!
//! The I/O tells it what moves (`bytes`), the service tells it about requests (`requests`), and the clock judges
//! (`judge`).

mod bytes;
mod judge;
mod requests;
mod stage;
mod waits;

pub(super) use bytes::Reading;
pub(super) use judge::{Patience, Verdict};
pub(super) use stage::{Order, Stage};
pub(super) use waits::{Wait, Waits};

use super::{counters::Counters, interim::Outbox};
use std::{
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed},
    },
    task::Waker,
};
use store::Memory;

/// Clock and counters of one accept loop.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) counters: Arc<Counters>,
    /// Counts heads that have come only in part; `None` if nothing does.
    pub(super) memory: Option<Arc<Memory>>,
    /// Steps since the loop began, plus one: 0 means "not".
    tick: AtomicU32,
}

impl Worker {
    pub(super) fn new(counters: Arc<Counters>, memory: Option<Arc<Memory>>) -> Arc<Self> {
        Arc::new(Self {
            counters,
            memory,
            tick: AtomicU32::new(1),
        })
    }

    pub(super) fn now(&self) -> u32 {
        self.tick.load(Relaxed)
    }

    /// Advances the clock by one step. Skips 0 when it wraps (after decades).
    pub(super) fn step(&self) -> u32 {
        let now = self.now().wrapping_add(1).max(1);
        self.tick.store(now, Relaxed);
        now
    }
}

/// One connection. See the module.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) worker: Arc<Worker>,
    stage: AtomicU8,
    order: AtomicU8,
    waker: OnceLock<Waker>,
    /// When the present stage, or the present idleness, began.
    since: AtomicU32,
    /// When the head being read began; 0 if none is being read.
    head_since: AtomicU32,
    /// Since when content of a request is awaited (HTTP/1). Bytes that bring no content make no difference.
    awaited_since: AtomicU32,
    /// When the client ended its side while a request was in flight; 0 if it did not.
    ended_at: AtomicU32,
    /// When bytes were last written.
    written_at: AtomicU32,
    /// When the client last took bytes that TLS had written; 0 without TLS, where it takes what is written.
    taken_at: AtomicU32,
    /// Whether the client's window is full.
    write_blocked: AtomicBool,
    /// Whether everything that was written is sent: the connection is between two messages.
    between: AtomicBool,
    /// Requests being answered.
    in_flight: AtomicU32,
    /// Request bodies that a task waits for.
    bodies_awaited: AtomicU32,
    contents: Waits,
    /// Bodies of answers that have more to give than the client takes (HTTP/1).
    bodies_owed: AtomicU32,
    /// The same for HTTP/2: each waits until its client has room for some of it.
    pub(super) pieces: Waits,
    /// Whether a request was answered since `hyper`'s turn began.
    answered: AtomicBool,
    /// How many reasons `hyper` has to keep the connection, such as a request that was more than its head.
    kept: AtomicU32,
    /// Whether content of a request was left unread: the connection ends with the answer.
    unread: AtomicBool,
    /// Whether the client holds content back until it is told to continue, and has not been told (HTTP/1).
    held_back: AtomicBool,
    /// HTTP/2 requests that the client let finish, and those that it cancelled.
    finished: AtomicU32,
    cancelled: AtomicU32,
    pub(super) outbox: Outbox,
    /// The raw bytes of the head being read (HTTP/1 only), for what `hyper` hides.
    pub(super) head: Mutex<Vec<u8>>,
}

impl Watch {
    pub(super) fn new(worker: Arc<Worker>) -> Arc<Self> {
        let now = worker.now();
        Arc::new(Self {
            worker,
            stage: AtomicU8::new(Stage::Handshake as u8),
            order: AtomicU8::new(Order::Serve as u8),
            waker: OnceLock::new(),
            since: AtomicU32::new(now),
            head_since: AtomicU32::new(0),
            awaited_since: AtomicU32::new(now),
            ended_at: AtomicU32::new(0),
            written_at: AtomicU32::new(now),
            taken_at: AtomicU32::new(0),
            write_blocked: AtomicBool::new(false),
            between: AtomicBool::new(true),
            in_flight: AtomicU32::new(0),
            bodies_awaited: AtomicU32::new(0),
            contents: Waits::default(),
            bodies_owed: AtomicU32::new(0),
            pieces: Waits::default(),
            answered: AtomicBool::new(false),
            kept: AtomicU32::new(0),
            unread: AtomicBool::new(false),
            held_back: AtomicBool::new(false),
            finished: AtomicU32::new(0),
            cancelled: AtomicU32::new(0),
            outbox: Outbox::default(),
            head: Mutex::default(),
        })
    }

    pub(super) fn stage(&self) -> Stage {
        Stage::of(self.stage.load(Relaxed))
    }

    pub(super) fn enter(&self, stage: Stage) {
        self.stage.store(stage as u8, Relaxed);
        self.since.store(self.worker.now(), Relaxed);
    }

    pub(super) fn order(&self) -> Order {
        Order::of(self.order.load(Relaxed))
    }

    /// Gives the connection's task an order; the most severe order stands.
    pub(super) fn tell(&self, order: Order) {
        if order > self.order() {
            self.order.store(order as u8, Relaxed);
            self.wake();
        }
    }

    /// Remembers the task to wake. A spawned task's waker stays the same, so once is enough.
    pub(super) fn remember(&self, waker: &Waker) {
        self.waker.get_or_init(|| waker.clone());
    }

    pub(super) fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests;
