//! Sends purges on to the other nodes over their admin APIs, if no log is shared.
//!
//! Each node gets the purges in order, and until it has confirmed them. A purge that a node has not got when this node
//! stops is lost to it, and a node misses those made while it starts. A shared log has neither limit.

mod text;

use super::error::Written;
use crate::{
    client::{ANSWER, Client, Error},
    config::value::PeerUrl,
};
use bytes::Bytes;
use http::Response;
use proxy::clock::now;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use store::{
    Boxed, Memory, PurgeError, Purged, SharedLog,
    purge::{Position, Purge, What},
};
use text::{BATCH, texts};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

/// The bytes of purges that may wait for a node. Beyond that, one purge of everything replaces them: purging too much
/// is safe.
const MOST: usize = 16 << 20;

/// The pauses between attempts: the first, and the longest.
const REST: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// The other nodes.
#[derive(Debug)]
pub struct Peers {
    memory: Arc<Memory>,
    /// The number of the last purge. Numbers are given under this lock, so that all queues have the same order.
    last: Mutex<u64>,
    list: Vec<Arc<Peer>>,
}

/// Another node, and the purges that it has yet to get.
#[derive(Debug)]
struct Peer {
    url: PeerUrl,
    queue: Mutex<Queue>,
    /// The number of the last purge in the queue.
    asked: watch::Sender<u64>,
    /// The number of the last purge that the node has applied.
    applied: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Queue {
    /// The purges as text, with their numbers.
    list: VecDeque<(u64, String)>,
    /// The bytes of all texts.
    bytes: usize,
}

impl Peers {
    /// The nodes at these addresses; `memory` is that of this node. They get nothing before [`run`](Self::run).
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

    /// Sends purges on as they come, for ever.
    pub async fn run(self: Arc<Self>) {
        let mut all = JoinSet::new();
        for peer in &self.list {
            all.spawn(peer.clone().run());
        }
        while all.join_next().await.is_some() {}
    }

    fn send(&self, purges: &[Purge]) -> u64 {
        let texts: Vec<_> = purges.iter().flat_map(texts).collect();
        let mut last = lock(&self.last);
        for text in &texts {
            *last += 1;
            for peer in &self.list {
                peer.push(*last, text.clone());
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
                    // The sender belongs to the peer and lives as long.
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

    /// The others find out when they have something for this node.
    fn leave(&self) -> Boxed<()> {
        Box::pin(std::future::ready(()))
    }
}

impl Peer {
    fn push(&self, number: u64, text: String) {
        let mut queue = lock(&self.queue);
        queue.push(number, text);
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
        // The failure that was logged last. A node that fails or refuses is asked again and again; the log has it once.
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
                    tracing::info!(peer = %self.url, "purges reach the peer again");
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

    /// Returns the next purges to send, and the number of the last one.
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
        let answer = self.post(client, body).await?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let why = match serde_json::from_slice::<Written>(answer.body()) {
            Ok(Written { error }) => format!("status {status}: {error}"),
            // A proxy in between may answer with other text, of any length.
            Err(_) => format!("status {status}"),
        };
        // It came too slowly, too early or too often: that is no fault of the purge.
        let may_pass = matches!(status.as_u16(), 408 | 425 | 429);
        Err(if status.is_client_error() && !may_pass {
            Untold::Refused(why)
        } else {
            Untold::Failed(why)
        })
    }

    /// Sends `body` over the connection that is kept, or over a new one, which is kept then.
    async fn post(
        &self,
        client: &mut Option<Client>,
        body: Bytes,
    ) -> Result<Response<Bytes>, Error> {
        if let Some(kept) = client {
            match kept.post("/purge", body.clone(), ANSWER).await {
                // A node that has restarted is no longer at the other end. What it has got is only purged once more.
                Err(Error::Ended | Error::Answer(_)) => {}
                answered => return answered,
            }
        }
        let connected = Client::connect((self.url.host.as_str(), self.url.port)).await?;
        client.insert(connected).post("/purge", body, ANSWER).await
    }
}

/// Why a node has not got a purge, in words.
#[derive(Debug, PartialEq, Eq)]
enum Untold {
    /// The node does not understand the purge, and never will.
    Refused(String),
    /// Another attempt makes sense.
    Failed(String),
}

impl Untold {
    fn log(&self, peer: &PeerUrl) {
        match self {
            Self::Refused(why) => {
                tracing::error!(%peer, "the peer refuses purges, and is asked to purge everything instead: {why}");
            }
            Self::Failed(error) => {
                tracing::warn!(%peer, %error, "purges cannot be sent to the peer");
            }
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

    /// Replaces the queue with a purge of everything.
    fn all(&mut self, number: u64) {
        let last = self.list.back().map_or(number, |(last, _)| *last);
        *self = Self::default();
        self.push(last, Purge::hard(What::Everything).to_text());
    }

    /// Removes what was sent, up to `number`.
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

#[cfg(test)]
mod tests;
