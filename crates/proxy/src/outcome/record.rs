//! The access log's record of a request.

use super::{Counters, Excerpt, LogSender, bump};
use http::{Method, StatusCode, Version};
use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

/// One line of the access log, before it is formatted.
#[derive(Debug)]
pub struct Record {
    /// The peer, after the PROXY protocol, or, if it is trusted, the client that it acts for; `None` if a request on a
    /// Unix socket names none.
    pub client: Option<IpAddr>,
    /// The request's method.
    pub method: Method,
    /// What its head says.
    pub text: Excerpt,
    /// The client's version of HTTP.
    pub version: Version,
    /// The status sent.
    pub status: StatusCode,
    /// As [`Outcome::nginx_word`](super::Outcome::nginx_word).
    pub cache: &'static str,
    /// As [`Detail::token`](super::Detail::token); if the answer broke off, why.
    pub detail: Option<&'static str>,
    /// As [`Outcome::origin_time`](super::Outcome::origin_time).
    pub origin_time: Option<Duration>,
    /// When the request came, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The time from the request to the end of the answer's body.
    pub took: Duration,
    /// Bytes of the body that were sent: what the kernel, TLS or the framing of HTTP/2 has taken.
    pub bytes: u64,
}

/// Completes a [`Record`] when the body has ended, and sends it to the writer of the access log.
#[derive(Debug)]
pub struct Ending {
    record: Option<Record>,
    began: Instant,
    log: LogSender,
    counters: Arc<Counters>,
}

impl Ending {
    /// Creates an ending that sends `record` to `log` when it is dropped, on the worker that `counters` belong to. If
    /// that fails, the record is counted as lost.
    pub fn new(record: Record, began: Instant, log: LogSender, counters: Arc<Counters>) -> Self {
        Self {
            record: Some(record),
            began,
            log,
            counters,
        }
    }

    /// Counts bytes handed to the connection.
    pub fn sent(&mut self, bytes: u64) {
        if let Some(record) = &mut self.record {
            record.bytes += bytes;
        }
    }

    /// Takes back bytes that were handed to the connection, which has ended without having sent them.
    pub fn left_unsent(&mut self, bytes: u64) {
        if let Some(record) = &mut self.record {
            // Framing, which nobody counted, may be among them.
            record.bytes = record.bytes.saturating_sub(bytes);
        }
    }

    /// Records that the answer breaks off, with the reason in one token.
    pub fn breaks_off(&mut self, why: &'static str) {
        if let Some(record) = &mut self.record {
            record.detail = Some(why);
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(mut record) = self.record.take() {
            record.took = self.began.elapsed();
            // If the queue is full, the record is dropped: a client must not wait for a log.
            if self.log.send(record).is_err() {
                bump(&self.counters.log_lost);
            }
        }
    }
}
