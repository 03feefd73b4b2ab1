//! Heads of requests that end where their head ends.

use super::super::config::Limits;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version, header, request};
use httparse::{Header, Status};
use std::{cell::Cell, mem::MaybeUninit};

/// Field lines at most; more are `hyper`'s to judge.
const MOST: usize = 64;

/// A request without content.
pub(super) struct Head {
    pub(super) parts: request::Parts,
    /// Whether the connection is closed after the answer (RFC 9112 section 9.3).
    pub(super) closes: bool,
    /// As it came.
    pub(super) bytes: Bytes,
}

/// What bytes begin with.
#[allow(
    clippy::large_enum_variant,
    reason = "on the path of a hit, which allocates nothing that it can do without"
)]
pub(super) enum Parsed {
    Head(Head),
    /// A part of a head.
    Partial,
    /// Something else, or nothing that is well formed.
    Others,
}

/// Reads the head that `bytes` begin with. `spare` may give a map for its fields.
pub(super) fn parse(bytes: &[u8], limits: &Limits, spare: &Cell<HeaderMap>) -> Parsed {
    let mut lines = [const { MaybeUninit::uninit() }; MOST];
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(bytes, &mut lines) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Parsed::Partial,
        Err(_) => return Parsed::Others,
    };
    let (Some((method, version)), Some(target)) = (kind(&request), request.path) else {
        return Parsed::Others;
    };
    if length > limits.header_size
        || target.len() > limits.target
        || request.headers.len() > limits.headers
    {
        return Parsed::Others;
    }
    let copy = Copied {
        from: bytes,
        bytes: Bytes::copy_from_slice(bytes.get(..length).unwrap_or_default()),
    };
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.method = method;
    parts.version = version;
    parts.headers = spare.take();
    let read = fields(&copy, request.headers, &mut parts.headers);
    let target = copy.of(target.as_bytes());
    let uri = target.and_then(|target| Uri::from_maybe_shared(target).ok());
    let (Some(wish), Some(uri)) = (read, uri) else {
        return Parsed::Others;
    };
    let closes = match wish {
        Wish::Close => true,
        Wish::Stay => false,
        Wish::None => version == Version::HTTP_10,
    };
    parts.uri = uri;
    Parsed::Head(Head {
        parts,
        closes,
        bytes: copy.bytes,
    })
}

/// The request that `bytes` begin with and the length of its head, where it is one that may be answered without `hyper`. For tests.
pub fn request(bytes: &[u8], limits: &Limits) -> Option<(request::Parts, usize)> {
    match parse(bytes, limits, &Cell::default()) {
        Parsed::Head(head) => Some((head.parts, head.bytes.len())),
        Parsed::Partial | Parsed::Others => None,
    }
}

/// A head in memory of its own.
struct Copied<'a> {
    from: &'a [u8],
    bytes: Bytes,
}

impl Copied<'_> {
    /// The same bytes as `part`; `None` where that is no part of what was copied.
    fn of(&self, part: &[u8]) -> Option<Bytes> {
        let at = part
            .as_ptr()
            .addr()
            .checked_sub(self.from.as_ptr().addr())?;
        let end = at.checked_add(part.len())?;
        (end <= self.bytes.len()).then(|| self.bytes.slice(at..end))
    }
}

/// Method and version, where they are of those that are answered here.
fn kind(request: &httparse::Request<'_, '_>) -> Option<(Method, Version)> {
    let method = match request.method? {
        "GET" => Method::GET,
        "HEAD" => Method::HEAD,
        _ => return None,
    };
    let version = match request.version? {
        0 => Version::HTTP_10,
        _ => Version::HTTP_11,
    };
    Some((method, version))
}

/// What a client wants of the connection after the answer.
enum Wish {
    None,
    Stay,
    Close,
}

/// Takes the fields over into `fields`. `None` where they announce content, or want more of the connection.
fn fields(copy: &Copied<'_>, lines: &[Header<'_>], fields: &mut HeaderMap) -> Option<Wish> {
    let mut wish = Wish::None;
    fields.reserve(lines.len());
    for line in lines {
        let name = name(line.name)?;
        match name {
            header::CONTENT_LENGTH
            | header::TRANSFER_ENCODING
            | header::EXPECT
            | header::UPGRADE
            | header::TRAILER => return None,
            header::CONNECTION => wish = wished(line.value, &wish)?,
            _ => {}
        }
        let value = HeaderValue::from_maybe_shared(copy.of(line.value)?).ok()?;
        fields.append(name, value);
    }
    Some(wish)
}

/// A field's name. Those that most requests have, as most clients write them, are known at sight.
fn name(written: &str) -> Option<HeaderName> {
    Some(match written {
        "Host" | "host" => header::HOST,
        "User-Agent" | "user-agent" => header::USER_AGENT,
        "Accept" | "accept" => header::ACCEPT,
        "Accept-Encoding" | "accept-encoding" => header::ACCEPT_ENCODING,
        "Accept-Language" | "accept-language" => header::ACCEPT_LANGUAGE,
        "Cookie" | "cookie" => header::COOKIE,
        "Connection" | "connection" => header::CONNECTION,
        "Referer" | "referer" => header::REFERER,
        _ => return HeaderName::from_bytes(written.as_bytes()).ok(),
    })
}

/// What a `Connection` line wishes, after what others did: once closed is closed. `None` where that is something else.
fn wished(line: &[u8], before: &Wish) -> Option<Wish> {
    match (line, before) {
        (line, _) if line.eq_ignore_ascii_case(b"close") => Some(Wish::Close),
        (line, Wish::None | Wish::Stay) if line.eq_ignore_ascii_case(b"keep-alive") => {
            Some(Wish::Stay)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
