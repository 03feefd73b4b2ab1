//! A request's target, and the fields that belong to it, in the form that the protocol needs.

use super::framing::{RequestFraming, has_length};
use crate::{Error, Kind, connect::Speaks, upload::Outgoing};
use http::{
    HeaderValue, Request, Uri, Version,
    header::{EXPECT, HOST, TE, TRAILER, TRANSFER_ENCODING},
    uri::{Authority, PathAndQuery, Scheme},
};
use rules::fields;

/// Gives the request's target, and the fields that belong to it, the form that the protocol needs.
pub(crate) fn address(
    request: &mut Request<Outgoing>,
    asked: RequestFraming,
    speaks: Speaks,
    tls: bool,
) -> Result<(), Error> {
    // Only HTTP/2 brings trailers through, and over HTTP/1.1 `Connection` would have to name the field (RFC 9110 section
    // 10.1.4).
    let takes_trailers = request.headers_mut().remove(TE);
    if !matches!(speaks, Speaks::Http2) {
        request.headers_mut().remove(TRAILER);
    }
    match speaks {
        Speaks::FastCgi => {
            request.headers_mut().remove(EXPECT);
            Ok(())
        }
        Speaks::Http1 if request.uri().authority().is_none() => Ok(()),
        Speaks::Http1 => {
            over_http1(request, asked);
            Ok(())
        }
        Speaks::Http2 => {
            let authority = request
                .headers_mut()
                .remove(HOST)
                .and_then(|host| Authority::try_from(host.as_bytes()).ok())
                .or_else(|| request.uri().authority().cloned())
                .ok_or_else(|| {
                    Error::new(Kind::Configuration)
                        .because("the request's Host is not an authority")
                })?;
            let mut parts = http::uri::Parts::default();
            parts.scheme = Some(if tls { Scheme::HTTPS } else { Scheme::HTTP });
            parts.authority = Some(authority);
            parts.path_and_query = Some(target(request.uri()));
            // Only HTTP/1.1 has chunks and upgrades (RFC 9113 section 8.2.2).
            fields::remove_connection_specific(request.headers_mut());
            if let Some(said) = takes_trailers {
                request.headers_mut().insert(TE, said);
            }
            *request.uri_mut() = Uri::from_parts(parts)
                .map_err(|cause| Error::new(Kind::Configuration).because(cause))?;
            *request.version_mut() = Version::HTTP_2;
            Ok(())
        }
    }
}

/// Turns a request whose target has an authority into one of HTTP/1.1. Most likely HTTP/2 gave it back unsent: what
/// HTTP/2 expresses elsewhere returns to the head.
fn over_http1(request: &mut Request<Outgoing>, asked: RequestFraming) {
    let target = target(request.uri());
    let authority = request.uri().authority();
    let host = authority.and_then(|name| HeaderValue::from_str(name.as_str()).ok());
    *request.uri_mut() = Uri::from(target);
    *request.version_mut() = Version::HTTP_11;
    let headers = request.headers_mut();
    if let Some(host) = host
        && !headers.contains_key(HOST)
    {
        headers.insert(HOST, host);
    }
    if asked.content && !has_length(headers) {
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
}

fn target(uri: &Uri) -> PathAndQuery {
    uri.path_and_query()
        .cloned()
        .unwrap_or_else(|| PathAndQuery::from_static("/"))
}
