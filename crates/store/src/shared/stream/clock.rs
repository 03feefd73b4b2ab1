//! The clock of the server that has the stream.

use super::{Common, line::Line};
use crate::{clock, purge::Position, shared::remote::Error};
use redis::cmd;
use rules::time::Time;
use std::time::Duration;
use tokio::time::Instant;

/// How often it is read.
const EVERY: Duration = Duration::from_secs(1);

/// The server's clock, so that the nodes' clocks need not agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    millis: u64,
    /// When it was asked for, by both clocks of this node: see [`passed`]. The answer may come late.
    asked: (Instant, Time),
    /// When it had come.
    read: (Instant, Time),
}

impl Clock {
    /// Asks for the time. In a cluster, asks the server that has the stream, whose clock numbers the entries: a plain
    /// `TIME` goes to any server, each with its own clock, and one that has nothing of ours may hang.
    ///
    /// # Errors
    /// The server's error.
    pub async fn read(common: &Common, line: &mut Line) -> Result<Self, Error> {
        let mut time = cmd("TIME");
        if line.is_cluster() {
            time = cmd("EVAL");
            time.arg("return redis.call('time')").arg(1);
            time.arg(&common.purges);
        }
        let asked = (Instant::now(), clock::now());
        let (seconds, micros): (u64, u64) = line.ask(&time, common.patience()).await?;
        let millis = seconds.saturating_mul(1000).saturating_add(micros / 1000);
        let read = (Instant::now(), clock::now());
        Ok(Self {
            millis,
            asked,
            read,
        })
    }

    /// Whether it was read so lately that it need not be read again.
    pub fn is_recent(&self) -> bool {
        passed(self.asked, clock::now()) < EVERY
    }

    /// What it says at least, in milliseconds since the Unix epoch, when this node's clock says `now`.
    pub fn at(&self, now: Time) -> u64 {
        self.after(passed(self.read, now))
    }

    /// What it says at most.
    pub fn at_most(&self, now: Time) -> u64 {
        self.after(passed(self.asked, now))
    }

    fn after(&self, passed: Duration) -> u64 {
        self.millis.saturating_add(passed.as_millis() as u64)
    }

    /// When the entry at `position` entered the stream, by this node's clock, which says `now`. Stored responses have
    /// their times by that clock.
    pub fn on_this_node(&self, position: Position, now: Time) -> Time {
        let passed = self.at(now).saturating_sub(position.0);
        Time::from_millis(now.as_millis().saturating_sub(passed))
    }
}

/// How long ago that was, by this node's clock, which says `now`. The wall clock goes on while the machine is suspended,
/// and the other clock is never set back.
fn passed(since: (Instant, Time), now: Time) -> Duration {
    since.0.elapsed().max(now.since(since.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row: the server's clock when this node's says 1000, in seconds.
    #[test]
    fn what_has_just_come_has_come_just_now_whatever_the_clock_of_the_server() {
        let now = Time::from_secs(1000);
        for server in [400, 1000, 1600] {
            let clock = Clock {
                millis: server * 1000,
                asked: (Instant::now(), now),
                read: (Instant::now(), now),
            };
            for (position, ago) in [(server, 0), (server - 100, 100), (server + 50, 0)] {
                let at = clock.on_this_node(Position(position * 1000, 0), now);
                // Time passes meanwhile.
                let passed = now.since(at).as_secs();
                assert!((ago..ago + 50).contains(&passed), "{server}: {passed}");
                assert!(at <= now, "{server}");
            }
        }
    }

    /// As after a suspended machine: the wall clock alone has gone on.
    #[test]
    fn what_came_before_the_machine_slept_came_no_later_for_that() {
        let slept = Time::from_secs(1000);
        let woke = slept.plus(Duration::from_hours(1));
        let clock = Clock {
            millis: slept.as_millis(),
            asked: (Instant::now(), slept),
            read: (Instant::now(), slept),
        };
        for came in [slept, slept.plus(Duration::from_mins(10))] {
            let at = clock.on_this_node(Position(came.as_millis(), 0), woke);
            // Time passes meanwhile.
            assert!(came.since(at) < Duration::from_secs(50), "{at:?}");
            assert!(at <= came, "{at:?}");
        }
    }
}
