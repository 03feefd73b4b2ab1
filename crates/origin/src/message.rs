//! What is changed in a request before it goes out, and what a response must satisfy before it is believed.
//!
//! hyper reads responses leniently in some places where a cache must not: it prefers `Transfer-Encoding` to a
//! `Content-Length` beside it, takes a repeated `Content-Length`, reads any unknown transfer coding until the
//! connection closes, and leaves codings before `chunked` in place. `h2` leaves white space around values. What they
//! let through is judged here.

use crate::{Error, Kind, connect::Speaks, direct::head, upload::Outgoing};
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, Version,
    header::{AUTHORIZATION, CONTENT_LENGTH, EXPECT, HOST, TE, TRANSFER_ENCODING, UPGRADE},
    uri::{Authority, PathAndQuery, Scheme},
};
use http_body::Body;
use rules::fields;

/// What a request needs of its connection, by its framing fields.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent answers, each read in one place"
)]
pub(crate) struct RequestFraming {
    /// Whether the request asked for an upgrade.
    pub(crate) upgrade: bool,
    /// Whether content follows its head.
    pub(crate) content: bool,
    /// Whether its client named no host.
    pub(crate) unnamed: bool,
    /// Whether it may sign in not itself alone but its connection, as NTLM does: whoever came on that next would be
    /// taken for the same user.
    pub(crate) signs_in: bool,
}

/// A head that may be believed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    pub(crate) announced: Announced,
    pub(crate) afterwards: Afterwards,
}

/// What a response's framing fields say about its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    Nothing,
    Length(u64),
    Chunks,
}

/// Whether the connection may be used again after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Afterwards {
    Reuse,
    /// The framing was odd, so that what follows on the connection cannot be trusted; or the connection is one user's.
    Close,
}

/// Makes the request's framing fields match its body. Done once, before the first attempt.
pub(crate) fn frame(request: &mut Request<Outgoing>) -> RequestFraming {
    let said = ConnectionFields::by(request.headers());
    let size = request.body().size_hint().exact();
    let ended = request.body().is_end_stream() || size == Some(0);
    let unmeasured = size.is_none() && !has_length(request.headers());
    let wants_length = gives_content_meaning(request.method());
    // hyper refuses to write versions it does not know. A request from an HTTP/1.0 client is still sent as HTTP/1.1.
    *request.version_mut() = Version::HTTP_11;
    let headers = request.headers_mut();
    if said.framing {
        fields::remove_where(headers, |name| *name == TRANSFER_ENCODING);
        // Other expectations have no meaning (RFC 9110 section 10.1.1).
        if ended || !expects_continue(headers) {
            headers.remove(EXPECT);
        }
    }
    match size {
        _ if ended && wants_length => {
            headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        // A length without content would make the server wait for the next request's bytes.
        _ if ended && said.framing => {
            headers.remove(CONTENT_LENGTH);
        }
        _ if ended => {}
        Some(length) => {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        None if unmeasured => {
            headers.remove(CONTENT_LENGTH);
            // Set explicitly, because hyper otherwise drops a GET's body of unknown length.
            headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        None => {}
    }
    RequestFraming {
        upgrade: said.upgrade,
        content: !ended,
        unnamed: !said.host,
        signs_in: said.credentials && signs_in(request.headers()),
    }
}

/// What a request says about its connection. Found in one pass, because most say nothing.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "which fields there are")]
struct ConnectionFields {
    upgrade: bool,
    host: bool,
    /// Whether it says how its content is framed, or what it expects before that is sent.
    framing: bool,
    credentials: bool,
}

impl ConnectionFields {
    fn by(headers: &HeaderMap) -> Self {
        let mut said = Self::default();
        for name in headers.keys() {
            match *name {
                UPGRADE => said.upgrade = true,
                HOST => said.host = true,
                AUTHORIZATION => said.credentials = true,
                EXPECT | TRANSFER_ENCODING | CONTENT_LENGTH => said.framing = true,
                _ => {}
            }
        }
        said
    }
}

/// Whether its credentials may be for the connection (RFC 4559 section 6 says so of both schemes).
fn signs_in(headers: &HeaderMap) -> bool {
    headers.get_all(AUTHORIZATION).iter().any(|line| {
        let mut words = line.as_bytes().split(|byte| !byte.is_ascii_alphanumeric());
        let scheme = words.find(|word| !word.is_empty()).unwrap_or_default();
        scheme.eq_ignore_ascii_case(b"ntlm") || scheme.eq_ignore_ascii_case(b"negotiate")
    })
}

/// Whether content is held back until the server has given leave.
pub(crate) fn expects_continue(headers: &HeaderMap) -> bool {
    let expected = headers.get(EXPECT);
    expected.is_some_and(|said| said.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// Whether the method gives content a meaning. A request without content then has `Content-Length: 0` (RFC 9110 section
/// 8.6).
fn gives_content_meaning(method: &Method) -> bool {
    !matches!(
        *method,
        Method::GET | Method::HEAD | Method::DELETE | Method::OPTIONS | Method::TRACE
    )
}

fn has_length(headers: &HeaderMap) -> bool {
    matches!(length(headers), Ok(Some(_)))
}

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
            fields::remove_hop_by_hop(request.headers_mut());
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

/// Judges a response's head (RFC 9112 section 6) and removes framing fields that mean nothing on it.
pub(crate) fn judge<B>(
    response: &mut Response<B>,
    asked: RequestFraming,
    speaks: Speaks,
) -> Result<Judged, Error> {
    let malformed = |why: &'static str| Err(Error::new(Kind::Malformed).because(why));
    let status = response.status();
    if status == StatusCode::SWITCHING_PROTOCOLS && (!asked.upgrade || speaks != Speaks::Http1) {
        return Err(Error::new(Kind::UnaskedSwitch));
    }
    if speaks == Speaks::Http2
        && let Err(why) = check_values(response.headers())
    {
        return malformed(why);
    }
    let headers = response.headers_mut();
    if headers.len() > head::MOST {
        return Err(Error::new(Kind::HeadTooLarge));
    }
    let length = match length(headers) {
        Ok(length) => length,
        Err(why) => return malformed(why),
    };
    let coded = match coding(headers) {
        Ok(coded) => coded,
        Err(why) => return malformed(why),
    };
    let announced = match (coded, length) {
        (true, Some(_)) => return malformed("both Transfer-Encoding and Content-Length"),
        (true, None) => Announced::Chunks,
        (false, Some(length)) => Announced::Length(length),
        (false, None) => Announced::Nothing,
    };
    let mut afterwards = if asked.signs_in {
        Afterwards::Close
    } else {
        Afterwards::Reuse
    };
    // A 204 has neither (RFC 9110 section 8.6, RFC 9112 section 6.1). A server that sends one of them may send a body
    // too.
    if status == StatusCode::NO_CONTENT && announced != Announced::Nothing {
        headers.remove(CONTENT_LENGTH);
        headers.remove(TRANSFER_ENCODING);
        if announced != Announced::Length(0) {
            afterwards = Afterwards::Close;
        }
    }
    Ok(Judged {
        announced,
        afterwards,
    })
}

/// Whether a server says with this answer that it ended a connection on which it had waited in vain, and a request came
/// too late (RFC 9110 section 15.5.9). Anything else is an answer: on a new connection, on one that stays open
/// (`keeps`).
pub(crate) fn came_too_late<B>(response: &Response<B>, reused: bool, keeps: bool) -> bool {
    reused && !keeps && response.status() == StatusCode::REQUEST_TIMEOUT
}

/// Whether a server may leave this request's content unread, because the method gives it no meaning, and read it as the
/// connection's next request (RFC 9110 section 9.3.1). The answer to what the client wrote there would then go to
/// somebody else.
pub(crate) fn may_be_left_unread<B: Body>(request: &Request<B>) -> bool {
    !gives_content_meaning(request.method()) && !request.body().is_end_stream()
}

/// Checks what RFC 9113 section 8.2.1 requires of the fields of a message over HTTP/2 and `h2` does not check.
pub(crate) fn check_values(headers: &HeaderMap) -> Result<(), &'static str> {
    if fields::has_padded_value(headers) {
        return Err("white space around a field value");
    }
    Ok(())
}

/// Returns the one `Content-Length`. `Err`: repeated, or not only digits (RFC 9110 section 8.6 allows rejecting
/// repetition).
fn length(headers: &HeaderMap) -> Result<Option<u64>, &'static str> {
    let mut lines = headers.get_all(CONTENT_LENGTH).iter();
    let Some(value) = lines.next() else {
        return Ok(None);
    };
    if lines.next().is_some() {
        return Err("several Content-Length fields");
    }
    let digits = value.as_bytes();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err("Content-Length is not a number");
    }
    let length = digits.iter().try_fold(0_u64, |length, digit| {
        let digit = u64::from(digit - b'0');
        length.checked_mul(10)?.checked_add(digit)
    });
    length.map(Some).ok_or("Content-Length is too large")
}

/// Whether the content is chunked. `Err`: any other coding, because we never ask for one with `TE` (RFC 9112 section
/// 7).
fn coding(headers: &HeaderMap) -> Result<bool, &'static str> {
    let mut lines = headers.get_all(TRANSFER_ENCODING).iter();
    let Some(value) = lines.next() else {
        return Ok(false);
    };
    if lines.next().is_some() || !value.as_bytes().eq_ignore_ascii_case(b"chunked") {
        return Err("a transfer coding other than chunked");
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
