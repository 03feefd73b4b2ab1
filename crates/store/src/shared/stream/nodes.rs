//! How far each node has applied the stream.

use super::{Common, line::Line, lock};
use crate::{clock, purge::Position, shared::remote::Error};
use redis::cmd;
use rules::time::Time;
use std::{collections::HashMap, fmt, time::Duration};
use tokio::time::{Instant, sleep, timeout_at};

/// A node that has said nothing for this long, and for longer than it trusts what it keeps, is gone or does not use
/// what it keeps: nobody waits for it.
const HEARD_WITHIN: Duration = Duration::from_secs(10);

/// Allows for differences between clocks, and for the time that a message takes.
const MARGIN: Duration = Duration::from_secs(1);

/// A node that has said nothing for this long is removed from the hash.
const STRUCK_OFF_AFTER: Duration = Duration::from_hours(1);

/// How often the server's clock is read.
const CLOCK_EVERY: Duration = Duration::from_secs(1);

/// The first and the longest rest between two checks of how far nodes are.
const LOOKS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(32));

/// The server's clock, so that the nodes' clocks need not agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    millis: u64,
    /// When it was read, by both clocks of this node: see [`Self::passed`].
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
        let (seconds, micros): (u64, u64) = line.ask(&time, common.patience()).await?;
        let millis = seconds.saturating_mul(1000).saturating_add(micros / 1000);
        let read = (Instant::now(), clock::now());
        Ok(Self { millis, read })
    }

    /// How long ago it was read, by this node's clock, which says `now`. The wall clock goes on while the machine is
    /// suspended, and the other clock is never set back.
    fn passed(&self, now: Time) -> Duration {
        self.read.0.elapsed().max(now.since(self.read.1))
    }

    /// What it says in milliseconds since the Unix epoch when this node's clock says `now`.
    fn at(&self, now: Time) -> u64 {
        let passed = self.passed(now).as_millis() as u64;
        self.millis.saturating_add(passed)
    }

    /// When the entry at `position` entered the stream, by this node's clock, which says `now`. Stored responses have
    /// their times by that clock.
    pub fn on_this_node(&self, position: Position, now: Time) -> Time {
        let passed = self.at(now).saturating_sub(position.0);
        Time::from_millis(now.as_millis().saturating_sub(passed))
    }
}

/// What a node says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Heartbeat {
    /// The last entry it applied.
    position: Position,
    /// When it said so, by the server's clock.
    at: u64,
    /// How long it trusts what it keeps without hearing anything, in milliseconds.
    trust: u64,
}

/// Another node, which was there when this one last looked.
#[derive(Clone, Copy, Debug)]
pub struct Other {
    /// When this node last looked.
    seen: Instant,
    /// How long it is waited for in silence.
    within: Duration,
}

impl Heartbeat {
    fn parse(text: &str) -> Option<Self> {
        let (position, rest) = text.split_once(' ')?;
        let (at, trust) = rest.split_once(' ')?;
        Some(Self {
            position: position.parse().ok()?,
            at: at.parse().ok()?,
            trust: trust.parse().ok()?,
        })
    }

    /// How long the node is waited for in silence.
    fn within(&self) -> Duration {
        let trust = Duration::from_millis(self.trust).saturating_add(MARGIN);
        trust.clamp(HEARD_WITHIN, STRUCK_OFF_AFTER)
    }
}

impl fmt::Display for Heartbeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            position,
            at,
            trust,
        } = self;
        write!(f, "{position} {at} {trust}")
    }
}

/// Reports how far this node is. If `clock` is set, it was read on the same connection.
///
/// # Errors
/// The server's error.
pub async fn report(
    common: &Common,
    line: &mut Line,
    position: Position,
    clock: &mut Option<Clock>,
) -> Result<(), Error> {
    let recent = clock.filter(|clock| clock.passed(clock::now()) < CLOCK_EVERY);
    let now = if let Some(recent) = recent {
        recent
    } else {
        let now = Clock::read(common, line).await?;
        known(common, line, now).await?;
        *clock.insert(now)
    };
    let said = Heartbeat {
        position,
        at: now.at(clock::now()),
        trust: common.trust.as_millis() as u64,
    };
    let mut set = cmd("HSET");
    set.arg(&common.nodes)
        .arg(&common.node)
        .arg(said.to_string());
    line.ask(&set, common.patience()).await
}

/// What a node says, and how long ago it did.
type Heard = (Heartbeat, Duration);

/// Reads what each node says about itself. A node is removed from the hash if it has been silent for too long, or if
/// its text cannot be read.
async fn known(
    common: &Common,
    line: &mut Line,
    now: Clock,
) -> Result<HashMap<String, Heard>, Error> {
    let mut get = cmd("HGETALL");
    get.arg(&common.nodes);
    let all: HashMap<String, String> = line.ask(&get, common.patience()).await?;
    let (here, gone) = sorted(all, now.at(clock::now()));
    know(&mut lock(&common.others), &common.node, &here, &gone);
    if !gone.is_empty() {
        let mut strike = cmd("HDEL");
        strike.arg(&common.nodes).arg(gone);
        let _: u64 = line.ask(&strike, common.patience()).await?;
    }
    Ok(here)
}

/// Returns the nodes that are there at `now`, and the names of those to remove.
fn sorted(all: HashMap<String, String>, now: u64) -> (HashMap<String, Heard>, Vec<String>) {
    let (mut here, mut gone) = (HashMap::new(), Vec::new());
    for (name, said) in all {
        let heard = Heartbeat::parse(&said).map(|said| {
            let silent = Duration::from_millis(now.saturating_sub(said.at));
            (said, silent)
        });
        match heard {
            Some(heard) if heard.1 <= STRUCK_OFF_AFTER => {
                here.insert(name, heard);
            }
            _ => gone.push(name),
        }
    }
    (here, gone)
}

/// Notes which other nodes are there. A node that is no longer waited for is not missed once another node has removed
/// it.
fn know(
    others: &mut HashMap<String, Other>,
    own: &str,
    here: &HashMap<String, Heard>,
    gone: &[String],
) {
    let seen = Instant::now();
    others.retain(|name, other| {
        !gone.contains(name) && (here.contains_key(name) || other.seen.elapsed() <= other.within)
    });
    for (name, (said, silent)) in here.iter().filter(|(name, _)| *name != own) {
        let within = said.within();
        if *silent <= within {
            others.insert(name.clone(), Other { seen, within });
        } else {
            others.remove(name);
        }
    }
}

/// Notes that the stream is gone, and perhaps with it what nodes say about themselves: the known nodes may go on as
/// before for a while.
pub fn lost(common: &Common) {
    let now = Instant::now();
    lock(&common.others)
        .values_mut()
        .for_each(|other| other.seen = now);
}

/// Waits until all nodes have applied everything up to `position`, `within` that time. Returns the names of those that
/// have not, or of all known nodes if this cannot be found out.
pub async fn behind(common: &Common, position: Position, within: Duration) -> Vec<String> {
    let until = Instant::now() + within;
    let mut behind: Vec<String> = lock(&common.others).keys().cloned().collect();
    let mut rest = LOOKS.0;
    loop {
        match timeout_at(until, look(common, position)).await {
            Ok(Ok(now)) if now.is_empty() => return now,
            Ok(Ok(now)) => behind = now,
            Ok(Err(_)) => common.hang_up(),
            Err(_) => {
                // The connection may be lost without either end having said so.
                common.hang_up();
                return behind;
            }
        }
        if timeout_at(until, sleep(rest)).await.is_err() {
            return behind;
        }
        rest = (rest * 2).min(LOOKS.1);
    }
}

/// Returns the names of nodes that have not applied everything up to `position`.
async fn look(common: &Common, position: Position) -> Result<Vec<String>, Error> {
    let mut line = common.line().await?;
    let now = Clock::read(common, &mut line).await?;
    let here = known(common, &mut line, now).await?;
    let mut behind = missing(common, &here);
    for (name, (said, silent)) in here {
        if silent <= said.within() && said.position < position {
            behind.push(name);
        }
    }
    behind.sort_unstable();
    Ok(behind)
}

/// Returns the nodes that were there a while ago and are not `here` any more. What they say was lost with the stream,
/// and they may not have noticed.
fn missing(common: &Common, here: &HashMap<String, Heard>) -> Vec<String> {
    let others = lock(&common.others);
    let names = others.keys().filter(|name| !here.contains_key(*name));
    names.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_a_node_says_is_read(text in "[0-9 -]{0,20}") {
            let _ = Heartbeat::parse(&text);
        }
    }

    #[test]
    fn a_node_says_where_it_is_and_when() {
        let said = Heartbeat {
            position: Position(5, 1),
            at: 77,
            trust: 8,
        };
        assert_eq!(said.to_string(), "5-1 77 8");
        assert_eq!(Heartbeat::parse("5-1 77 8"), Some(said));
        for bad in [
            "",
            "5-1",
            "5-1 ",
            "5-1 77",
            "x 77 8",
            "5-1 77 ",
            "5-1 77 8 9",
        ] {
            assert_eq!(Heartbeat::parse(bad), None, "{bad}");
        }
    }

    /// A row: the server's clock when this node's says 1000, in seconds.
    #[test]
    fn what_has_just_come_has_come_just_now_whatever_the_clock_of_the_server() {
        let now = Time::from_secs(1000);
        for server in [400, 1000, 1600] {
            let clock = Clock {
                millis: server * 1000,
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
            read: (Instant::now(), slept),
        };
        for came in [slept, slept.plus(Duration::from_mins(10))] {
            let at = clock.on_this_node(Position(came.as_millis(), 0), woke);
            // Time passes meanwhile.
            assert!(came.since(at) < Duration::from_secs(50), "{at:?}");
            assert!(at <= came, "{at:?}");
        }
    }

    #[test]
    fn who_trusts_for_longer_is_waited_for_longer() {
        for (trust, within) in [(0, 10_000), (10_000, 11_000), (60_000, 61_000)] {
            let said = Heartbeat {
                position: Position(5, 1),
                at: 77,
                trust,
            };
            assert_eq!(said.within(), Duration::from_millis(within));
        }
    }

    #[test]
    fn who_is_silent_is_not_missed_once_it_is_struck_off() {
        let now = 10_000_000;
        let said = |at| {
            let position = Position(5, 1);
            let said = Heartbeat {
                position,
                at,
                trust: 0,
            };
            said.to_string()
        };
        let all = HashMap::from([
            ("own".to_owned(), said(now)),
            ("here".to_owned(), said(now)),
            ("silent".to_owned(), said(now - 10_001)),
            ("dead".to_owned(), said(now - 3_600_001)),
            ("odd".to_owned(), "x".to_owned()),
        ]);
        let (here, mut gone) = sorted(all, now);
        gone.sort_unstable();
        assert_eq!(gone, ["dead", "odd"]);
        let (seen, within) = (Instant::now(), HEARD_WITHIN);
        let before =
            ["silent", "dead", "lost"].map(|name| (name.to_owned(), Other { seen, within }));
        let mut others = HashMap::from(before);
        know(&mut others, "own", &here, &gone);
        let mut names: Vec<_> = others.into_keys().collect();
        names.sort_unstable();
        assert_eq!(names, ["here", "lost"]);
    }
}
