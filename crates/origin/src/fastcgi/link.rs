//! One connection to a FastCGI server, and the requests that wait for one.

use crate::{
    connect::Dialled,
    link::{Alarm, alarm},
    peer::Peer,
    pool,
    stream::Stream,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::Instant;

/// A connection, held by one request at a time or idle in the pool. Dropping it closes the socket.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) stream: Stream,
    pub(crate) alarm: Alarm,
    /// Whether it has carried a response before.
    pub(crate) reused: bool,
    pub(crate) peer: Arc<Peer>,
}

impl Link {
    pub(crate) fn new(dialled: Dialled, peer: &Arc<Peer>) -> Self {
        Self {
            stream: dialled.stream,
            alarm: alarm(Instant::now() + Duration::from_secs(1)),
            reused: false,
            peer: Arc::clone(peer),
        }
    }

    /// Returns how many bytes have been received on it so far.
    pub(crate) fn heard(&self) -> u64 {
        self.stream.heard_so_far()
    }

    /// Whether it may be used: the server has neither closed it nor said anything. All requests have the same number,
    /// so late output would become the next one's answer. Compared to a script, asking the kernel costs nothing.
    pub(crate) fn is_ready(&mut self) -> bool {
        self.stream.is_silent()
    }

    /// Whether it may lie idle: no request waits for the process at its other end.
    pub(crate) fn may_rest(&mut self) -> bool {
        self.stream.is_quiet() && !self.peer.hunger.is_felt()
    }
}

/// Counts requests on new connections that have not been answered yet.
///
/// php-fpm gives each connection a process, as long as it is open. When all processes are taken, idle connections of
/// one worker can keep another worker's requests waiting. So a request that waits says so, and idle connections to that
/// server are closed.
#[derive(Debug, Default)]
pub(crate) struct Hunger(AtomicUsize);

/// One request that waits. Counted until dropped.
#[derive(Debug)]
pub(crate) struct Hungry(Arc<Peer>);

impl Hunger {
    /// Records that a request waits for `peer`.
    pub(crate) fn feel(peer: &Arc<Peer>) -> Hungry {
        peer.hunger.0.fetch_add(1, Relaxed);
        pool::release();
        Hungry(Arc::clone(peer))
    }

    fn is_felt(&self) -> bool {
        self.0.load(Relaxed) > 0
    }
}

impl Drop for Hungry {
    fn drop(&mut self) {
        self.0.hunger.0.fetch_sub(1, Relaxed);
    }
}
