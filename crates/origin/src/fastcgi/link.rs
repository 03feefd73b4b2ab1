//! One connection to a FastCGI server, and who waits for one.

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
    /// It has carried a response before.
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

    /// Bytes received on it so far.
    pub(crate) fn heard(&self) -> u64 {
        self.stream.heard_so_far()
    }

    /// It may be used: the server has neither closed it nor said anything. All requests have the same number, so that what came late
    /// would be the next one's answer; beside a script, asking the kernel costs nothing.
    pub(crate) fn is_ready(&mut self) -> bool {
        self.stream.is_silent()
    }

    /// It may lie idle: nobody waits for the process at its other end.
    pub(crate) fn may_rest(&mut self) -> bool {
        self.stream.is_quiet() && !self.peer.hunger.is_felt()
    }
}

/// Requests on new connections that nobody has answered yet.
///
/// php-fpm gives each connection a process, for as long as it is open: idle connections of one worker can keep another's
/// requests waiting when all processes are taken. So who waits says so, and idle connections to that server are closed.
#[derive(Debug, Default)]
pub(crate) struct Hunger(AtomicUsize);

/// One request that waits; until dropped.
#[derive(Debug)]
pub(crate) struct Hungry(Arc<Peer>);

impl Hunger {
    /// Says that a request waits for `peer`.
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
