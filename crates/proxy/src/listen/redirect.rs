//! The answer of a listener that only redirects clients to HTTPS.

use super::fault::Fault;
use crate::error::BadHost;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header, request::Parts};

/// 308 (RFC 9110 section 15.4.9: the method stays) to the same target on `https` and `port`. Fails if no host is named,
/// as over HTTP/1.0 it need not be.
pub(super) fn to_https(parts: &Parts, port: u16) -> Result<Response<Bytes>, Fault> {
    let host = host_of(parts).ok_or(Fault::Host(BadHost::Missing))?;
    let location = location(host, port, parts).ok_or(Fault::Host(BadHost::Invalid))?;
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    response.headers_mut().insert(header::LOCATION, location);
    Ok(response)
}

/// The host without its port.
fn host_of(parts: &Parts) -> Option<&str> {
    let named = match parts.uri.authority() {
        Some(authority) => authority.as_str(),
        None => parts.headers.get(header::HOST)?.to_str().ok()?,
    };
    // User information is not part of any field (RFC 9110 section 4.2.4).
    let named = named.rsplit_once('@').map_or(named, |(_, host)| host);
    let host = match named.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        _ => named,
    };
    Some(host).filter(|host| !host.is_empty())
}

fn location(host: &str, port: u16, parts: &Parts) -> Option<HeaderValue> {
    let target = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let target = if target == "*" { "/" } else { target };
    let location = if port == 443 {
        format!("https://{host}{target}")
    } else {
        format!("https://{host}:{port}{target}")
    };
    HeaderValue::try_from(location).ok()
}
