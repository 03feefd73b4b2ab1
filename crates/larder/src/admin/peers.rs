//! Purges sent on to the other nodes over their admin APIs, where no log is shared.
//!
//! Each node is told in order and until it has said yes. What it has not heard when this node stops is lost, and so is what is
//! purged while it starts: a shared log does better.

use super::{error::Written, purge};
use crate::{
    client::{ANSWER, Client, Error},
    config::value::PeerUrl,
};
use bytes::Bytes;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};
use store::{
    Boxed, Memory, PurgeError, Purged, SharedLog,
    purge::{Position, Purge, What},
};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

/// Bytes of purges that one request carries, unless a single one is larger.
const BATCH: usize = purge::LARGEST / 2;

/// Bytes of purges that may wait for a node. Past it they become one of everything: purging too much is safe.
const MOST: usize = 16 << 20;

/// Waits between attempts: the first, and the longest.
const REST: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// The other nodes.
#[derive(Debug)]
pub struct Peers {
    memory: Arc<Memory>,
    /// The number of the last purge; numbers are given under its lock, so that all queues have the same order.
    last: Mutex<u64>,
    list: Vec<Arc<Peer>>,
}

/// Another node, and what it has yet to hear.
#[derive(Debug)]
struct Peer {
    url: PeerUrl,
    queue: Mutex<Queue>,
    /// The number of the last purge in the queue.
    asked: watch::Sender<u64>,
    /// The number of the last purge that it has applied.
    applied: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Queue {
    /// Purges as text, with their numbers.
    list: VecDeque<(u64, String)>,
    /// Bytes of all texts.
    bytes: usize,
}

impl Peers {
    /// The nodes at these addresses; `memory` is this node's own. They hear of nothing before [`run`](Self::run).
    pub fn new(list: &[PeerUrl], memory: Arc<Memory>) -> Arc<Self> {
        let peer = |url: &PeerUrl| {
            Arc::new(Peer {
                url: url.clone(),
                queue: Mutex::default(),
                asked: watch::Sender::new(0),
                applied: watch::Sender::new(0),
            })
        };
        Arc::new(Self {
            memory,
            last: Mutex::new(0),
            list: list.iter().map(peer).collect(),
        })
    }

    /// Sends purges on as they come, without end.
    pub async fn run(self: Arc<Self>) {
        let mut all = JoinSet::new();
        for peer in &self.list {
            all.spawn(peer.clone().run());
        }
        while all.join_next().await.is_some() {}
    }

    fn send(&self, purges: &[Purge]) -> u64 {
        let mut last = lock(&self.last);
        for purge in purges {
            *last += 1;
            for peer in &self.list {
                peer.push(*last, purge);
            }
        }
        *last
    }
}

impl SharedLog for Peers {
    fn publish(&self, purges: Vec<Purge>) -> Boxed<Result<(Vec<Purged>, Position), PurgeError>> {
        let done = self.memory.purge(&purges, now());
        let done = done.map(|done| (done, Position(0, self.send(&purges))));
        Box::pin(async move { Ok(done?) })
    }

    fn everywhere(&self, position: Position, within: Duration) -> Boxed<Vec<String>> {
        let Position(_, number) = position;
        let list = self.list.clone();
        Box::pin(async move {
            let all = async {
                for peer in &list {
                    let mut applied = peer.applied.subscribe();
                    // The sender is the peer's own and lives as long.
                    let _ = applied.wait_for(|applied| *applied >= number).await;
                }
            };
            let _ = timeout(within, all).await;
            let behind = list.iter().filter(|peer| *peer.applied.borrow() < number);
            behind.map(|peer| peer.url.to_string()).collect()
        })
    }

    fn tell(&self, purge: Purge, at: rules::time::Time) {
        self.memory.apply(purge.clone(), at, None);
        self.send(&[purge]);
    }
}

impl Peer {
    fn push(&self, number: u64, purge: &Purge) {
        let mut queue = lock(&self.queue);
        queue.push(number, purge.to_text());
        if queue.bytes > MOST {
            queue.all(number);
        }
        drop(queue);
        self.asked.send_replace(number);
    }

    async fn run(self: Arc<Self>) {
        let mut asked = self.asked.subscribe();
        let mut client = None;
        let mut rest = REST.0;
        // What the log has of it: a node that fails or refuses is asked again and again.
        let mut said = None;
        loop {
            let Some((number, body)) = self.batch() else {
                if asked.changed().await.is_err() {
                    return;
                }
                continue;
            };
            let Err(untold) = self.tell(&mut client, body).await else {
                if said.take().is_some() {
                    tracing::info!(peer = %self.url, "purges are sent on again");
                }
                rest = REST.0;
                lock(&self.queue).done(number);
                self.applied.send_replace(number);
                continue;
            };
            if matches!(untold, Untold::Refused(_)) {
                lock(&self.queue).all(number);
            }
            if said.as_ref() != Some(&untold) {
                untold.log(&self.url);
                said = Some(untold);
            }
            client = None;
            sleep(rest).await;
            rest = (rest * 2).min(REST.1);
        }
    }

    /// What to send next, and the number of the last purge in it.
    fn batch(&self) -> Option<(u64, Bytes)> {
        let queue = lock(&self.queue);
        let mut body = String::from("{\"relay\":false,\"purges\":[");
        let mut last = None;
        for (number, text) in &queue.list {
            if last.is_some() {
                if body.len() + text.len() > BATCH {
                    break;
                }
                body.push(',');
            }
            body.push_str(text);
            last = Some(*number);
        }
        body.push_str("]}");
        last.map(|last| (last, body.into()))
    }

    async fn tell(&self, client: &mut Option<Client>, body: Bytes) -> Result<(), Untold> {
        let mut connected = match client.take() {
            Some(connected) => connected,
            None => Client::connect((self.url.host.as_str(), self.url.port)).await?,
        };
        let answer = connected.post("/purge", body, ANSWER).await?;
        match answer.status() {
            status if status.is_success() => {
                *client = Some(connected);
                Ok(())
            }
            status => {
                let why = match serde_json::from_slice::<Written>(answer.body()) {
                    Ok(Written { error }) => format!("status {status}: {error}"),
                    // Whatever stands between has words of its own, of any length.
                    Err(_) => format!("status {status}"),
                };
                Err(if status.is_client_error() {
                    Untold::Refused(why)
                } else {
                    Untold::Failed(why)
                })
            }
        }
    }
}

/// Why a node has not heard of a purge, in words.
#[derive(Debug, PartialEq, Eq)]
enum Untold {
    /// It does not understand, and never will.
    Refused(String),
    /// Worth trying again.
    Failed(String),
}

impl Untold {
    fn log(&self, peer: &PeerUrl) {
        match self {
            Self::Refused(why) => {
                tracing::error!(%peer, "purges refused: it is told to forget everything: {why}");
            }
            Self::Failed(error) => tracing::warn!(%peer, %error, "purges cannot be sent on"),
        }
    }
}

impl From<Error> for Untold {
    fn from(error: Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Queue {
    fn push(&mut self, number: u64, text: String) {
        self.bytes += text.len();
        self.list.push_back((number, text));
    }

    /// Puts everything in place of what is there.
    fn all(&mut self, number: u64) {
        let last = self.list.back().map_or(number, |(last, _)| *last);
        *self = Self::default();
        self.push(last, Purge::hard(What::Everything).to_text());
    }

    /// Drops what was sent, up to `number`.
    fn done(&mut self, number: u64) {
        while let Some((first, text)) = self.list.front()
            && *first <= number
        {
            self.bytes = self.bytes.saturating_sub(text.len());
            self.list.pop_front();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now() -> rules::time::Time {
    SystemTime::now().into()
}

#[cfg(test)]
mod tests;
