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
    /// When to look next.
    due: Pin<Box<Sleep>>,
    /// Whether it was in use when we last looked.
    was_used: bool,
    /// Whether the server was asked.
    asked: bool,
}

impl Alive {
    pub(super) fn new(pings: PingPong, heard: Arc<AtomicU64>) -> Self {
        Self {
            pings,
            before: heard.load(Relaxed),
            heard,
            due: Box::pin(sleep(SILENCE)),
            was_used: false,
            asked: false,
        }
    }

    /// Ready when the server has given no sign of life.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, is_used: bool) -> Poll<()> {
        loop {
            if self.asked && self.pings.poll_pong(cx).is_ready() {
                self.asked = false;
                self.look_in(SILENCE);
            }
            ready!(self.due.as_mut().poll(cx));
            if self.asked {
                return Poll::Ready(());
            }
            let heard = self.heard.load(Relaxed);
            let is_silent = heard == self.before;
            self.before = heard;
            // Where nobody waited for anything there was nothing to say.
            let has_waited = mem::replace(&mut self.was_used, is_used) && is_used;
            // Where it cannot be asked, the connection is ending.
            self.asked = has_waited && is_silent && self.pings.send_ping(Ping::opaque()).is_ok();
            self.look_in(if self.asked { PATIENCE } else { SILENCE });
        }
    }

    fn look_in(&mut self, time: Duration) {
        self.due.as_mut().reset(Instant::now() + time);
    }
}
