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

/// Another node, which is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Other {
    /// When it last said something that was read here, by the server's clock.
    at: u64,
    /// How long it is waited for in silence.
    within: Duration,
    /// When it was first found that the server does not know that any more. What the node has said until then may be
    /// lost, and the node may go on as before for a while.
    lost: Option<Instant>,
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
    let (said, struck_off) = sorted(all, now.at(clock::now()));
    know(&mut lock(&common.others), &common.node, &said);
    if !struck_off.is_empty() {
        let mut strike = cmd("HDEL");
        strike.arg(&common.nodes).arg(struck_off);
        let _: u64 = line.ask(&strike, common.patience()).await?;
    }
    Ok(said)
}

/// Returns what nodes say at `now`, and the names of those to remove.
fn sorted(all: HashMap<String, String>, now: u64) -> (HashMap<String, Heard>, Vec<String>) {
    let (mut heard, mut struck_off) = (HashMap::new(), Vec::new());
    for (name, said) in all {
        let said = Heartbeat::parse(&said).map(|said| {
            let silent = Duration::from_millis(now.saturating_sub(said.at));
            (said, silent)
        });
        if said.is_none_or(|(_, silent)| silent > STRUCK_OFF_AFTER) {
            struck_off.push(name.clone());
        }
        heard.extend(said.map(|said| (name, said)));
    }
    (heard, struck_off)
}

/// Notes which other nodes are to be waited for: those that are not silent, and those that were not when the server
/// forgot what they said, because it was flushed, restarted without it, or has an older copy.
fn know(others: &mut HashMap<String, Other>, own: &str, heard: &HashMap<String, Heard>) {
    let now = Instant::now();
    others.retain(|name, other| {
        let is_known = heard.get(name).is_some_and(|(said, _)| said.at >= other.at);
        !is_known && other.lost.get_or_insert(now).elapsed() <= other.within
    });
    for (name, (said, silent)) in heard.iter().filter(|(name, _)| *name != own) {
        let (at, within) = (said.at, said.within());
        // A word that is lost was said later than what the server has.
        if *silent <= within && !others.contains_key(name) {
            let lost = None;
            others.insert(name.clone(), Other { at, within, lost });
        }
    }
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
    let heard = known(common, &mut line, now).await?;
    let mut behind = missed(&lock(&common.others));
    for (name, (said, silent)) in heard {
        if silent <= said.within() && said.position < position {
            behind.push(name);
        }
    }
    behind.sort_unstable();
    Ok(behind)
}

/// Returns the names of the nodes of which it is not known how far they are.
fn missed(others: &HashMap<String, Other>) -> Vec<String> {
    let lost = others.iter().filter(|(_, other)| other.lost.is_some());
    lost.map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::heartbeat::HEARD_WITHIN, *};

    #[test]
    fn who_is_silent_is_not_waited_for_unless_the_server_may_have_forgotten_what_it_said() {
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
            ("back".to_owned(), said(now - 10_001)),
            ("far back".to_owned(), said(now - 3_600_001)),
            ("younger".to_owned(), said(now - 5_000)),
            ("odd".to_owned(), "x".to_owned()),
        ]);
        let (heard, mut struck_off) = sorted(all, now);
        struck_off.sort_unstable();
        assert_eq!(struck_off, ["dead", "far back", "odd"]);
        let long_ago = Instant::now().checked_sub(HEARD_WITHIN * 2);
        let before = [
            ("silent", now - 10_001, None),
            ("dead", now - 3_600_001, None),
            ("back", now - 10_000, None),
            ("far back", now - 20_000, None),
            ("lost", now, None),
            ("younger", now, None),
            ("given up", now, Some(long_ago.expect("up for so long"))),
        ];
        let within = HEARD_WITHIN;
        let before = before.map(|(name, at, lost)| (name.to_owned(), Other { at, within, lost }));
        let mut others = HashMap::from(before);
        for _ in 0..2 {
            know(&mut others, "own", &heard);
            let mut missed = missed(&others);
            missed.sort_unstable();
            assert_eq!(missed, ["back", "far back", "lost", "younger"]);
            assert!(others.len() == 5 && others.contains_key("here"));
        }
    }
}
