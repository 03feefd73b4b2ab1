//! Bodies towards and from an origin.

use bytes::Bytes;

/// A request body; `http_body_util::Empty` boxed is without cost. The error is the client's.
pub type RequestBody =
    http_body_util::combinators::UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// A response body under the time limits between bytes and in all; implements `http_body::Body<Data = Bytes, Error = crate::Error>`.
/// Ends with `Kind::Truncated` where the origin stops short. Dropping it cancels the fetch.
#[derive(Debug)]
pub struct ResponseBody {}
