//! What a worker counts about its connections.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One worker writes them, any thread reads them.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) accepted: AtomicU64,
    pub(super) closed: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) handshakes: AtomicU64,
    pub(super) handshakes_failed: AtomicU64,
    pub(super) bytes_in: AtomicU64,
    pub(super) bytes_out: AtomicU64,
    pub(super) protocol_errors: AtomicU64,
    pub(super) timeouts: AtomicU64,
    pub(super) panics: AtomicU64,
}

/// Adds without a locked instruction: each counter has one writer, its worker.
pub(super) fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}

/// The values of the counters at one moment, of one worker or summed over several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Connections accepted so far. Includes those then refused by the limit for their address, but not those refused by
    /// the limit for all.
    pub accepted: u64,
    /// Connections open now.
    pub active: u64,
    /// Connections turned away because of a limit.
    pub refused: u64,
    /// TLS handshakes completed.
    pub handshakes: u64,
    /// TLS handshakes and PROXY protocol headers that failed or took too long.
    pub handshakes_failed: u64,
    /// Bytes of HTTP read (TLS: inside).
    pub bytes_in: u64,
    /// Bytes of HTTP written (TLS: inside).
    pub bytes_out: u64,
    /// Requests that were malformed.
    pub protocol_errors: u64,
    /// Connections ended by one of the time limits (idle ones aside).
    pub timeouts: u64,
    /// Requests that ended in a panic of ours.
    pub panics: u64,
}

impl Counters {
    /// The current values.
    pub(super) fn snapshot(&self) -> Snapshot {
        let accepted = self.accepted.load(Relaxed);
        Snapshot {
            accepted,
            active: accepted.saturating_sub(self.closed.load(Relaxed)),
            refused: self.refused.load(Relaxed),
            handshakes: self.handshakes.load(Relaxed),
            handshakes_failed: self.handshakes_failed.load(Relaxed),
            bytes_in: self.bytes_in.load(Relaxed),
            bytes_out: self.bytes_out.load(Relaxed),
            protocol_errors: self.protocol_errors.load(Relaxed),
            timeouts: self.timeouts.load(Relaxed),
            panics: self.panics.load(Relaxed),
        }
    }
}

impl std::ops::Add for Snapshot {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            accepted: self.accepted + other.accepted,
            active: self.active + other.active,
            refused: self.refused + other.refused,
            handshakes: self.handshakes + other.handshakes,
            handshakes_failed: self.handshakes_failed + other.handshakes_failed,
            bytes_in: self.bytes_in + other.bytes_in,
            bytes_out: self.bytes_out + other.bytes_out,
            protocol_errors: self.protocol_errors + other.protocol_errors,
            timeouts: self.timeouts + other.timeouts,
            panics: self.panics + other.panics,
        }
    }
}
