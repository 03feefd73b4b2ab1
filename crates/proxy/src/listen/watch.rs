//! What is known of one connection while it lives, and what the coarse clock makes of it.
//!
//! A `Watch` is shared by the connection's I/O, its requests and the worker's clock. All of them run on the worker's thread; the
//! fields are atomics, read and written relaxed, only because `hyper` wants the I/O of an upgradable connection to be `Send`.

use super::{config::Limits, counters::Counters, interim::Outbox};
use std::{
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed},
    },
    task::Waker,
    time::Duration,
};

/// Clock and counters of one accept loop.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) counters: Arc<Counters>,
    /// Steps since the loop began, plus one: 0 means "not".
    tick: AtomicU32,
}

impl Worker {
    pub(super) fn new(counters: Arc<Counters>) -> Arc<Self> {
        Arc::new(Self {
            counters,
            tick: AtomicU32::new(1),
        })
    }

    pub(super) fn now(&self) -> u32 {
        self.tick.load(Relaxed)
    }

    /// One step of the clock. Skips 0 when it wraps (after decades).
    pub(super) fn step(&self) -> u32 {
        let now = self.now().wrapping_add(1).max(1);
        self.tick.store(now, Relaxed);
        now
    }
}

/// `Limits`' times in steps of the clock, rounded up and one more, so that no limit strikes early.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    head: u32,
    idle: u32,
    body: u32,
    write: u32,
    handshake: u32,
    linger: u32,
}

impl Patience {
    pub(super) fn new(limits: &Limits) -> Self {
        let tick = limits.tick.as_nanos().max(1);
        let steps = |time: Duration| {
            let steps = time.as_nanos().div_ceil(tick) + 1;
            u32::try_from(steps).unwrap_or(u32::MAX)
        };
        Self {
            head: steps(limits.head_time),
            idle: steps(limits.idle_time),
            body: steps(limits.body_time),
            write: steps(limits.write_time),
            handshake: steps(limits.handshake_time),
            linger: steps(limits.linger_time),
        }
    }
}

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    /// PROXY protocol and TLS.
    Handshake = 0,
    Http1 = 1,
    Http2 = 2,
    /// The last answer is out; reading on so that it arrives.
    Linger = 3,
    /// Upgraded: no longer ours to time.
    Tunnel = 4,
    /// Plain, and not a word yet.
    Silent = 5,
}

impl Stage {
    fn of(byte: u8) -> Self {
        match byte {
            0 => Self::Handshake,
            1 => Self::Http1,
            2 => Self::Http2,
            3 => Self::Linger,
            5 => Self::Silent,
            _ => Self::Tunnel,
        }
    }
}

/// What a connection's task is told to do. Only ever more severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Order {
    Serve = 0,
    /// Finish what is in flight, take nothing new.
    Drain = 1,
    /// Answer 408 where no answer has begun, then close.
    Timeout = 2,
    /// Answer 414, then close.
    TargetTooLong = 3,
    /// Close without a word.
    Close = 4,
}

impl Order {
    fn of(byte: u8) -> Self {
        match byte {
            0 => Self::Serve,
            1 => Self::Drain,
            2 => Self::Timeout,
            3 => Self::TargetTooLong,
            _ => Self::Close,
        }
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
    /// When the head being read began; 0 when none is.
    head_since: AtomicU32,
    /// When bytes last came.
    read_at: AtomicU32,
    /// When the client ended its side while a request was in flight; 0: it did not.
    ended_at: AtomicU32,
    /// When bytes last went.
    written_at: AtomicU32,
    /// Whether the client's window is full.
    write_blocked: AtomicBool,
    /// Whether everything that was written is out: we stand between two messages.
    between: AtomicBool,
    /// Requests being answered.
    in_flight: AtomicU32,
    /// Request bodies somebody waits for.
    bodies_awaited: AtomicU32,
    /// Answers' bodies that have more to give than the client takes.
    bodies_owed: AtomicU32,
    /// Whether a request was answered since `hyper` took its turn.
    answered: AtomicBool,
    /// Whether `hyper` keeps the connection: a request was more than its head.
    kept: AtomicBool,
    /// Whether content of a request was left unread.
    unread: AtomicBool,
    /// HTTP/2 requests the client let finish, and those it cancelled.
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
            read_at: AtomicU32::new(now),
            ended_at: AtomicU32::new(0),
            written_at: AtomicU32::new(now),
            write_blocked: AtomicBool::new(false),
            between: AtomicBool::new(true),
            in_flight: AtomicU32::new(0),
            bodies_awaited: AtomicU32::new(0),
            bodies_owed: AtomicU32::new(0),
            answered: AtomicBool::new(false),
            kept: AtomicBool::new(false),
            unread: AtomicBool::new(false),
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

    /// Tells the connection's task; the most severe order stands.
    pub(super) fn tell(&self, order: Order) {
        if order > self.order() {
            self.order.store(order as u8, Relaxed);
            self.wake();
        }
    }

    /// Remembers whom to wake. A spawned task's waker stays the same, so once is enough.
    pub(super) fn remember(&self, waker: &Waker) {
        self.waker.get_or_init(|| waker.clone());
    }

    pub(super) fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }

    /// Bytes came. Tells whether they belong to a head being read, and if so whether they are its first.
    pub(super) fn read(&self) -> Reading {
        let now = self.worker.now();
        self.read_at.store(now, Relaxed);
        if self.in_flight.load(Relaxed) > 0 || self.stage() != Stage::Http1 {
            return Reading::Other;
        }
        if self.head_since.load(Relaxed) != 0 {
            return Reading::HeadGoesOn;
        }
        self.head_since.store(now, Relaxed);
        Reading::HeadBegins
    }

    /// A head lies here of which the rest has yet to come. Where its first bytes came while another request was in flight, its time
    /// begins now.
    pub(super) fn awaits_head(&self) {
        if self.in_flight.load(Relaxed) == 0 && self.head_since.load(Relaxed) == 0 {
            self.head_since.store(self.worker.now(), Relaxed);
        }
    }

    /// The client has ended its side. Whether to wait before `hyper` hears of it: it would take a client that sends nothing more
    /// for one that left, and drop the request in flight. Some close their side right after their request and still read, so an
    /// answer that is ready within a step or two goes out, and then all of it that the client takes.
    pub(super) fn waits_at_end(&self) -> bool {
        let serving = self.in_flight.load(Relaxed) > 0 && self.bodies_awaited.load(Relaxed) == 0;
        let answering = serving || self.write_blocked.load(Relaxed);
        if self.stage() != Stage::Http1 || !answering {
            return false;
        }
        let now = self.worker.now();
        if self.ended_at.load(Relaxed) == 0 {
            self.ended_at.store(now, Relaxed);
        }
        !self.has_left(now)
    }

    /// Whether the client ended its side some steps ago and has taken nothing since although it could.
    fn has_left(&self, now: u32) -> bool {
        let ended_at = self.ended_at.load(Relaxed);
        let quiet = |began: u32| now.wrapping_sub(began) > 1;
        ended_at != 0 && quiet(ended_at) && quiet(self.written_at.load(Relaxed)) && !self.owes()
    }

    /// Whether the client is what an answer waits for.
    fn owes(&self) -> bool {
        self.write_blocked.load(Relaxed) || self.bodies_owed.load(Relaxed) > 0
    }

    pub(super) fn wrote(&self) {
        self.written_at.store(self.worker.now(), Relaxed);
        self.write_blocked.store(false, Relaxed);
    }

    pub(super) fn blocked(&self) {
        self.write_blocked.store(true, Relaxed);
    }

    /// Nothing is held back below us: if the client was waited for, it has taken all.
    pub(super) fn flushed(&self) {
        if self.write_blocked.load(Relaxed) {
            self.wrote();
        }
    }

    /// An answer's bytes begin to be written.
    pub(super) fn message_begins(&self) {
        self.between.store(false, Relaxed);
    }

    /// All that was written is out.
    pub(super) fn message_ends(&self) {
        self.between.store(true, Relaxed);
    }

    /// Whether everything that was written is out.
    pub(super) fn is_between(&self) -> bool {
        self.between.load(Relaxed)
    }

    /// `hyper` is to keep the connection: where the present request ends, it alone knows.
    pub(super) fn keep(&self) {
        self.kept.store(true, Relaxed);
    }

    /// `hyper` takes its turn.
    pub(super) fn turn(&self) {
        self.answered.store(false, Relaxed);
    }

    /// Whether `hyper`'s turn is over: it has answered, all is out, and the requests ended with their heads.
    pub(super) fn is_at_rest(&self) -> bool {
        self.in_flight.load(Relaxed) == 0
            && self.answered.load(Relaxed)
            && self.is_between()
            && !self.kept.load(Relaxed)
    }

    pub(super) fn request_begins(&self) {
        self.head_since.store(0, Relaxed);
        self.in_flight
            .store(self.in_flight.load(Relaxed) + 1, Relaxed);
    }

    pub(super) fn request_ends(&self) {
        let left = self.in_flight.load(Relaxed).saturating_sub(1);
        self.in_flight.store(left, Relaxed);
        if left == 0 {
            self.since.store(self.worker.now(), Relaxed);
            self.answered.store(true, Relaxed);
        }
    }

    /// An HTTP/2 request ended, `cancelled` by the client or not. A client that has cancelled `most` more than it let finish
    /// is cut (RFC 9113 section 10.5).
    pub(super) fn tally(&self, cancelled: bool, most: u32) {
        let counter = if cancelled {
            &self.cancelled
        } else {
            &self.finished
        };
        let count = counter.load(Relaxed).saturating_add(1);
        counter.store(count, Relaxed);
        if cancelled && count > self.finished.load(Relaxed).saturating_add(most) {
            self.tell(Order::Close);
        }
    }

    pub(super) fn await_body(&self, awaited: bool) {
        // Waiting begins now, however long ago the last byte came.
        self.read_at.store(self.worker.now(), Relaxed);
        adjust(&self.bodies_awaited, awaited);
    }

    pub(super) fn owe_body(&self, owed: bool) {
        self.written_at.store(self.worker.now(), Relaxed);
        adjust(&self.bodies_owed, owed);
    }

    /// A request's content was left unread: closing right after the answer would reset the connection under it.
    pub(super) fn leave_unread(&self) {
        self.unread.store(true, Relaxed);
    }

    pub(super) fn has_unread(&self) -> bool {
        self.unread.load(Relaxed)
    }

    /// Whether no final answer has begun for what the client last asked (HTTP/1).
    pub(super) fn may_answer(&self) -> bool {
        self.in_flight.load(Relaxed) == 0 || !self.outbox.is_closed()
    }

    /// What the clock says of this connection at `now`.
    pub(super) fn judge(&self, now: u32, patience: &Patience) -> Verdict {
        let over = |began: u32, limit: u32| now.wrapping_sub(began) > limit;
        let since = self.since.load(Relaxed);
        let stage = self.stage();
        match stage {
            Stage::Handshake if over(since, patience.handshake) => {
                return Verdict::Slow(Order::Close);
            }
            Stage::Linger if over(since, patience.linger) => return Verdict::Idle(Order::Close),
            Stage::Silent if over(since, patience.idle) => return Verdict::Idle(Order::Close),
            Stage::Handshake | Stage::Linger | Stage::Silent | Stage::Tunnel => {
                return Verdict::Fine;
            }
            Stage::Http1 | Stage::Http2 => {}
        }
        if self.owes() && over(self.written_at.load(Relaxed), patience.write) {
            return Verdict::Slow(Order::Close);
        }
        let awaits = self.bodies_awaited.load(Relaxed) > 0;
        if awaits && over(self.read_at.load(Relaxed), patience.body) {
            return Verdict::Slow(Order::Timeout);
        }
        if self.in_flight.load(Relaxed) > 0 {
            let left = self.has_left(now);
            return if left { Verdict::Left } else { Verdict::Fine };
        }
        let head_since = self.head_since.load(Relaxed);
        if head_since != 0 {
            return if over(head_since, patience.head) {
                Verdict::Slow(Order::Timeout)
            } else {
                Verdict::Fine
            };
        }
        if !over(since, patience.idle) {
            return Verdict::Fine;
        }
        // HTTP/2 says goodbye (GOAWAY) first and is cut one linger time later.
        let cut =
            stage == Stage::Http1 || over(since, patience.idle.saturating_add(patience.linger));
        Verdict::Idle(if cut { Order::Close } else { Order::Drain })
    }
}

fn adjust(counter: &AtomicU32, up: bool) {
    let count = counter.load(Relaxed);
    let count = if up {
        count + 1
    } else {
        count.saturating_sub(1)
    };
    counter.store(count, Relaxed);
}

/// What newly read bytes belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    HeadBegins,
    HeadGoesOn,
    /// A body, pipelined bytes, or HTTP/2 frames.
    Other,
}

/// The clock's word on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Fine,
    /// Nothing happened for long enough; nobody's fault.
    Idle(Order),
    /// The client ended its side some time ago: `hyper` may hear of it.
    Left,
    /// The client is too slow.
    Slow(Order),
}

#[cfg(test)]
mod tests;
