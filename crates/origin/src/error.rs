//! What went wrong with an origin: what, whose fault, worth retrying.

/// An origin's failure.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    server: Option<String>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What went wrong. `detail()` gives the token for `Cache-Status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Unresolvable,
    Refused,
    ConnectTimeout,
    Tls,
    Protocol,
    FirstByteTimeout,
    BetweenBytesTimeout,
    WholeTimeout,
    /// The connection ended before the head or before the announced end of the body.
    Truncated,
    /// Not HTTP, contradictory lengths, bad chunk.
    Malformed,
    HeadTooLarge,
    QueueFull,
    QueueTimeout,
    NoHealthyServer,
    /// The request's own body could not be read: the client's fault.
    RequestBody,
    Configuration,
}
