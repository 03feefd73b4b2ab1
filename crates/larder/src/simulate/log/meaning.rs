//! The meaning of a part of a line.

use http::HeaderName;

/// The meaning of a part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Time,
    Date,
    Client,
    User,
    Tls,
    Method,
    /// The host as the client wrote it.
    Host,
    /// The server's own name: used if `Host` is absent.
    ServerName,
    /// Path and query, or the whole URI, as the client wrote it.
    Target,
    /// The path, which may have been rewritten: used if `Target` is absent.
    Path,
    /// The query that belongs to the path.
    Query,
    /// `GET /path HTTP/1.1`.
    Request,
    Status,
    Bytes,
    AllBytes,
    Took(Unit),
    OriginTime(Unit),
    Answered,
    Reason,
    RequestField(HeaderName),
    ResponseField(HeaderName),
    Skip,
}

/// The unit of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Millis,
    Micros,
    /// Seconds with a decimal point (`CloudFront`), milliseconds without one (IIS).
    ByPoint,
}
