//! What a part of a line means.

use http::HeaderName;

/// What a part of a line means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Time,
    Date,
    Client,
    User,
    Tls,
    Method,
    /// The host as the client wrote it.
    Host,
    /// What the server calls itself: for where the former is not told.
    ServerName,
    /// Path and query, or the whole URI, as the client wrote it.
    Target,
    /// The path, which may have been rewritten: for where the former is not told.
    Path,
    /// What belongs to the path.
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

/// In what a time is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Millis,
    Micros,
    /// Seconds where there is a decimal point (`CloudFront`), milliseconds where there is none (IIS).
    ByPoint,
}
