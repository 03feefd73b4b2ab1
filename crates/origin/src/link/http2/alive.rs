//! Detects a connection that died silently, before fetches pile up on it.

use h2::{Ping, PingPong};
use std::{
    mem,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep};

/// How long a connection in use may be silent before the server is asked for a sign of life (RFC 9113 section 6.7).
const SILENCE: Duration = Duration::from_secs(20);

/// How long the server has to give one.
const PATIENCE: Duration = Duration::from_secs(10);

/// The watch over a connection.
pub(super) struct Alive {
    pings: PingPong,
    /// Bytes that came on it, now and at the last check.
    heard: Arc<AtomicU64>,
    before: u64,
    /// How often it had come into use at the last check.
    uses: usize,
    /// When something last came, or when it came into use, if that was later.
    silent_since: Instant,
    /// When to check next.
    due: Pin<Box<Sleep>>,
    /// Whether the server was asked.
    asked: bool,
}

impl Alive {
    pub(super) fn new(pings: PingPong, heard: Arc<AtomicU64>) -> Self {
        Self {
            pings,
            before: heard.load(Relaxed),
            heard,
            uses: 0,
            silent_since: Instant::now(),
            due: Box::pin(sleep(SILENCE)),
            asked: false,
        }
    }

    /// Ready when the server has given no sign of life. `uses` is how often the connection has come into use; `None`:
    /// it is not in use.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, uses: Option<usize>) -> Poll<()> {
        self.listen(uses);
        loop {
            if self.asked && self.pings.poll_pong(cx).is_ready() {
                self.asked = false;
                self.look_in(SILENCE);
            }
            ready!(self.due.as_mut().poll(cx));
            if self.asked {
                return Poll::Ready(());
            }
            let left = SILENCE.saturating_sub(self.silent_since.elapsed());
            if !left.is_zero() {
                self.look_in(left);
                continue;
            }
            // If nobody waits for anything, there is no need to ask. If asking is impossible, the connection is ending.
            self.asked = uses.is_some() && self.pings.send_ping(Ping::opaque()).is_ok();
            self.look_in(if self.asked { PATIENCE } else { SILENCE });
        }
    }

    /// Notes what has come. Silence before the connection came into use does not count.
    fn listen(&mut self, uses: Option<usize>) {
        let heard = self.heard.load(Relaxed);
        let has_come = mem::replace(&mut self.before, heard) != heard;
        let comes_into_use = uses.is_some_and(|uses| mem::replace(&mut self.uses, uses) != uses);
        if has_come || comes_into_use {
            self.silent_since = Instant::now();
        }
        if comes_into_use && self.asked {
            // Only one ping may be under way at a time.
            self.look_in(SILENCE + PATIENCE);
        }
    }

    fn look_in(&mut self, time: Duration) {
        self.due.as_mut().reset(Instant::now() + time);
    }
}
