//! The configuration of a listener: where to listen, how, and within which limits. Plain values.

use super::tls::TlsStore;
use http::Version;
use ipnet::IpNet;
use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

/// One listener.
#[derive(Debug)]
pub struct ListenConfig {
    /// Where to accept connections.
    pub address: Address,
    /// TLS with these certificates; `None` for plain connections.
    pub tls: Option<Arc<TlsStore>>,
    /// Networks whose connections begin with a PROXY protocol header; none if empty. A connection from elsewhere is
    /// taken as direct. On a Unix socket, a list that is not empty trusts every peer: the file's permissions have
    /// already chosen them.
    pub proxy_protocol: Vec<IpNet>,
    /// Answers every request with 308 to the same target on `https` and this port.
    pub redirect_https: Option<u16>,
    /// Permission bits of a Unix socket's file, e.g. `0o660`; `None` leaves those of the process's mask.
    pub unix_mode: Option<u32>,
    /// How many connections the kernel holds for us before we accept them.
    pub backlog: u32,
}

impl ListenConfig {
    /// A plain listener with defaults everywhere else.
    pub fn plain(address: Address) -> Self {
        Self {
            address,
            tls: None,
            proxy_protocol: Vec::new(),
            redirect_https: None,
            unix_mode: None,
            backlog: 4096,
        }
    }
}

/// Where to accept connections.
#[derive(Debug)]
pub enum Address {
    /// A TCP address; port 0 lets the kernel choose one, the same for all workers.
    Tcp(SocketAddr),
    /// A path in the file system. A socket file on which nothing answers is replaced.
    Unix(PathBuf),
    /// A TCP listener opened by another process (socket activation).
    InheritedTcp(std::net::TcpListener),
    /// A Unix listener opened by another process (socket activation).
    InheritedUnix(std::os::unix::net::UnixListener),
}

/// How many bytes of HTTP/1 `hyper` reads at a time, unless a head may be longer.
pub(super) const READ: usize = 32 * 1024;

/// The most bytes of content in a frame of HTTP/2: clients may send no more (RFC 9113 section 4.2).
const FRAME: u64 = 16 * 1024;

/// The longest and the shortest step of the coarse clock.
const TICK: (Duration, Duration) = (Duration::from_millis(500), Duration::from_millis(20));

/// What clients may cost us. Times are kept by a coarse clock: a limit takes effect up to two `tick`s late, never
/// early.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at the same time, over all workers. Further ones get 503 (plain) or are closed (TLS).
    pub connections: usize,
    /// The same for each client address (IPv6: for each /64). `None` for no limit.
    pub connections_per_address: Option<usize>,
    /// Bytes of a request's head (HTTP/2: of its uncompressed field list); 431 beyond. At least 8192.
    pub header_size: usize,
    /// Field lines in a request's head; 431 beyond. 100 costs least.
    pub headers: usize,
    /// Bytes of a request target; 414 beyond. RFC 9112 section 3 recommends at least 8000.
    pub target: usize,
    /// From a head's first byte to its last; 408 beyond.
    pub head_time: Duration,
    /// Without a request on an open connection, or with one side of a tunnel ended; closed beyond. Zero makes each
    /// answer over HTTP/1 the last of its connection.
    pub idle_time: Duration,
    /// Between two pieces of a request body that we wait for; 408 beyond (or only a close if the answer has begun).
    pub body_time: Duration,
    /// While a client takes nothing of an answer; closed beyond. Over HTTP/2, the stream is reset.
    pub write_time: Duration,
    /// For the PROXY protocol header and the TLS handshake together; closed beyond.
    pub handshake_time: Duration,
    /// How long we keep reading after a last answer, so that the client gets it before the reset. Over HTTP/2, what comes
    /// of a request that nobody reads.
    pub linger_time: Duration,
    /// HTTP/2 streams open at the same time on one connection.
    pub http2_streams: u32,
    /// How many more HTTP/2 requests a client may cancel on one connection than it lets finish; closed beyond.
    pub http2_resets: u32,
    /// HTTP/2 receive window of a stream, in bytes.
    pub http2_stream_window: u32,
    /// Step of the coarse clock. A reload may make it finer for open connections, but never coarser.
    pub tick: Duration,
}

impl Limits {
    /// Returns the same limits with a clock fine enough that no time is missed by more than a quarter of it, nor by
    /// more than a second.
    #[must_use]
    pub fn kept_in_time(self) -> Self {
        let times = [
            self.head_time,
            self.silence(),
            self.body_time,
            self.write_time,
            self.handshake_time,
        ];
        let least = times.into_iter().min().unwrap_or(TICK.0);
        Self {
            tick: (least / 8).clamp(TICK.1, TICK.0),
            ..self
        }
    }

    /// Whether connections are closed rather than kept open between two requests.
    pub(super) fn allows_no_rest(&self) -> bool {
        self.idle_time.is_zero()
    }

    /// How long a connection may be open without a request. If none is kept open between requests, its first request
    /// has as long as a head.
    pub(super) fn silence(&self) -> Duration {
        if self.allows_no_rest() {
            self.head_time
        } else {
            self.idle_time
        }
    }

    /// How many bytes `hyper` keeps in reserve to read HTTP/1 into: a whole head fits.
    pub(super) fn http1_buffer(&self) -> usize {
        self.header_size.max(READ)
    }

    /// HTTP/2 receive window of a connection, in bytes: that of all its streams, so that content which waits on some holds
    /// up no other (RFC 9113 section 5.2). Each request's [held content](Self::held_content) has its part of it.
    pub(super) fn http2_connection_window(&self) -> u32 {
        const MOST: u32 = (1 << 31) - 1;
        let all = self.http2_stream_window.saturating_mul(self.http2_streams);
        all.min(MOST)
    }

    /// How many bytes of one request's content may be held at once: those that came and were not read, and those that
    /// were handed on and not sent.
    pub(super) fn held_content(&self, version: Version) -> u64 {
        // A buffer may grow to twice its reserve, and a piece keeps the buffer in which it came.
        let (unread, piece) = if version == Version::HTTP_2 {
            (self.http2_stream_window.into(), 4 * FRAME)
        } else {
            let buffer = 2 * self.http1_buffer() as u64;
            (buffer, buffer)
        };
        unread + origin::UNSENT + piece
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 50_000,
            connections_per_address: None,
            header_size: 32 * 1024,
            headers: 100,
            target: 16 * 1024,
            head_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(75),
            body_time: Duration::from_secs(30),
            write_time: Duration::from_mins(1),
            handshake_time: Duration::from_secs(10),
            linger_time: Duration::from_secs(2),
            http2_streams: 200,
            http2_resets: 100,
            http2_stream_window: 256 * 1024,
            tick: TICK.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_as_fine_as_the_shortest_time_asks_for() {
        let step = |head_time| {
            let limits = Limits {
                head_time,
                ..Limits::default()
            };
            limits.kept_in_time().tick
        };
        let millis = Duration::from_millis;
        for (shortest, tick) in [
            (Duration::from_secs(10), millis(500)),
            (millis(4000), millis(500)),
            (millis(800), millis(100)),
            (millis(10), millis(20)),
            (Duration::ZERO, millis(20)),
        ] {
            assert_eq!(step(shortest), tick, "{shortest:?}");
        }
    }
}
