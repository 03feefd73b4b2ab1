//! Which kinds of fields a request has.

use crate::{purge_clients::X_REFRESH, walk::outbound};
use http::{HeaderMap, header};

/// Which kinds of fields a request has: found in one pass over the names of its fields, so that absent fields are not
/// searched for again and again.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent of one another: what a request speaks of and what not"
)]
pub struct FieldPresence {
    /// `Connection`.
    pub connection: bool,
    /// `Cache-Control` or `Pragma`.
    pub directives: bool,
    /// A condition or a range (RFC 9110 sections 13.1 and 14.2).
    pub conditions: bool,
    /// `Accept-Encoding`.
    pub codings: bool,
    /// `X-Refresh`.
    pub refresh: bool,
    /// Whether it came as a [`REFRESH`](crate::purge_clients::REFRESH), though it continues as a `GET`.
    pub as_refresh: bool,
    /// `Forwarded`.
    pub forwarded: bool,
    /// Fields that only a trusted proxy may send: those that are keyed then, and those that [name the client's
    /// address](outbound::tells_address).
    pub of_proxies: bool,
    /// Fields that are keyed if a trusted proxy sends them ([`outbound::is_keyed_if_told`]).
    pub told: bool,
}

impl FieldPresence {
    /// Returns the kinds of fields among these.
    pub fn by(fields: &HeaderMap) -> Self {
        let mut said = Self::default();
        for name in fields.keys() {
            match *name {
                header::CONNECTION => said.connection = true,
                header::CACHE_CONTROL | header::PRAGMA => said.directives = true,
                header::ACCEPT_ENCODING => said.codings = true,
                header::FORWARDED => {
                    (said.forwarded, said.of_proxies, said.told) = (true, true, true);
                }
                header::IF_MATCH
                | header::IF_NONE_MATCH
                | header::IF_MODIFIED_SINCE
                | header::IF_UNMODIFIED_SINCE
                | header::IF_RANGE
                | header::RANGE => said.conditions = true,
                _ => {
                    said.refresh |= *name == X_REFRESH;
                    let is_told = outbound::is_keyed_if_told(name);
                    said.told |= is_told;
                    said.of_proxies |= is_told || outbound::tells_address(name);
                }
            }
        }
        said
    }
}

#[cfg(test)]
mod tests;
