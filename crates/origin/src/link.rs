//! One connection with its HTTP engine: a sender of requests, and the task that drives the socket.

mod http2;

pub(crate) use http2::{Http2, Listening, STREAM_WINDOW, StreamQueue, StreamSlot};

use crate::{
    Error, Kind, Servers, direct,
    stream::{Driven, Ear},
    upload::Outgoing,
};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::Context,
};
use tokio::{
    task::{AbortHandle, JoinHandle, coop::has_budget_remaining, spawn_local},
    time::{Instant, Sleep, sleep_until},
};

/// The least size of a connection's read buffer that hyper accepts.
const LEAST_BUFFER: usize = 8 * 1024;

/// The timer of a connection's time limits. It stays with an HTTP/1.1 connection from fetch to fetch: moving the
/// deadline of a set timer further into the future costs one atomic operation, making a new timer costs a lock.
pub(crate) type Alarm = Pin<Box<Sleep>>;

/// Makes an alarm that rings at `at`.
pub(crate) fn alarm(at: Instant) -> Alarm {
    Box::pin(sleep_until(at))
}

/// Whether an alarm has rung. This also works in a task that has spent tokio's budget, as one that reads without end
/// does.
pub(crate) fn has_rung(alarm: &mut Alarm, cx: &mut Context<'_>) -> bool {
    alarm.as_mut().poll(cx).is_ready()
        || (!has_budget_remaining() && Instant::now() >= alarm.deadline())
}

/// The task that drives a connection, or one stream's content. Dropping this ends the task at once, whatever is under
/// way.
#[derive(Debug)]
pub(crate) struct Driver(Option<AbortHandle>);

impl Driver {
    pub(crate) fn of<T>(task: &JoinHandle<T>) -> Self {
        Self(Some(task.abort_handle()))
    }

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

/// An HTTP/1.1 connection that hyper drives, held by one fetch at a time or idle in the pool. Dropping it closes the
/// socket.
#[derive(Debug)]
pub(crate) struct Http1 {
    pub(crate) sender: http1::SendRequest<Outgoing>,
    pub(crate) alarm: Alarm,
    /// Whether it has carried a response before.
    pub(crate) reused: bool,
    heard: Arc<AtomicU64>,
    written: Arc<AtomicU64>,
    ear: Ear,
    driver: Driver,
}

impl Http1 {
    /// Puts hyper's engine on a connection that was our own, or is new.
    pub(crate) async fn over(origin: &Servers, link: direct::Link) -> Result<Self, Error> {
        let largest = origin.config.largest_head;
        let (heard, written) = (link.stream.heard(), link.stream.written());
        let mut stream = link.stream;
        stream.listen_on();
        let (stream, ear) = Driven::new(stream);
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(largest.max(LEAST_BUFFER))
            .max_header_size(largest)
            .max_headers(direct::head::MOST)
            .allow_spaces_after_header_name_in_responses(true)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|cause| Error::new(Kind::Protocol).because(cause))?;
        let task = spawn_local(connection.with_upgrades());
        Ok(Self {
            sender,
            alarm: link.alarm,
            reused: link.reused,
            heard,
            written,
            ear,
            driver: Driver::of(&task),
        })
    }

    /// Returns how many bytes have been received on it so far.
    pub(crate) fn heard(&self) -> u64 {
        self.heard.load(Relaxed)
    }

    /// Returns the counter of how often it was written to.
    pub(crate) fn written(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written)
    }

    /// Whether the server speaks HTTP/2 all the same.
    pub(crate) fn hears_http2(&self) -> bool {
        self.ear.hears_http2()
    }

    /// Whether nothing is under way on it, and the server has neither closed it nor said anything, as far as hyper has
    /// looked.
    pub(crate) fn may_rest(&self) -> bool {
        self.sender.is_ready()
    }

    /// Like [`may_rest`](Self::may_rest), but also asks the kernel: what follows an answer must not be taken for the
    /// next one (RFC 9112 section 6.3).
    pub(crate) fn is_ready(&self) -> bool {
        self.may_rest() && self.ear.hears_nothing()
    }

    /// Gives up the socket to the holder of the upgrade (RFC 9110 section 7.8).
    pub(crate) fn hand_over(mut self) {
        self.driver.release();
    }
}
