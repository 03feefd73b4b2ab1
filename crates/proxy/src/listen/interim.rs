//! Interim responses (RFC 9110 section 15.2) on their way to clients.
//!
//! Over HTTP/2 they are sent at once, by the stream's [`Reply`]. `hyper`'s server cannot write those of HTTP/1.1. They
//! wait here until the connection's own I/O (`Meter`) finds a place for them between two messages.

use super::{http2::Reply, watch::Watch};
use http::{HeaderMap, StatusCode, Version, header};
use std::{
    mem,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
};

/// The most bytes of interim responses that wait (over HTTP/2: of one request). Further ones are dropped, since they
/// are hints.
pub(super) const MOST_WAITING: usize = 64 * 1024;

/// Takes the walk's interim responses to the client of one request.
///
/// They are sent before the final head. To HTTP/1.0, which does not have them, nothing is sent. A sink is cheap to
/// clone and may outlive its request; then it does nothing.
#[derive(Clone, Debug)]
pub struct InterimSink(To);

#[derive(Clone, Debug)]
enum To {
    Nobody,
    /// The connection's present request, if it still has this number.
    Http1(Arc<Watch>, u32),
    Http2(Arc<Reply>),
}

impl InterimSink {
    /// A sink for clients that cannot be told.
    pub(crate) fn deaf() -> Self {
        Self(To::Nobody)
    }

    /// A sink for a request over HTTP/1, which is `watch`'s present one from now on.
    pub(super) fn http1(watch: &Arc<Watch>, version: Version) -> Self {
        watch.outbox.open();
        if version != Version::HTTP_11 {
            return Self::deaf();
        }
        let request = watch.outbox.request.load(Relaxed);
        Self(To::Http1(Arc::clone(watch), request))
    }

    /// A sink for the request whose answer goes to `reply`.
    pub(super) fn http2(reply: &Arc<Reply>) -> Self {
        Self(To::Http2(Arc::clone(reply)))
    }

    /// Sends one interim response (1xx except 100 and 101) now or as soon as the connection allows. Any other status is
    /// ignored, and fields that frame content are left out.
    pub fn send(&self, status: StatusCode, fields: &HeaderMap) {
        let ours_to_send = status.is_informational()
            && status != StatusCode::CONTINUE
            && status != StatusCode::SWITCHING_PROTOCOLS;
        match &self.0 {
            To::Http1(watch, request)
                if ours_to_send && watch.outbox.put(*request, status, fields) =>
            {
                watch.wake();
            }
            To::Http2(reply) if ours_to_send => reply.send_interim(status, fields),
            _ => {}
        }
    }
}

/// Returns the fields that are passed on. A 1xx response may not have `Content-Length` or `Transfer-Encoding` (RFC 9110
/// section 8.6, RFC 9112 section 6.1), nor fields about the connection to the origin (RFC 9110 section 7.6.1).
pub(super) fn passed_on(fields: &HeaderMap) -> HeaderMap {
    let mut fields = fields.clone();
    rules::fields::remove_hop_by_hop(&mut fields);
    fields.remove(header::CONTENT_LENGTH);
    fields
}

/// The waiting interim responses of one connection.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// The number of the present request.
    request: AtomicU32,
    /// Whether the present request's final answer is decided. No more responses are taken then.
    answered: AtomicBool,
    /// Whether there are any `bytes`. On the path of a hit nothing else is looked at.
    waiting: AtomicBool,
    bytes: Mutex<Vec<u8>>,
}

impl Outbox {
    /// Makes a new request the present one. What waited for the last one is dropped.
    pub(super) fn open(&self) {
        let next = self.request.load(Relaxed).wrapping_add(1);
        self.request.store(next, Relaxed);
        self.answered.store(false, Relaxed);
        if self.waiting.load(Relaxed) {
            self.take();
        }
    }

    /// Says that the final answer is decided.
    pub(super) fn close(&self) {
        self.answered.store(true, Relaxed);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.answered.load(Relaxed)
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.load(Relaxed)
    }

    /// Takes what waits, as bytes ready to be written.
    pub(super) fn take(&self) -> Vec<u8> {
        self.waiting.store(false, Relaxed);
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        mem::take(&mut *bytes)
    }

    /// Adds a response. Returns `false` if the request is over, or too much waits already.
    fn put(&self, request: u32, status: StatusCode, fields: &HeaderMap) -> bool {
        if self.request.load(Relaxed) != request || self.is_closed() {
            return false;
        }
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let before = bytes.len();
        write_head(&mut bytes, status, fields);
        if bytes.len() > MOST_WAITING {
            bytes.truncate(before);
            return false;
        }
        self.waiting.store(true, Relaxed);
        true
    }
}

/// Writes a head (RFC 9112 sections 4 and 5).
fn write_head(into: &mut Vec<u8>, status: StatusCode, fields: &HeaderMap) {
    into.extend_from_slice(b"HTTP/1.1 ");
    into.extend_from_slice(status.as_str().as_bytes());
    into.push(b' ');
    into.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    into.extend_from_slice(b"\r\n");
    for (name, value) in &passed_on(fields) {
        into.extend_from_slice(name.as_str().as_bytes());
        into.extend_from_slice(b": ");
        into.extend_from_slice(value.as_bytes());
        into.extend_from_slice(b"\r\n");
    }
    into.extend_from_slice(b"\r\n");
}
