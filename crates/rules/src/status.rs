//! `Cache-Status` (RFC 9211): the one place that spells it. A member has either `hit` or `fwd`, never both.

mod text;

use http::HeaderValue;
use std::{fmt, time::Duration};
use text::{GREATEST, Text};

/// Why a request was forwarded (RFC 9211 section 2.2). `Display` gives [`ForwardReason::token`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ForwardReason {
    /// The site told the cache not to handle the request.
    Bypass,
    /// The method has to be forwarded.
    Method,
    /// No stored response matches the URI.
    UriMiss,
    /// Stored responses match the URI, but not the nominated fields.
    VaryMiss,
    /// No stored response can be used, and it is not known whether the URI or the nominated fields failed to match.
    Miss,
    /// A stored response is fresh, but the request does not allow its use.
    Request,
    /// A stored response was selected, but it is stale.
    Stale,
    /// A stored response was selected, but it lacks some of the ranges requested.
    Partial,
}

impl ForwardReason {
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

impl fmt::Display for ForwardReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.token())
    }
}

/// How the request was handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// Answered from the store. A stale hit has a negative `ttl`.
    Hit,
    /// Forwarded to the origin.
    Forwarded {
        /// `fwd`: why it was forwarded.
        why: ForwardReason,
        /// `fwd-status`: the origin's status, if it gave one. `None` if it equals the status that is sent.
        status: Option<u16>,
        /// Whether the response was stored.
        stored: bool,
        /// Whether another request for the same fetched the response.
        collapsed: bool,
    },
    /// Neither: the cache answered itself (an error, `only-if-cached`). Only the name and `detail` are sent.
    Own,
}

/// Returns the `ttl` of a response that stays fresh for `remaining` (RFC 9211 section 2.4), in whole seconds. It is
/// rounded up because `Age` is rounded down: together they add up to the lifetime.
pub const fn ttl(remaining: Duration) -> i64 {
    let begun = (remaining.subsec_nanos() > 0) as u64;
    remaining.as_secs().saturating_add(begun).cast_signed()
}

/// Returns the `ttl` of a response that has been stale for `staleness`: negative from the first moment on (RFC 9211
/// section 2.4), and not below what the field can express.
pub fn stale_ttl(staleness: Duration) -> i64 {
    -(staleness.as_millis().div_ceil(1000).min(GREATEST.into()) as i64)
}

/// One member of the field.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// The cache's name: a token (`larder`), otherwise sent as a quoted string.
    pub name: &'a str,
    /// `hit`, or `fwd` with its parameters.
    pub handled: Handled,
    /// The remaining lifetime in seconds, negative if stale.
    pub ttl: Option<i64>,
    /// The cache key. Bytes that a string cannot express are percent-encoded.
    pub key: Option<&'a [u8]>,
    /// A token, otherwise sent as a quoted string.
    pub detail: Option<&'a str>,
}

impl Member<'_> {
    /// Renders the field value. On the path of a hit: one allocation.
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

    /// Writes the parameters that describe a response: `ttl` and `key`.
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
