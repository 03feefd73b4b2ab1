//! Where a request was sent: its scheme and authority.

use crate::{
    error::{BadHost, BadRequest, Failure},
    listen::{Connection, RequestHead},
    routing::Client,
};
use http::{HeaderMap, Version, header};
use rules::key;
use std::rc::Rc;

/// Returns the scheme that the client used: that of our connection, or the one that a trusted peer names.
pub(super) fn scheme(
    client: Client<'_>,
    fields: &HeaderMap,
    forwarded: bool,
    connection: &Connection,
) -> &'static str {
    let own = if connection.tls { "https" } else { "http" };
    client.scheme(fields, forwarded).unwrap_or(own)
}

/// Returns the authority: that of the target if it has one (absolute form, HTTP/2), otherwise that of `Host` (RFC 9112
/// section 3.3).
#[inline]
pub(super) fn host(
    asked: &RequestHead,
    scheme: &'static str,
    connection: &Connection,
) -> Result<Rc<str>, Failure> {
    let mut lines = asked.fields.get_all(header::HOST).iter();
    let (line, more) = (lines.next(), lines.next());
    if more.is_some() {
        return Err(Failure::BadRequest(BadRequest::Host(BadHost::Repeated)));
    }
    let written = match (asked.target.authority(), line) {
        (Some(authority), _) => authority.as_bytes(),
        (None, Some(line)) => line.as_bytes(),
        (None, None) if asked.version <= Version::HTTP_10 => return Ok("".into()),
        (None, None) => return Err(Failure::BadRequest(BadRequest::Host(BadHost::Missing))),
    };
    connection.texts.host(scheme, written, || {
        let host = str::from_utf8(written).ok();
        let host = host.and_then(|host| key::normalize_host(host, scheme));
        host.map(Rc::from)
            .ok_or(Failure::BadRequest(BadRequest::Host(BadHost::Invalid)))
    })
}
