//! How the coarse clock judges a connection.

use super::{Order, Stage, Watch};
use crate::listen::config::Limits;
use std::{sync::atomic::Ordering::Relaxed, time::Duration};

/// The times of [`Limits`] in steps of the clock, rounded up and one more, so that no limit takes effect early.
#[derive(Clone, Copy, Debug)]
pub(in crate::listen) struct Patience {
    head: u32,
    idle: u32,
    body: u32,
    write: u32,
    handshake: u32,
    linger: u32,
    moment: u32,
}

/// About how long a connection that came after a stop began may be silent before its first request.
const MOMENT: Duration = Duration::from_millis(500);

impl Patience {
    /// Converts the limits to steps of `tick`.
    pub(in crate::listen) fn new(limits: &Limits, tick: Duration) -> Self {
        let tick = tick.as_nanos().max(1);
        let steps = |time: Duration| {
            let steps = time.as_nanos().div_ceil(tick) + 1;
            u32::try_from(steps).unwrap_or(u32::MAX)
        };
        Self {
            head: steps(limits.head_time),
            idle: steps(limits.silence()),
            body: steps(limits.body_time),
            write: steps(limits.write_time),
            handshake: steps(limits.handshake_time),
            linger: steps(limits.linger_time),
            moment: steps(MOMENT) - 1,
        }
    }
}

impl Watch {
    /// How long the client may send nothing.
    fn silence(&self, patience: &Patience) -> u32 {
        if self.order() == Order::Drain {
            patience.moment
        } else {
            patience.idle
        }
    }

    /// Judges this connection at `now`.
    pub(in crate::listen) fn judge(&self, now: u32, patience: &Patience) -> Verdict {
        let over = |began: u32, limit: u32| now.wrapping_sub(began) > limit;
        let since = self.since.load(Relaxed);
        let stage = self.stage();
        match stage {
            Stage::Handshake if over(since, patience.handshake) => {
                return Verdict::Slow(Order::Close);
            }
            Stage::Linger if over(since, patience.linger) => return Verdict::Idle(Order::Close),
            Stage::Silent if over(since, self.silence(patience)) => {
                return Verdict::Idle(Order::Close);
            }
            Stage::Handshake | Stage::Linger | Stage::Silent | Stage::Tunnel => {
                return Verdict::Fine;
            }
            Stage::Http1 | Stage::Http2 => {}
        }
        if self.owes() && over(self.taken_at(), patience.write) {
            return Verdict::Slow(Order::Close);
        }
        let awaits = self.bodies_awaited.load(Relaxed) > 0;
        match stage {
            Stage::Http2 => {
                // The bytes that move may belong to another request, or to none. If none move, other requests may wait
                // for answers.
                let before = |limit: u32| now.saturating_sub(limit.saturating_add(1));
                self.contents.cut(before(patience.body));
                self.pieces.cut(before(patience.write));
                let head_since = self.head_since.load(Relaxed);
                if head_since != 0 && over(head_since, patience.head) {
                    return Verdict::Slow(Order::Timeout);
                }
            }
            _ if awaits && over(self.awaited_since.load(Relaxed), patience.body) => {
                return Verdict::Slow(Order::Timeout);
            }
            _ => {}
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
        // The last answer may not have been taken yet.
        if !over(since, patience.idle) || self.write_blocked.load(Relaxed) {
            return Verdict::Fine;
        }
        // HTTP/2 first gets a GOAWAY, and is cut one linger time later.
        let cut =
            stage == Stage::Http1 || over(since, patience.idle.saturating_add(patience.linger));
        Verdict::Idle(if cut { Order::Close } else { Order::Drain })
    }
}

/// The clock's judgement of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::listen) enum Verdict {
    Fine,
    /// Nothing happened for long enough. It is no one's fault.
    Idle(Order),
    /// The client ended its side some time ago: `hyper` may learn of it.
    Left,
    /// The client is too slow.
    Slow(Order),
}
