//! How many connections the admin API has at the same time: each has a slot.
//!
//! Monitors keep connections open between their visits, and forget some. So where no slot is free, a new connection
//! takes that of the one that has rested for the longest time: without a request, or with its last one answered. If none
//! rests, it takes that of a client that does not read its answer, so that nobody holds a slot by standing still. Only if
//! all wait for answers of ours is the new one turned away.
//!
//! Requests that wait for what others do may wait for long. They have only a part of the slots, so that they keep out
//! neither monitors nor the purges of other nodes.

mod connection;
mod turned_away;

use super::Refusal;
use axum::{
    extract::{ConnectInfo, Request, connect_info::Connected},
    http::StatusCode,
    middleware::Next,
    response::Response,
    serve::{self, IncomingStream},
};
use connection::Connection;
use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{net::TcpListener, sync::oneshot, task::yield_now};
use turned_away::TurnedAway;

/// The most connections at the same time: as many descriptors as connections to servers leave free
/// (`origin::descriptors`).
const MOST: usize = 96;

/// The most requests at the same time that wait for others.
const MOST_WAITING: usize = 64;

/// What a request is told for which there is no room.
const FULL: &str = "too many requests to the admin API wait for answers: try again";

/// The seconds after which it makes sense to try again.
const AGAIN: u32 = 1;

/// The slots that are taken.
#[derive(Debug, Default)]
struct Slots {
    taken: HashMap<u64, Taken>,
    /// Counts what happens, so that everything has its own number.
    count: u64,
}

#[derive(Debug)]
struct Taken {
    does: Does,
    /// Ends the connection when it is dropped.
    _stays: oneshot::Sender<()>,
}

/// What a connection does. The least gives way first; times are counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Does {
    /// Has nothing to do since then.
    Rests(u64),
    /// Sends an answer, of which the client last took something then. All of it is in hyper's buffer, and its body gone.
    Sends(u64),
    /// Has a request at work, which never gives way.
    Works,
    /// Has a request at work that waits for others: for other nodes, or for purges to come.
    Waits,
}

impl Slots {
    fn tick(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Takes a slot for a connection that rests; `None` if all are at work. Returns its number, and what tells the
    /// connection that another has taken it.
    fn take(&mut self) -> Option<(u64, oneshot::Receiver<()>)> {
        if self.taken.len() >= MOST {
            let idle = self.taken.iter().filter(|(_, it)| it.does < Does::Works);
            let (_, first) = idle.map(|(number, it)| (it.does, *number)).min()?;
            self.taken.remove(&first);
        }
        let (stays, gone) = oneshot::channel();
        let number = self.tick();
        let taken = Taken {
            does: Does::Rests(number),
            _stays: stays,
        };
        self.taken.insert(number, taken);
        Some((number, gone))
    }
}

/// A connection's slot.
#[derive(Clone, Debug)]
pub(super) struct ConnectionSlot {
    slots: Arc<Mutex<Slots>>,
    number: u64,
}

impl ConnectionSlot {
    /// Its connection now does what `next` makes of what it did, and of the time.
    fn turn(&self, next: impl FnOnce(Does, u64) -> Does) {
        let mut slots = lock(&self.slots);
        let now = slots.tick();
        if let Some(taken) = slots.taken.get_mut(&self.number) {
            taken.does = next(taken.does, now);
        }
    }

    /// Says that the request at work is going to wait for others.
    ///
    /// # Errors
    /// Too many do already.
    pub(super) fn wait(&self) -> Result<(), Refusal> {
        let taken = &mut lock(&self.slots).taken;
        let waiting = taken.values().filter(|it| it.does == Does::Waits).count();
        if waiting >= MOST_WAITING {
            let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, FULL);
            return Err(refusal.again_in(AGAIN));
        }
        if let Some(taken) = taken.get_mut(&self.number) {
            taken.does = Does::Waits;
        }
        Ok(())
    }

    /// The client has taken some of what is sent.
    fn moves(&self) {
        self.turn(|does, now| match does {
            Does::Sends(_) => Does::Sends(now),
            other => other,
        });
    }

    /// Its connection has ended.
    fn give_back(&self) {
        lock(&self.slots).taken.remove(&self.number);
    }

    /// Nothing is left to be sent.
    fn sent(&self) {
        self.turn(|does, now| match does {
            Does::Sends(_) => Does::Rests(now),
            other => other,
        });
    }
}

impl Connected<IncomingStream<'_, Listener>> for ConnectionSlot {
    fn connect_info(stream: IncomingStream<'_, Listener>) -> Self {
        stream.io().slot().clone()
    }
}

fn lock(slots: &Mutex<Slots>) -> MutexGuard<'_, Slots> {
    slots.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the slot of a request's connection until the request is answered.
pub(super) async fn keep(
    ConnectInfo(slot): ConnectInfo<ConnectionSlot>,
    request: Request,
    next: Next,
) -> Response {
    let _at_work = AtWork::begin(slot);
    next.run(request).await
}

/// Says that a request is at work, until it is dropped.
struct AtWork(ConnectionSlot);

impl AtWork {
    fn begin(slot: ConnectionSlot) -> Self {
        slot.turn(|_, _| Does::Works);
        Self(slot)
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let Self(slot) = self;
        slot.turn(|_, now| Does::Sends(now));
    }
}

/// Accepts connections as long as there are slots.
#[derive(Debug)]
pub(super) struct Listener {
    socket: TcpListener,
    slots: Arc<Mutex<Slots>>,
    turned_away: TurnedAway,
}

impl Listener {
    pub(super) fn new(socket: TcpListener) -> Self {
        Self {
            socket,
            slots: Arc::default(),
            turned_away: TurnedAway::default(),
        }
    }
}

impl serve::Listener for Listener {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            let (stream, address) = serve::Listener::accept(&mut self.socket).await;
            // The connections before this one first read the requests that have come for them, and then do not seem
            // to rest.
            yield_now().await;
            let taken = lock(&self.slots).take();
            let Some((number, gone)) = taken else {
                self.turned_away.add(stream);
                continue;
            };
            let slots = Arc::clone(&self.slots);
            let slot = ConnectionSlot { slots, number };
            return (Connection::new(stream, gone, slot), address);
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}
