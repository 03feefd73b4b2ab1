//! `Cache-Status` (RFC 9211): the one place that spells it. Carries either `hit` or `fwd`, never both.

use http::HeaderValue;

/// Why a request was forwarded (RFC 9211 section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Forward {
    Bypass,
    Method,
    UriMiss,
    VaryMiss,
    Miss,
    Request,
    Stale,
    Partial,
}

impl Forward {
    /// The token: `bypass`, `method`, `uri-miss`, `vary-miss`, `miss`, `request`, `stale`, `partial`.
    pub const fn token(self) -> &'static str {
        todo!()
    }
}

/// How the request was handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// Answered from the store; a stale hit has a negative `ttl`.
    Hit,
    Forwarded {
        why: Forward,
        /// `fwd-status`, left out where it equals the status sent.
        status: Option<u16>,
        stored: bool,
        collapsed: bool,
    },
    /// Neither: answered by the cache itself (an error, `only-if-cached`): only the name and `detail`.
    Own,
}

/// One member of the field.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// The cache's name, a token (`larder`) .
    pub name: &'a str,
    pub handled: Handled,
    /// Remaining lifetime in seconds, negative when stale.
    pub ttl: Option<i64>,
    pub key: Option<&'a str>,
    /// A token or, if it is not one, sent as a quoted string.
    pub detail: Option<&'a str>,
}

impl Member<'_> {
    /// The field value. On the path of a hit: one allocation.
    pub fn to_value(&self) -> HeaderValue {
        todo!()
    }
}
