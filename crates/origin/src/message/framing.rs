//! The framing fields of a request: made to match its body, once, before the first attempt.

use super::{Upgrade, ignore_upgrade, response};
use crate::upload::Outgoing;
use http::{
    HeaderMap, HeaderValue, Method, Request, Version,
    header::{AUTHORIZATION, CONTENT_LENGTH, EXPECT, HOST, TRANSFER_ENCODING, UPGRADE},
};
use http_body::Body;
use rules::fields;

/// What a request needs of its connection, by its framing fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestFraming {
    /// The upgrade that the request asks for.
    pub(crate) upgrade: Option<Upgrade>,
    /// Whether content follows its head.
    pub(crate) content: bool,
    /// Whether its client named no host.
    pub(crate) unnamed: bool,
    /// Whether it may sign in not itself alone but its connection, as NTLM does: whoever came on that next would be
    /// taken for the same user.
    pub(crate) signs_in: bool,
}

/// Makes the request's framing fields match its body. Done once, before the first attempt.
pub(crate) fn frame(request: &mut Request<Outgoing>) -> RequestFraming {
    let mut said = ConnectionFields::by(request.headers());
    let size = request.body().size_hint().exact();
    let ended = request.body().is_end_stream() || size == Some(0);
    let unmeasured = size.is_none() && !has_length(request.headers());
    let wants_length = gives_content_meaning(request.method());
    // hyper refuses to write versions it does not know. A request from an HTTP/1.0 client is still sent as HTTP/1.1.
    *request.version_mut() = Version::HTTP_11;
    let headers = request.headers_mut();
    if said.upgrade && !ended {
        // A server may end the request at the wish, decline it, and take the content for the next request. It may
        // ignore the wish just as well (RFC 9110 section 7.8).
        ignore_upgrade(headers);
        said.upgrade = false;
    }
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
        upgrade: said.upgrade.then(|| Upgrade::by(request.headers())),
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

pub(super) fn has_length(headers: &HeaderMap) -> bool {
    matches!(response::length(headers), Ok(Some(_)))
}

/// Whether a server may leave this request's content unread, because the method gives it no meaning, and read it as the
/// connection's next request (RFC 9110 section 9.3.1). The answer to what the client wrote there would then go to
/// somebody else.
pub(crate) fn may_be_left_unread<B: Body>(request: &Request<B>) -> bool {
    !gives_content_meaning(request.method()) && !request.body().is_end_stream()
}
