//! Each worker's own connections: idle ones, kept for the next fetch, and the weights that decide each server's turn. A
//! server is one address here (`Peer`).
//!
//! A pool belongs to its worker's thread and is found by the origin's number. One small task per worker (`tend`) removes
//! connections that were idle too long, lanes of servers that are gone once nobody waits there, and pools of origins
//! that are gone: once a second as long as there are connections, and when something goes. See `lane` for the
//! connections to one server.

mod lane;
mod tend;

pub(crate) use lane::Single;
pub(crate) use tend::{forget_gone, release, tend};

use crate::{
    link::{Http2, StreamQueue, StreamSlot},
    roster::Roster,
};
use lane::{Idle, Lane, MultiplexedLink};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::Duration,
};
use tend::KEPT;
use tokio::{sync::Notify, time::Instant};

thread_local! {
    static POOLS: RefCell<BTreeMap<u64, Pool>> = const { RefCell::new(BTreeMap::new()) };
}

/// What all workers know of an origin's pools: its number, its limits, and (when this is dropped) its end.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) number: u64,
    pub(crate) roster: Arc<Roster>,
    pub(crate) idle_connections: usize,
    pub(crate) idle_time: Duration,
}

impl Identity {
    /// Whether connections are kept for the next fetch at all.
    pub(crate) fn keeps(&self) -> bool {
        self.idle_connections > 0
    }
}

impl Drop for Identity {
    fn drop(&mut self) {
        tend::forget_gone();
    }
}

/// Identifies one server's lane in the calling worker's pool.
#[derive(Clone, Copy)]
pub(crate) struct Key<'a> {
    pub(crate) origin: &'a Arc<Identity>,
    /// `Peer::number`.
    pub(crate) peer: u64,
}

/// The current weights of smooth weighted round robin, by `Peer::number`.
pub(crate) type WrrWeights = BTreeMap<u64, i64>;

/// One worker's connections to one origin.
struct Pool {
    origin: Weak<Identity>,
    /// By `Peer::number`.
    lanes: BTreeMap<u64, Lane>,
    weights: WrrWeights,
}

/// The pool's answer to a fetch that wants a stream on a shared HTTP/2 connection.
pub(crate) enum Sharing {
    Open(StreamSlot),
    /// There is no room on any of the connections, or others wait for it: wait there.
    Full(Arc<StreamQueue>),
    /// Another fetch is making it: ask again when notified.
    Wait(Arc<Notify>),
    /// The caller makes it. The others wait until this is dropped.
    Make(Making),
}

/// The turn to make a server's HTTP/2 connection.
pub(crate) struct Making {
    origin: Arc<Identity>,
    peer: u64,
    done: Arc<Notify>,
}

impl Drop for Making {
    fn drop(&mut self) {
        with_lane(&self.origin, self.peer, |lane| {
            lane.dialling = None;
            lane.queue.tell();
        });
        self.done.notify_waiters();
    }
}

/// Takes an idle connection that may be used now, and was used less than `within` ago.
pub(crate) fn take(key: Key<'_>, now: Instant, within: Duration) -> Option<Single> {
    with_lane(key.origin, key.peer, |lane| {
        let was_used = |idle: &mut Idle| now.duration_since(idle.since) < within;
        while let Some(mut idle) = lane.idle.pop_back_if(was_used) {
            if idle.link.is_ready() && now.duration_since(idle.since) < key.origin.idle_time {
                return Some(idle.link);
            }
        }
        None
    })
}

/// Keeps a connection for the next fetch. It replaces the oldest if there are enough.
pub(crate) fn put(key: Key<'_>, mut link: Single, since: Instant) {
    if !key.origin.keeps() || !link.may_rest() {
        return;
    }
    with_lane(key.origin, key.peer, |lane| {
        if lane.idle.len() >= key.origin.idle_connections {
            lane.idle.pop_front();
        }
        lane.idle.push_back(Idle { link, since });
    });
    KEPT.with(|kept| kept.notify_one());
}

/// What a fetch that wants a stream has behind it.
#[derive(Clone, Copy)]
pub(crate) struct StreamWish {
    /// Whether nobody is before it of those that wait.
    pub(crate) is_first: bool,
    /// The connection on which the server refused it. It gets another if there may be one.
    pub(crate) refused_by: Option<u64>,
}

/// Asks for a stream on a shared HTTP/2 connection; `None`: this server speaks HTTP/1.1.
pub(crate) fn shared(key: Key<'_>, now: Instant, wish: StreamWish) -> Option<Sharing> {
    with_lane(key.origin, key.peer, |lane| {
        if !wish.is_first && !lane.queue.is_empty() {
            return Some(Sharing::Full(Arc::clone(&lane.queue)));
        }
        lane.sweep_http2(now, key.origin);
        if let Some(slot) = lane.open(now, wish.refused_by) {
            return Some(Sharing::Open(slot));
        }
        if lane.has_most() {
            return Some(Sharing::Full(Arc::clone(&lane.queue)));
        }
        if lane.chose_http1 {
            return None;
        }
        if let Some(done) = &lane.dialling {
            // The first may get a stream that ends before the connection is made. Where none can end, all that wait
            // may as well wait for the connection, and know at the same time if there is to be none.
            if wish.is_first && lane.is_full() {
                return Some(Sharing::Full(Arc::clone(&lane.queue)));
            }
            return Some(Sharing::Wait(Arc::clone(done)));
        }
        let done = Arc::new(Notify::new());
        lane.dialling = Some(Arc::clone(&done));
        Some(Sharing::Make(Making {
            origin: Arc::clone(key.origin),
            peer: key.peer,
            done,
        }))
    })
}

/// Takes a stream of a connection that has room, unless others wait for it: the last choice is the one on which the server
/// refused the fetch.
pub(crate) fn room(key: Key<'_>, now: Instant, refused_by: u64) -> Option<StreamSlot> {
    with_lane(key.origin, key.peer, |lane| {
        if !lane.queue.is_empty() {
            return None;
        }
        let other = lane.open(now, Some(refused_by));
        other.or_else(|| lane.open(now, None))
    })
}

/// Returns the queue for a stream at this server.
pub(crate) fn queue(key: Key<'_>) -> Arc<StreamQueue> {
    with_lane(key.origin, key.peer, |lane| Arc::clone(&lane.queue))
}

/// Shares a new HTTP/2 connection with this worker's other fetches.
pub(crate) fn share(key: Key<'_>, link: Http2, now: Instant) {
    with_lane(key.origin, key.peer, |lane| {
        lane.chose_http1 = false;
        lane.add(MultiplexedLink { link, used: now });
    });
    KEPT.with(|kept| kept.notify_one());
}

/// Remembers that ALPN agreed on HTTP/1.1.
pub(crate) fn note_http1(key: Key<'_>) {
    with_lane(key.origin, key.peer, |lane| lane.chose_http1 = true);
}

/// Lets `choose` work on this worker's weights.
pub(crate) fn with_weights<T>(
    origin: &Arc<Identity>,
    choose: impl FnOnce(&mut WrrWeights) -> T,
) -> T {
    with(origin, |pool| choose(&mut pool.weights))
}

fn with_lane<T>(origin: &Arc<Identity>, peer: u64, act: impl FnOnce(&mut Lane) -> T) -> T {
    with(origin, |pool| act(pool.lanes.entry(peer).or_default()))
}

/// Runs `act` on this worker's pool for the origin, which is made if necessary. `act` must not call this again.
fn with<T>(origin: &Arc<Identity>, act: impl FnOnce(&mut Pool) -> T) -> T {
    POOLS.with_borrow_mut(|pools| {
        act(pools.entry(origin.number).or_insert_with(|| Pool {
            origin: Arc::downgrade(origin),
            lanes: BTreeMap::new(),
            weights: WrrWeights::new(),
        }))
    })
}
