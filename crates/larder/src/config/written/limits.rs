//! Limits and memory as written.

use crate::config::value::{At, Count, Size, Text};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// The store in memory.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Memory {
    /// Budget for everything that is kept or on its way: heads, bodies, index, fills. A hard limit; at least 1 MiB.
    #[schemars(extend("default" = "512MiB"))]
    pub size: Option<Text<Size>>,
}

/// What one client may cost. A request beyond a limit gets an answer that says which.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Connections at the same time; no more than three quarters of the files that the system lets the process open.
    #[schemars(range(min = 1), extend("default" = 50_000))]
    pub connections: Option<At<Count>>,
    /// Connections at the same time from one address (IPv6: from one /64). No limit where nothing is said.
    #[schemars(range(min = 1), extend("examples" = [100]))]
    pub connections_per_address: Option<At<Count>>,
    /// Size of a request's head, its line and all of its fields, at least 8 KiB; 431 beyond.
    #[schemars(extend("default" = "32KiB"))]
    pub header_size: Option<Text<Size>>,
    /// Number of a request's header fields, from 16 to 10000; 431 beyond.
    #[schemars(range(min = 16, max = 10_000), extend("default" = 100))]
    pub header_count: Option<At<Count>>,
    /// Length of a request's path and query, at least 64 B; 414 beyond.
    #[schemars(extend("default" = "16KiB"))]
    pub target_length: Option<Text<Size>>,
    /// Time to send a request's header; 408 beyond.
    #[schemars(extend("default" = "10s"))]
    pub header_time: Option<Text<Duration>>,
    /// Time between two pieces of a request's body; 408 beyond.
    #[schemars(extend("default" = "30s"))]
    pub body_time: Option<Text<Duration>>,
    /// Time in which a client takes nothing of an answer; closed beyond. Over HTTP/2 that answer is ended, for which its client
    /// has made no room, and the connection goes on.
    #[schemars(extend("default" = "1m"))]
    pub write_time: Option<Text<Duration>>,
    /// Time that a connection may rest between two requests, and that one side of a tunnel (WebSocket) has to end after the
    /// other. With `"0s"` the first answer over HTTP/1 is its connection's last, and says so; over HTTP/2 one may rest for `header_time`.
    #[schemars(extend("default" = "75s"))]
    pub idle_time: Option<Text<Duration>>,
    /// Time for the PROXY protocol header and the TLS handshake together.
    #[schemars(extend("default" = "10s"))]
    pub handshake_time: Option<Text<Duration>>,
    /// HTTP/2 streams at the same time on one connection.
    #[schemars(range(min = 1), extend("default" = 200))]
    pub http2_streams: Option<At<Count>>,
    /// HTTP/2 requests that a client may cancel on one connection while it cancels more than it lets finish; with `0` the
    /// first that is cancelled ends the connection.
    #[schemars(extend("default" = 100))]
    pub http2_resets: Option<At<Count>>,
    /// Size of a request's body; 413 beyond, with `"0B"` for every body. No limit where nothing is said, but 64 MiB where FastCGI must be told a length that the client does not say.
    #[schemars(extend("examples" = ["10MiB"]))]
    pub request_body: Option<Text<Size>>,
    /// Variants (`Vary`) kept for one cache key.
    #[schemars(range(min = 1), extend("default" = 64))]
    pub variants: Option<At<Count>>,
    /// Time that requests under way get to finish when Larder stops.
    #[schemars(extend("default" = "30s"))]
    pub drain_time: Option<Text<Duration>>,
}
