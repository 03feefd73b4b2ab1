//! How far each node has applied the stream.

use super::{
    Common,
    clock::Clock,
    heartbeat::{Heartbeat, STRUCK_OFF_AFTER},
    line::Line,
    lock,
};
use crate::{clock, purge::Position, shared::remote::Error};
use redis::cmd;
use std::{collections::HashMap, time::Duration};
use tokio::time::{Instant, sleep, timeout_at};

/// The first and the longest rest between two checks of how far nodes are.
const LOOKS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(32));

/// Another node, which was there when this one last looked.
#[derive(Clone, Copy, Debug)]
pub struct Other {
    /// When this node last looked.
    seen: Instant,
    /// How long it is waited for in silence.
    within: Duration,
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
    let now = if let Some(recent) = clock.filter(Clock::is_recent) {
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
    let (here, struck_off) = sorted(all, now.at(clock::now()));
    know(&mut lock(&common.others), &common.node, &here, &struck_off);
    if !struck_off.is_empty() {
        let mut strike = cmd("HDEL");
        strike.arg(&common.nodes).arg(struck_off);
        let _: u64 = line.ask(&strike, common.patience()).await?;
    }
    Ok(here)
}

/// Returns the nodes that are there at `now`, and the names of those to remove.
fn sorted(all: HashMap<String, String>, now: u64) -> (HashMap<String, Heard>, Vec<String>) {
    let (mut here, mut struck_off) = (HashMap::new(), Vec::new());
    for (name, said) in all {
        let heard = Heartbeat::parse(&said).map(|said| {
            let silent = Duration::from_millis(now.saturating_sub(said.at));
            (said, silent)
        });
        match heard {
            Some(heard) if heard.1 <= STRUCK_OFF_AFTER => {
                here.insert(name, heard);
            }
            _ => struck_off.push(name),
        }
    }
    (here, struck_off)
}

/// Notes which other nodes are there. A node that is no longer waited for is not missed once another node has removed
/// it.
fn know(
    others: &mut HashMap<String, Other>,
    own: &str,
    here: &HashMap<String, Heard>,
    struck_off: &[String],
) {
    let seen = Instant::now();
    others.retain(|name, other| {
        !struck_off.contains(name)
            && (here.contains_key(name) || other.seen.elapsed() <= other.within)
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
    use super::{super::heartbeat::HEARD_WITHIN, *};

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
        let (here, mut struck_off) = sorted(all, now);
        struck_off.sort_unstable();
        assert_eq!(struck_off, ["dead", "odd"]);
        let (seen, within) = (Instant::now(), HEARD_WITHIN);
        let before =
            ["silent", "dead", "lost"].map(|name| (name.to_owned(), Other { seen, within }));
        let mut others = HashMap::from(before);
        know(&mut others, "own", &here, &struck_off);
        let mut names: Vec<_> = others.into_keys().collect();
        names.sort_unstable();
        assert_eq!(names, ["here", "lost"]);
    }
}
