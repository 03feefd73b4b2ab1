//! Sends purges on to the other nodes over their admin APIs, if no log is shared.
//!
//! Each node gets the purges in order, and until it has confirmed them. A purge that a node has not got when this node
//! stops is lost to it, and a node misses those made while it starts. A shared log has neither limit.

mod peer;
mod queue;
mod text;

use crate::config::value::PeerUrl;
use peer::Peer;
use proxy::clock::now;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use store::{
    Boxed, Memory, PurgeError, Purged, SharedLog,
    purge::{Position, Purge},
};
use text::texts;
use tokio::{task::JoinSet, time::timeout};

/// The other nodes.
#[derive(Debug)]
pub struct Peers {
    memory: Arc<Memory>,
    /// The number of the last purge. Numbers are given under this lock, so that all queues have the same order.
    last: Mutex<u64>,
    list: Vec<Arc<Peer>>,
}

impl Peers {
    /// The nodes at these addresses; `memory` is that of this node. They get nothing before [`run`](Self::run).
    pub fn new(list: &[PeerUrl], memory: Arc<Memory>) -> Arc<Self> {
        Arc::new(Self {
            memory,
            last: Mutex::new(0),
            list: list.iter().map(Peer::new).collect(),
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
