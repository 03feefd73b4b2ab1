//! How far each node has applied the stream.

use super::{
    Common,
    clock::Clock,
    farewell::Said,
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

/// Another node that has said something about itself.
#[derive(Clone, Copy, Debug)]
pub struct Other {
    /// The last that was read of it.
    said: Heartbeat,
    /// When that was first read.
    read: Instant,
    /// How long ago it was said, by the server's clock, if nothing had been read of the node before. Silence is counted
    /// by this process's own clock from then on, because the server's may be set.
    before: Duration,
    /// When it was first found that the server does not know that any more. What the node has said until then may be
    /// lost, and the node may go on as before for a while.
    lost: Option<Instant>,
}

impl Other {
    fn silent(&self, now: Instant) -> Duration {
        self.before + now.duration_since(self.read)
    }

    /// Whether it is waited for.
    fn is_awaited(&self, now: Instant) -> bool {
        let silent = match self.lost {
            Some(lost) => now.duration_since(lost),
            None => self.silent(now),
        };
        silent <= self.said.within()
    }
}

/// Reports how far this node is, unless it has bid farewell. If `clock` is set, it was read on the same connection.
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
    let mut last = common.said.lock().await;
    if matches!(*last, Said::Farewell) {
        return Ok(());
    }
    let said = Heartbeat {
        position,
        // Others must not stop waiting for this node while it trusts what it keeps.
        at: now.at_most(clock::now()),
        trust: common.trust.as_millis() as u64,
    };
    *last = Said::Heartbeat(said);
    let mut set = cmd("HSET");
    set.arg(&common.nodes)
        .arg(&common.node)
        .arg(said.to_string());
    line.ask(&set, common.patience()).await
}

/// Reads what each other node says about itself. A node is removed from the hash if it has been silent for too long, or
/// if its text cannot be read.
async fn known(common: &Common, line: &mut Line, clock: Clock) -> Result<(), Error> {
    let mut get = cmd("HGETALL");
    get.arg(&common.nodes);
    let mut all: HashMap<String, String> = line.ask(&get, common.patience()).await?;
    // What was published here was applied here before that was said.
    all.remove(&common.node);
    let (said, mut struck_off) = parsed(all);
    let now = Instant::now();
    {
        let mut others = lock(&common.others);
        note(&mut others, said, clock.at(clock::now()), now);
        struck_off.extend(long_silent(&others, now));
    }
    if !struck_off.is_empty() {
        let mut strike = cmd("HDEL");
        strike.arg(&common.nodes).arg(struck_off);
        let _: u64 = line.ask(&strike, common.patience()).await?;
    }
    Ok(())
}

/// Returns what nodes say, and the names of those that say nothing that can be read.
fn parsed(all: HashMap<String, String>) -> (HashMap<String, Heartbeat>, Vec<String>) {
    let (mut said, mut unreadable) = (HashMap::new(), Vec::new());
    for (name, text) in all {
        match Heartbeat::parse(&text) {
            Some(heartbeat) => drop(said.insert(name, heartbeat)),
            None => unreadable.push(name),
        }
    }
    (said, unreadable)
}

/// Notes what other nodes say at `now`, when the server's clock says `by_server`. A node that was not silent when the
/// server forgot what it said, because it was flushed or restarted without it, is waited for a while longer. If the
/// server has an older copy, what that says is news, of a node that is behind.
fn note(
    others: &mut HashMap<String, Other>,
    said: HashMap<String, Heartbeat>,
    by_server: u64,
    now: Instant,
) {
    others.retain(|name, other| {
        let is_known = said.contains_key(name);
        let stays = is_known || other.is_awaited(now);
        other.lost = other.lost.or(Some(now)).filter(|_| !is_known);
        stays
    });
    for (name, said) in said {
        let before = match others.get(&name) {
            Some(other) if other.said == said => continue,
            Some(_) => Duration::ZERO,
            None => Duration::from_millis(by_server.saturating_sub(said.at)),
        };
        let other = Other {
            said,
            read: now,
            before,
            lost: None,
        };
        others.insert(name, other);
    }
}

/// Returns the names of the nodes in the hash that have been silent for too long.
fn long_silent(others: &HashMap<String, Other>, now: Instant) -> Vec<String> {
    let silent = |other: &Other| other.lost.is_none() && other.silent(now) > STRUCK_OFF_AFTER;
    names(others, silent)
}

fn names(others: &HashMap<String, Other>, wanted: impl Fn(&Other) -> bool) -> Vec<String> {
    let found = others.iter().filter(|(_, other)| wanted(other));
    let mut names: Vec<_> = found.map(|(name, _)| name.clone()).collect();
    names.sort_unstable();
    names
}

/// Waits until all nodes have applied everything up to `position`, `within` that time. Returns the names of those that
/// have not, or of all known nodes if this cannot be found out.
pub async fn behind(common: &Common, position: Position, within: Duration) -> Vec<String> {
    let until = Instant::now() + within;
    let now = Instant::now();
    let mut behind = names(&lock(&common.others), |other| other.is_awaited(now));
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
    let clock = Clock::read(common, &mut line).await?;
    known(common, &mut line, clock).await?;
    Ok(missing(&lock(&common.others), position, Instant::now()))
}

/// Returns the names of the nodes that are waited for and have not, or may not have, applied everything up to `position`.
fn missing(others: &HashMap<String, Other>, position: Position, now: Instant) -> Vec<String> {
    let is_behind = |other: &Other| other.lost.is_some() || other.said.position < position;
    names(others, |other| other.is_awaited(now) && is_behind(other))
}

#[cfg(test)]
mod tests {
    use super::{super::heartbeat::HEARD_WITHIN, *};

    const SERVER: u64 = 10_000_000;

    const BEFORE: Position = Position(5, 1);
    const WANTED: Position = Position(5, 2);

    fn said(at: u64) -> Heartbeat {
        Heartbeat {
            position: BEFORE,
            at,
            trust: 0,
        }
    }

    fn all<const N: usize>(said: [(&str, Heartbeat); N]) -> HashMap<String, Heartbeat> {
        said.map(|(name, said)| (name.to_owned(), said)).into()
    }

    #[test]
    fn a_node_of_which_nothing_was_read_before_is_as_silent_as_the_server_says() {
        let mut others = HashMap::new();
        let now = Instant::now();
        let heard = [
            ("here", said(SERVER)),
            ("ahead", said(SERVER + 5_000)),
            ("silent", said(SERVER - 10_001)),
            ("dead", said(SERVER - 3_600_001)),
        ];
        note(&mut others, all(heard), SERVER, now);
        assert_eq!(missing(&others, WANTED, now), ["ahead", "here"]);
        assert_eq!(missing(&others, BEFORE, now), [""; 0]);
        assert_eq!(long_silent(&others, now), ["dead"]);
    }

    /// A row: how far the server's clock has been set since the node last spoke, in milliseconds.
    #[test]
    fn whoever_says_something_new_is_not_silent_whatever_the_server_s_clock_says() {
        for set in [-7_200_000, -1, 0, 1, 20_000, 7_200_000] {
            let mut others = HashMap::new();
            let now = Instant::now();
            note(&mut others, all([("node", said(SERVER))]), SERVER, now);
            let server = SERVER.saturating_add_signed(set);
            note(&mut others, all([("node", said(SERVER))]), server, now);
            assert_eq!(missing(&others, WANTED, now), ["node"], "{set}");
            assert_eq!(long_silent(&others, now), [""; 0], "{set}");

            let later = now + HEARD_WITHIN;
            let news = said(server + 10_000);
            note(&mut others, all([("node", news)]), server + 10_000, later);
            let end = later + HEARD_WITHIN;
            note(&mut others, all([("node", news)]), server, end);
            assert_eq!(missing(&others, WANTED, end), ["node"], "{set}");
            let over = end + Duration::from_millis(1);
            assert_eq!(missing(&others, WANTED, over), [""; 0], "{set}");
            assert_eq!(long_silent(&others, over), [""; 0], "{set}");
            let gone = later + STRUCK_OFF_AFTER + Duration::from_millis(1);
            assert_eq!(long_silent(&others, gone), ["node"], "{set}");
        }
    }

    #[test]
    fn a_node_is_waited_for_if_the_server_may_have_forgotten_what_it_said() {
        let mut others = HashMap::new();
        let now = Instant::now();
        let heard = [
            ("back", said(SERVER - 5_000)),
            ("lost", said(SERVER)),
            ("silent", said(SERVER - 10_001)),
        ];
        note(&mut others, all(heard), SERVER, now);
        let later = now + HEARD_WITHIN;
        let left = all([("back", said(SERVER - 50_000))]);
        for now in [later, later + HEARD_WITHIN] {
            note(&mut others, left.clone(), SERVER, now);
            assert_eq!(missing(&others, WANTED, now), ["back", "lost"]);
            assert_eq!(missing(&others, BEFORE, now), ["lost"]);
        }
        let over = later + HEARD_WITHIN + Duration::from_millis(1);
        note(&mut others, left, SERVER, over);
        assert_eq!(missing(&others, WANTED, over), [""; 0]);
        assert_eq!(others.len(), 1, "what the server has");
    }

    #[test]
    fn what_cannot_be_read_is_struck_off() {
        let texts = [("odd", "x".to_owned()), ("here", said(SERVER).to_string())];
        let texts = texts.map(|(name, text)| (name.to_owned(), text));
        let (heard, odd) = parsed(texts.into());
        assert_eq!(
            (heard, odd),
            (all([("here", said(SERVER))]), vec!["odd".to_owned()])
        );
    }
}
