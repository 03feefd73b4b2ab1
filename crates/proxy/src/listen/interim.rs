//! Interim responses (RFC 9110 section 15.2) on their way to clients. Those over HTTP/2 go out at once, as the stream's
//! [`Reply`] writes them. Those over HTTP/1.1, which `hyper`'s server cannot write, wait here until the connection's own I/O (`Meter`)
//! finds a place between two messages for them.

use super::{http2::Reply, watch::Watch};
use http::{HeaderMap, StatusCode, Version, header};
use std::{
    mem,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
};

/// Bytes of interim responses that wait at most (over HTTP/2: of one request); what comes on top is dropped (they are hints).
pub(super) const MOST_WAITING: usize = 64 * 1024;

/// Where the walk hands interim responses for the client of one request. They go out before the final head; on HTTP/1.0, which
/// does not know them, nothing does. A cheap clone that may outlive its request: it then does nothing.
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
    /// For clients that cannot be told.
    pub(crate) fn deaf() -> Self {
        Self(To::Nobody)
    }

    /// For a request over HTTP/1, which is `watch`'s present one from now on.
    pub(super) fn http1(watch: &Arc<Watch>, version: Version) -> Self {
        watch.outbox.open();
        if version != Version::HTTP_11 {
            return Self::deaf();
        }
        let request = watch.outbox.request.load(Relaxed);
        Self(To::Http1(Arc::clone(watch), request))
    }

    /// For the request whose answer goes to `reply`.
    pub(super) fn http2(reply: &Arc<Reply>) -> Self {
        Self(To::Http2(Arc::clone(reply)))
    }

    /// Sends one interim response (1xx except 100 and 101) now or as soon as the connection allows. Any other status, and
    /// any field that frames content, is left out.
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

/// The fields as they go on. Neither `Content-Length` nor `Transfer-Encoding` may stand in a 1xx response (RFC 9110 section 8.6,
/// RFC 9112 section 6.1), nor does what concerns the connection to the origin (RFC 9110 section 7.6.1).
pub(super) fn passed_on(fields: &HeaderMap) -> HeaderMap {
    let mut fields = fields.clone();
    rules::fields::remove_hop_by_hop(&mut fields);
    fields.remove(header::CONTENT_LENGTH);
    fields
}

/// One connection's interim responses that wait.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Number of the present request.
    request: AtomicU32,
    /// Whether the present request's final answer is decided; nothing is taken any more.
    answered: AtomicBool,
    /// Whether `bytes` has any: the only thing looked at on the path of a hit.
    waiting: AtomicBool,
    bytes: Mutex<Vec<u8>>,
}

impl Outbox {
    /// A new request is the present one; what waited for the last is dropped.
    pub(super) fn open(&self) {
        let next = self.request.load(Relaxed).wrapping_add(1);
        self.request.store(next, Relaxed);
        self.answered.store(false, Relaxed);
        if self.waiting.load(Relaxed) {
            self.take();
        }
    }

    /// The final answer is decided.
    pub(super) fn close(&self) {
        self.answered.store(true, Relaxed);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.answered.load(Relaxed)
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.load(Relaxed)
    }

    /// What waits, as bytes ready for the wire.
    pub(super) fn take(&self) -> Vec<u8> {
        self.waiting.store(false, Relaxed);
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        mem::take(&mut *bytes)
    }

    /// `false` when the request is over, or too much waits already.
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

/// RFC 9112 section 4 and 5.
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
