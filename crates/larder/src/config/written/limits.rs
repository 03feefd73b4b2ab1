//! Limits and memory, as written.

use crate::config::value::{
    At, Count, HeaderSize, MemorySize, Size, TargetLength, Text, TimeLimit,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// The store in memory.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Memory {
    /// Budget for everything that is stored or in flight: heads, bodies, index, fills. A hard limit, at least 1 MiB.
    #[schemars(extend("default" = "512MiB"))]
    pub size: Option<Text<MemorySize>>,
}

/// Limits on what one client may cost. The answer to a request beyond a limit says which limit it was.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Connections at the same time; never more than three quarters of the files that the process may open.
    #[schemars(extend("default" = 50_000))]
    pub connections: Option<At<Count<1>>>,
    /// Connections at the same time from one address (IPv6: from one /64). No limit if not set.
    #[schemars(extend("examples" = [100]))]
    pub connections_per_address: Option<At<Count<1>>>,
    /// Size of a request's head, that is its first line and all of its fields, from 8 KiB to 1 MiB. Beyond it, 431.
    #[schemars(extend("default" = "32KiB"))]
    pub header_size: Option<Text<HeaderSize>>,
    // An ordinary browser sends as many as the least. Room for the most is allocated before a head is read.
    /// Number of header fields in a request, from 16 to 10000. Beyond it, 431.
    #[schemars(extend("default" = 100))]
    pub header_count: Option<At<Count<16, 10_000>>>,
    /// Length of a request's path and query, at least 64 B. Beyond it, 414.
    #[schemars(extend("default" = "16KiB"))]
    pub target_length: Option<Text<TargetLength>>,
    /// Time in which a client must send a request's header. Beyond it, 408.
    #[schemars(extend("default" = "10s"))]
    pub header_time: Option<Text<TimeLimit>>,
    /// Time between two pieces of a request's body. Beyond it, 408.
    #[schemars(extend("default" = "30s"))]
    pub body_time: Option<Text<TimeLimit>>,
    /// Time for which a client may take nothing of an answer, or of what a tunnel (WebSocket) brings. Beyond it, the
    /// connection is closed. Over HTTP/2 only the answer for which the client makes no room is ended; the connection
    /// goes on.
    #[schemars(extend("default" = "1m"))]
    pub write_time: Option<Text<TimeLimit>>,
    /// Time that a connection may be idle between two requests, and that one side of a tunnel (WebSocket) has to end
    /// after the other. With `"0s"` Larder closes an HTTP/1 connection after its first answer, which announces it; an
    /// HTTP/2 connection may be idle for `header_time`.
    #[schemars(extend("default" = "75s"))]
    pub idle_time: Option<Text<Duration>>,
    /// Time for the PROXY protocol header and the TLS handshake together.
    #[schemars(extend("default" = "10s"))]
    pub handshake_time: Option<Text<TimeLimit>>,
    /// HTTP/2 streams at the same time on one connection.
    #[schemars(extend("default" = 200))]
    pub http2_streams: Option<At<Count<1>>>,
    /// How many more HTTP/2 requests a client may cancel on one connection than it lets finish. With `0` the first
    /// request that is cancelled ends the connection.
    #[schemars(extend("default" = 100))]
    pub http2_resets: Option<At<Count>>,
    /// Size of a request's body. Beyond it, 413; with `"0B"` for every body. No limit if not set, except for FastCGI:
    /// 64 MiB if the client does not send the length, which FastCGI needs.
    #[schemars(extend("examples" = ["10MiB"]))]
    pub request_body: Option<Text<Size>>,
    /// Variants (`Vary`) kept for one cache key.
    #[schemars(extend("default" = 64))]
    pub variants: Option<At<Count<1>>>,
    /// Time that requests under way have to finish when Larder stops.
    #[schemars(extend("default" = "30s"))]
    pub drain_time: Option<Text<Duration>>,
}
