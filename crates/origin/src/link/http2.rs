//! A worker's HTTP/2 connection to a server, shared by its fetches there.

mod alive;
mod gathered;
mod listening;
mod slot;

pub(crate) use listening::Listening;
pub(crate) use slot::{StreamQueue, StreamSlot};

use super::Driver;
use crate::{
    Error, Kind, Servers,
    connect::Dialled,
    http2::{Frames, Gathering, SMALL_FRAMES},
    stream::Stream,
};
use alive::Alive;
use bytes::Bytes;
use gathered::Gathered;
use h2::client::{Builder, Connection, SendRequest};
use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::task::spawn_local;

/// Most streams under way on a connection at a time, even if the server allows more.
const MOST_STREAMS: usize = 100;

/// How many streams that were given up `h2` remembers, and for how long: what comes of them is dropped meanwhile.
const MOST_GIVEN_UP: usize = 10 * MOST_STREAMS;
const GIVEN_UP: Duration = Duration::from_secs(5);

/// Bytes of content that may arrive on a stream before they are read; see
/// [`ResponseBody::unread`](crate::ResponseBody::unread).
pub(crate) const STREAM_WINDOW: u32 = 256 * 1024;

/// The same for a connection: streams that nobody reads do not use up the window of the others.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * MOST_STREAMS as u32;

/// A connection, or one fetch's share of it. When the last clone goes, the socket closes.
#[derive(Clone, Debug)]
pub(crate) struct Http2 {
    sender: SendRequest<Bytes>,
    shared: Arc<ConnectionState>,
}

/// The state of a connection.
#[derive(Debug)]
struct ConnectionState {
    _driver: Driver,
    /// The content of its answers.
    gathering: Gathering,
    /// Tells it from all others.
    number: u64,
    /// How many streams may be under way at a time, and how many are.
    streams: AtomicUsize,
    open: AtomicUsize,
    /// How often it has come into use: a stream began when none was under way.
    uses: AtomicUsize,
    /// Those that wait for a stream, here or on another connection to the server.
    queue: Arc<StreamQueue>,
    /// Whether the server has closed it or sent GOAWAY (RFC 9113 section 6.8).
    closed: AtomicBool,
    /// Whether an answer has come on it.
    answered: AtomicBool,
    /// How often a head or content has come on it. These show that its server still answers; frames that an engine
    /// sends by itself do not.
    brought: AtomicU64,
    /// Whether a fetch ran out of time on it and nothing came meanwhile: it may be dead.
    doubted: AtomicBool,
}

impl Http2 {
    /// Makes a connection to the server for which these wait.
    pub(crate) async fn new(
        origin: &Servers,
        dialled: Dialled,
        queue: Arc<StreamQueue>,
    ) -> Result<Self, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let largest = u32::try_from(origin.config.largest_head).unwrap_or(u32::MAX);
        let heard = dialled.stream.heard();
        let gathering = Gathering::default();
        let stream = Gathered {
            stream: dialled.stream,
            frames: Frames::of_server(origin.config.largest_head),
            gathering: gathering.clone(),
        };
        let (sender, mut connection) = Builder::new()
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(largest)
            .enable_push(false)
            .data_frame_budget(SMALL_FRAMES)
            // What is still on its way of streams that were given up is nobody's fault, and ends no others.
            .max_concurrent_reset_streams(MOST_GIVEN_UP)
            .reset_stream_duration(GIVEN_UP)
            .max_local_error_reset_streams(None)
            // None until the server has said how many it allows.
            .initial_max_send_streams(0)
            .handshake(stream)
            .await
            .map_err(Error::of_h2_before_frames)?;
        let streams = allowed(&mut connection).await?;
        let alive = connection.ping_pong().map(|pings| Alive::new(pings, heard));
        let probe = sender.clone();
        let shared = Arc::new_cyclic(|shared: &Weak<ConnectionState>| {
            let task = spawn_local(Driven {
                connection,
                alive,
                probe,
                gathering: gathering.clone(),
                shared: shared.clone(),
            });
            ConnectionState {
                _driver: Driver::of(&task),
                gathering,
                number: NUMBER.fetch_add(1, Relaxed),
                streams: AtomicUsize::new(streams),
                open: AtomicUsize::new(0),
                uses: AtomicUsize::new(0),
                queue,
                closed: AtomicBool::new(false),
                answered: AtomicBool::new(false),
                brought: AtomicU64::new(0),
                doubted: AtomicBool::new(false),
            }
        });
        Ok(Self { sender, shared })
    }

    /// Returns the number that tells it from all others.
    pub(crate) fn number(&self) -> u64 {
        self.shared.number
    }

    /// Returns how many streams are under way on it.
    pub(crate) fn under_way(&self) -> usize {
        self.shared.open.load(Relaxed)
    }

    /// Whether no further fetch goes there: the server has closed it or sent GOAWAY, or it may be dead.
    pub(crate) fn is_closed(&self) -> bool {
        self.shared.closed.load(Relaxed) || self.shared.doubted.load(Relaxed)
    }
}

/// Waits for the server's first frame, which says how many streams it allows (RFC 9113 section 3.4). Streams begun
/// before could exceed that.
async fn allowed(connection: &mut Connection<Gathered<Stream>, Bytes>) -> Result<usize, Error> {
    poll_fn(|cx| {
        let polled = Pin::new(&mut *connection).poll(cx);
        let streams = most(connection);
        if streams > 0 {
            return Poll::Ready(Ok(streams));
        }
        polled.map(|ended| {
            Err(match ended {
                Ok(()) => Error::new(Kind::Protocol)
                    .because("the server closed the connection before its first frame"),
                Err(cause) => Error::of_h2_before_frames(cause),
            })
        })
    })
    .await
}

/// Returns how many streams may be under way.
fn most(connection: &Connection<Gathered<Stream>, Bytes>) -> usize {
    connection.max_concurrent_send_streams().min(MOST_STREAMS)
}

/// The task that moves a connection's frames.
struct Driven {
    connection: Connection<Gathered<Stream>, Bytes>,
    alive: Option<Alive>,
    /// Reports a GOAWAY while other streams are still under way.
    probe: SendRequest<Bytes>,
    gathering: Gathering,
    shared: Weak<ConnectionState>,
}

impl Future for Driven {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let ended = Pin::new(&mut this.connection).poll(cx).map(drop);
        this.gathering.gather();
        let Some(shared) = this.shared.upgrade() else {
            return Poll::Ready(());
        };
        let is_used = shared.open.load(Relaxed) > 0;
        let uses = is_used.then(|| shared.uses.load(Relaxed));
        let died = match &mut this.alive {
            Some(alive) => alive.poll(cx, uses),
            None => Poll::Pending,
        };
        let goes = matches!(this.probe.poll_ready(cx), Poll::Ready(Err(_)));
        let ends = ended.is_ready() || died.is_ready();
        let streams = most(&this.connection);
        let more = shared.streams.swap(streams, Relaxed) < streams;
        let was_closed = shared.closed.swap(goes || ends, Relaxed);
        if more || (goes || ends) != was_closed {
            shared.queue.tell();
        }
        if ends { Poll::Ready(()) } else { Poll::Pending }
    }
}
