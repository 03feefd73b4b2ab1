//! Where a request was sent: scheme and authority.

use crate::{error::Failure, listen::Connection, routing::Client};
use http::{HeaderMap, Uri, Version, header};
use rules::key;
use std::borrow::Cow;

/// The scheme the client used: ours, or the one a trusted peer tells of.
pub(super) fn scheme(
    client: Client<'_>,
    fields: &HeaderMap,
    forwarded: bool,
    connection: &Connection,
) -> &'static str {
    let own = if connection.tls { "https" } else { "http" };
    client.scheme(fields, forwarded).unwrap_or(own)
}

/// The authority: of the target where it has one (absolute form, HTTP/2), otherwise of `Host` (RFC 9112 section 3.3).
#[inline]
pub(super) fn host<'a>(
    uri: &'a Uri,
    fields: &'a HeaderMap,
    version: Version,
    scheme: &str,
) -> Result<Cow<'a, str>, Failure> {
    let mut lines = fields.get_all(header::HOST).iter();
    let (line, more) = (lines.next(), lines.next());
    if more.is_some() {
        return Err(Failure::BadRequest("several-hosts"));
    }
    let authority = match (uri.authority(), line) {
        (Some(authority), _) => authority.as_str(),
        (None, Some(line)) => line.to_str().map_err(|_| Failure::BadRequest("bad-host"))?,
        (None, None) if version <= Version::HTTP_10 => return Ok(Cow::Borrowed("")),
        (None, None) => return Err(Failure::BadRequest("no-host")),
    };
    key::normalize_host(authority, scheme).ok_or(Failure::BadRequest("bad-host"))
}
