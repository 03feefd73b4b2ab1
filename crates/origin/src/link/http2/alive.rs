//! A connection that died without a word is found out before fetches pile up on it.

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

/// So long nothing comes on a connection that is in use, until the server is asked for a sign of life (RFC 9113 section 6.7).
const SILENCE: Duration = Duration::from_secs(20);

/// So long it has for one.
const PATIENCE: Duration = Duration::from_secs(10);

/// The watch over a connection.
pub(super) struct Alive {
    pings: PingPong,
    /// Bytes that came on it, now and when we last looked.
    heard: Arc<AtomicU64>,
    before: u64,
    /// How often it had come into use when we last looked.
    uses: usize,
    /// When something came last, or it came into use, whichever was later.
    silent_since: Instant,
    /// When to look next.
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

    /// Ready when the server has given no sign of life. `uses`: how often the connection has come into use; `None`: it is in none.
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
            // Where nobody waits for anything there is nothing to say; where it cannot be asked, the connection is ending.
            self.asked = uses.is_some() && self.pings.send_ping(Ping::opaque()).is_ok();
            self.look_in(if self.asked { PATIENCE } else { SILENCE });
        }
    }

    /// What a connection was silent before it came into use does not count.
    fn listen(&mut self, uses: Option<usize>) {
        let heard = self.heard.load(Relaxed);
        let has_come = mem::replace(&mut self.before, heard) != heard;
        let comes_into_use = uses.is_some_and(|uses| mem::replace(&mut self.uses, uses) != uses);
        if has_come || comes_into_use {
            self.silent_since = Instant::now();
        }
        if comes_into_use && self.asked {
            // It is asked only once at a time.
            self.look_in(SILENCE + PATIENCE);
        }
    }

    fn look_in(&mut self, time: Duration) {
        self.due.as_mut().reset(Instant::now() + time);
    }
}
