//! One connection with its HTTP engine: a sender of requests and the task that drives the socket.

use crate::{Error, Kind, Servers, connect::Dialled, direct, stream::Stream, upload::Outgoing};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    task::{AbortHandle, coop::has_budget_remaining, spawn_local},
    time::{Instant, Sleep, interval, sleep_until},
};

/// hyper's least size of a connection's read buffer (it refuses less).
const LEAST_BUFFER: usize = 8 * 1024;

/// A connection's time limits tick here. It goes with an HTTP/1.1 connection from fetch to fetch: moving the deadline
/// of a timer that is already set further into the future costs one atomic operation, making a new one a lock.
pub(crate) type Alarm = Pin<Box<Sleep>>;

/// An alarm that is set far off until it is needed.
pub(crate) fn alarm(at: Instant) -> Alarm {
    Box::pin(sleep_until(at))
}

/// Whether an alarm has rung. It is heard even by a task that has spent tokio's budget, as one does that reads without end.
pub(crate) fn has_rung(alarm: &mut Alarm, cx: &mut Context<'_>) -> bool {
    alarm.as_mut().poll(cx).is_ready()
        || (!has_budget_remaining() && Instant::now() >= alarm.deadline())
}

/// The task that drives a connection. Dropping it closes the socket at once, whatever is under way.
#[derive(Debug)]
struct Driver(Option<AbortHandle>);

impl Driver {
    /// Lets the task end by itself.
    fn release(&mut self) {
        self.0 = None;
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// An HTTP/1.1 connection that hyper drives, held by one fetch at a time or idle in the pool. Dropping it closes the socket.
#[derive(Debug)]
pub(crate) struct Http1 {
    pub(crate) sender: http1::SendRequest<Outgoing>,
    pub(crate) alarm: Alarm,
    /// `Place::epoch` when it was made.
    pub(crate) epoch: u64,
    /// It has carried a response before.
    pub(crate) reused: bool,
    heard: Arc<AtomicU64>,
    driver: Driver,
}

impl Http1 {
    /// hyper's engine on a connection that was our own, or is new.
    pub(crate) async fn over(origin: &Servers, link: direct::Link) -> Result<Self, Error> {
        let largest = origin.config.largest_head;
        let heard = link.stream.heard();
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(largest.max(LEAST_BUFFER))
            .max_header_size(largest)
            .max_headers(direct::head::MOST)
            .allow_spaces_after_header_name_in_responses(true)
            .handshake(TokioIo::new(link.stream))
            .await
            .map_err(|cause| Error::new(Kind::Protocol).because(cause))?;
        let task = spawn_local(connection.with_upgrades());
        Ok(Self {
            sender,
            alarm: link.alarm,
            epoch: link.epoch,
            reused: link.reused,
            heard,
            driver: Driver(Some(task.abort_handle())),
        })
    }

    /// Bytes received on it so far.
    pub(crate) fn heard(&self) -> u64 {
        self.heard.load(Relaxed)
    }

    /// Nothing is under way on it and the server has not closed it.
    pub(crate) fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }

    /// Gives the socket up to whoever holds the upgrade (RFC 9110 section 7.8).
    pub(crate) fn hand_over(mut self) {
        self.driver.release();
    }
}

/// A worker's HTTP/2 connection to a server, shared by its fetches there. When the last clone goes, the socket closes.
#[derive(Clone, Debug)]
pub(crate) struct Http2 {
    pub(crate) sender: http2::SendRequest<Outgoing>,
    /// `Place::epoch` when it was made.
    pub(crate) epoch: u64,
    driver: Arc<Driver>,
    /// How many streams the server allows at a time, as of the last request.
    streams: Arc<AtomicUsize>,
    /// The server has said GOAWAY, which hyper does not tell as long as others are under way.
    leaving: Arc<AtomicBool>,
}

impl Http2 {
    pub(crate) async fn new(origin: &Servers, dialled: Dialled) -> Result<Self, Error> {
        let largest = u32::try_from(origin.config.largest_head).unwrap_or(u32::MAX);
        let (sender, mut connection) = http2::Builder::new(LocalExecutor)
            .timer(TokioTimer::new())
            // A connection that died without a word is found out before fetches pile up on it.
            .keep_alive_interval(Duration::from_secs(20))
            .keep_alive_timeout(Duration::from_secs(10))
            .initial_stream_window_size(1024 * 1024)
            .initial_connection_window_size(4 * 1024 * 1024)
            .max_header_list_size(largest)
            // None before the server has said how many it allows.
            .initial_max_send_streams(0)
            .handshake(TokioIo::new(dialled.stream))
            .await
            .map_err(|cause| Error::new(Kind::Protocol).because(cause))?;
        let streams = allowed(&mut connection).await?;
        let streams = Arc::new(AtomicUsize::new(streams));
        let known = Arc::clone(&streams);
        let task = spawn_local(poll_fn(move |cx| {
            let done = Pin::new(&mut connection).poll(cx);
            known.store(connection.current_max_send_streams(), Relaxed);
            done
        }));
        Ok(Self {
            sender,
            epoch: dialled.epoch,
            driver: Arc::new(Driver(Some(task.abort_handle()))),
            streams,
            leaving: Arc::default(),
        })
    }

    /// No further fetch goes there: one has met a GOAWAY.
    pub(crate) fn leave(&self) {
        self.leaving.store(true, Relaxed);
    }

    /// How many fetches are under way on it: all holds but the pool's own.
    pub(crate) fn under_way(&self) -> usize {
        Arc::strong_count(&self.driver).saturating_sub(1)
    }

    /// The server allows no more streams for now (RFC 9113 section 5.1.2): what is sent waits for the end of another.
    pub(crate) fn is_full(&self) -> bool {
        self.under_way() >= self.streams.load(Relaxed)
    }

    /// The server has closed it or said GOAWAY (RFC 9113 section 6.8).
    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed() || self.leaving.load(Relaxed)
    }
}

/// How often we look whether the server's first frame has come, which hyper tells nobody.
const LOOK: Duration = Duration::from_millis(1);

/// How many streams the server allows, which its first frame says (RFC 9113 section 3.4). What went out before could be beyond that.
async fn allowed(connection: &mut Driven) -> Result<usize, Error> {
    let mut look = interval(LOOK);
    poll_fn(|cx| {
        loop {
            let streams = connection.current_max_send_streams();
            if streams > 0 {
                return Poll::Ready(Ok(streams));
            }
            if let Poll::Ready(ended) = Pin::new(&mut *connection).poll(cx) {
                let error = Error::new(Kind::Protocol);
                return Poll::Ready(Err(match ended {
                    Ok(()) => {
                        error.because("the server closed the connection before its first frame")
                    }
                    Err(cause) => error.because(cause),
                }));
            }
            ready!(look.poll_tick(cx));
        }
    })
    .await
}

/// hyper's part of a connection.
type Driven = http2::Connection<TokioIo<Stream>, Outgoing, LocalExecutor>;

/// Runs hyper's HTTP/2 tasks beside the connection, on the worker's own `LocalSet`.
#[derive(Clone, Copy, Debug)]
struct LocalExecutor;

impl<F> hyper::rt::Executor<F> for LocalExecutor
where
    F: Future + 'static,
{
    fn execute(&self, task: F) {
        spawn_local(task);
    }
}
