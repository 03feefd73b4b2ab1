//! `Cache-Status` (RFC 9211): the one place that spells it. Carries either `hit` or `fwd`, never both.

mod text;

use http::HeaderValue;
use std::{fmt, time::Duration};
use text::{GREATEST, Text};

/// Why a request was forwarded (RFC 9211 section 2.2). `Display` gives [`Forward::token`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Forward {
    /// The site told the cache to keep out of it.
    Bypass,
    /// The method has to be forwarded.
    Method,
    /// No stored response matches the URI.
    UriMiss,
    /// Some match the URI, but not the nominated fields.
    VaryMiss,
    /// No stored response can be used, and it is not known which of the two it is.
    Miss,
    /// One is fresh, but the request does not allow its use.
    Request,
    /// One was selected, but it is stale.
    Stale,
    /// One was selected, but it lacks some of the ranges asked for.
    Partial,
}

impl Forward {
    /// The token: `bypass`, `method`, `uri-miss`, `vary-miss`, `miss`, `request`, `stale`, `partial`.
    pub const fn token(self) -> &'static str {
        match self {
            Self::Bypass => "bypass",
            Self::Method => "method",
            Self::UriMiss => "uri-miss",
            Self::VaryMiss => "vary-miss",
            Self::Miss => "miss",
            Self::Request => "request",
            Self::Stale => "stale",
            Self::Partial => "partial",
        }
    }
}

impl fmt::Display for Forward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.token())
    }
}

/// How the request was handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// Answered from the store; a stale hit has a negative `ttl`.
    Hit,
    /// Forwarded to the origin.
    Forwarded {
        /// `fwd`.
        why: Forward,
        /// `fwd-status`, the origin's, where it gave one. Not told where it equals the status sent.
        status: Option<u16>,
        /// Whether the response was stored.
        stored: bool,
        /// Whether it was fetched by another request for the same.
        collapsed: bool,
    },
    /// Neither: answered by the cache itself (an error, `only-if-cached`): only the name and `detail`.
    Own,
}

/// The `ttl` of what stays fresh for `remaining` (RFC 9211 section 2.5), in whole seconds, rounded up: `Age` is rounded down, and together
/// they come to the lifetime.
pub const fn ttl(remaining: Duration) -> i64 {
    let begun = (remaining.subsec_nanos() > 0) as u64;
    remaining.as_secs().saturating_add(begun).cast_signed()
}

/// The `ttl` of what has been stale for `staleness`: negative from its first moment on (RFC 9211 section 2.4), and no less than the field
/// can say.
pub fn stale_ttl(staleness: Duration) -> i64 {
    -(staleness.as_millis().div_ceil(1000).min(GREATEST.into()) as i64)
}

/// One member of the field.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// The cache's name, a token (`larder`); sent as a quoted string if it is not one.
    pub name: &'a str,
    /// `hit`, or `fwd` with what belongs to it.
    pub handled: Handled,
    /// Remaining lifetime in seconds, negative when stale.
    pub ttl: Option<i64>,
    /// The cache key. Bytes that a string cannot carry are percent-encoded.
    pub key: Option<&'a str>,
    /// A token or, if it is not one, sent as a quoted string.
    pub detail: Option<&'a str>,
}

impl Member<'_> {
    /// The field value. On the path of a hit: one allocation.
    pub fn to_value(&self) -> HeaderValue {
        let mut text = Text::default();
        text.push_name(self.name);
        match self.handled {
            Handled::Hit => text.push(b"; hit"),
            Handled::Forwarded {
                why,
                status,
                stored,
                collapsed,
            } => {
                text.push(b"; fwd=");
                text.push(why.token().as_bytes());
                if let Some(status) = status {
                    text.push(b"; fwd-status=");
                    text.push_integer(status.into());
                }
                if stored {
                    text.push(b"; stored");
                }
                if collapsed {
                    text.push(b"; collapsed");
                }
            }
            Handled::Own => {}
        }
        if self.handled != Handled::Own {
            self.push_response(&mut text);
        }
        if let Some(detail) = self.detail {
            text.push(b"; detail=");
            text.push_name(detail);
        }
        text.into_value()
    }

    /// The parameters that describe a response: `ttl` and `key`.
    fn push_response(&self, text: &mut Text) {
        if let Some(ttl) = self.ttl {
            text.push(b"; ttl=");
            text.push_integer(ttl);
        }
        if let Some(key) = self.key {
            text.push(b"; key=");
            text.push_string(key);
        }
    }
}

#[cfg(test)]
mod tests;
