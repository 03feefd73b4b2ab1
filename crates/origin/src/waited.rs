//! How long a response's request waited.

use http::Response;
use std::time::Duration;

/// How long a request waited before the attempt that was answered began: for its turn, for attempts that failed, and
/// for others that were asked first. It is in the response's extensions, and absent if the request did not wait. The
/// response is that much younger than the fetch: `request_time` (RFC 9111 section 4.2.3) is that of the request which
/// led to the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited(pub Duration);

impl Waited {
    /// Adds `before` to what `response`'s request waited: the time before it was asked.
    pub(crate) fn and<B>(mut response: Response<B>, before: Duration) -> Response<B> {
        if !before.is_zero() {
            let own = response.extensions().get::<Self>();
            let waited = before + own.map_or(Duration::ZERO, |own| own.0);
            response.extensions_mut().insert(Self(waited));
        }
        response
    }
}
