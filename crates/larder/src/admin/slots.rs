//! How many connections the admin API has at the same time: each has a slot.
//!
//! Monitors keep connections open between their visits, and forget some. So where no slot is free, a new connection
//! takes that of the one that has rested for the longest time: without a request, or with its last one answered. If none
//! rests, it takes that of a client that does not read its answer, so that nobody holds a slot by standing still. Only if
//! all wait for answers of ours is the new one turned away.

mod connection;

use axum::{
    extract::{ConnectInfo, Request, connect_info::Connected},
    http::{StatusCode, header},
    middleware::Next,
    response::Response,
    serve::{self, IncomingStream},
};
use connection::Connection;
use socket2::SockRef;
use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::yield_now,
};

/// The most connections at the same time: as many descriptors as connections to servers leave free
/// (`origin::descriptors`).
const MOST: usize = 64;

/// The content of the answer to a connection that is turned away.
const FULL: &str = r#"{"error":"all connections of the admin API wait for answers: try again"}"#;

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
            let idle = self.taken.iter().filter(|(_, it)| it.does != Does::Works);
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
pub(super) struct Slot {
    slots: Arc<Mutex<Slots>>,
    number: u64,
}

impl Slot {
    /// Its connection now does what `next` makes of what it did, and of the time.
    fn turn(&self, next: impl FnOnce(Does, u64) -> Does) {
        let mut slots = lock(&self.slots);
        let now = slots.tick();
        if let Some(taken) = slots.taken.get_mut(&self.number) {
            taken.does = next(taken.does, now);
        }
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

impl Connected<IncomingStream<'_, Listener>> for Slot {
    fn connect_info(stream: IncomingStream<'_, Listener>) -> Self {
        stream.io().slot().clone()
    }
}

fn lock(slots: &Mutex<Slots>) -> MutexGuard<'_, Slots> {
    slots.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the slot of a request's connection until the request is answered.
pub(super) async fn keep(
    ConnectInfo(slot): ConnectInfo<Slot>,
    request: Request,
    next: Next,
) -> Response {
    let _at_work = AtWork::begin(slot);
    next.run(request).await
}

/// Says that a request is at work, until it is dropped.
struct AtWork(Slot);

impl AtWork {
    fn begin(slot: Slot) -> Self {
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
}

impl Listener {
    pub(super) fn new(socket: TcpListener) -> Self {
        Self {
            socket,
            slots: Arc::default(),
        }
    }
}

impl serve::Listener for Listener {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            let (stream, address) = serve::Listener::accept(&mut self.socket).await;
            // The connections before this one first read the requests that have come for them, and then do not seem to rest.
            yield_now().await;
            let taken = lock(&self.slots).take();
            let Some((number, gone)) = taken else {
                turn_away(&stream);
                continue;
            };
            let slots = Arc::clone(&self.slots);
            let slot = Slot { slots, number };
            return (Connection::new(stream, gone, slot), address);
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

/// Answers with 503 if that is possible without waiting, as the listeners do at their limit.
fn turn_away(stream: &TcpStream) {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let text = format!(
        "HTTP/1.1 {status}\r\n{}: application/json\r\n{}: {}\r\n{}: 1\r\n{}: close\r\n\r\n{FULL}",
        header::CONTENT_TYPE,
        header::CONTENT_LENGTH,
        FULL.len(),
        header::RETRY_AFTER,
        header::CONNECTION,
    );
    let _ = SockRef::from(stream).send(text.as_bytes());
}
