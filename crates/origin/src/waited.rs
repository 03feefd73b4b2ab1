//! What a response's request waited for.

use std::time::Duration;

/// In a response's extensions: how long its request waited before the attempt that was answered began, for its turn and for attempts
/// that failed. Absent where it did not. The response is that much younger than the fetch: `request_time` (RFC 9111 section 4.2.3) is
/// that of the request which led to the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited(pub Duration);
