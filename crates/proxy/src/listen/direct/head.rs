//! Heads of requests that end where their head ends.

mod encoded;

use super::{
    super::{check::is_authority, config::Limits, request_body::RequestBody},
    section::{self, Section, Sections},
};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version, header, request::Parts,
};
use httparse::{Header, Status};
use rules::fields::spares;
use std::{cell::RefCell, mem::MaybeUninit};

/// Field lines at most; more are `hyper`'s to judge.
const MOST: usize = 64;

/// A request without content.
pub(super) struct Head {
    pub(super) request: Request<RequestBody>,
    /// Whether the connection is closed after the answer (RFC 9112 section 9.3).
    pub(super) closes: bool,
    /// As it came, or where its target was [written anew](encoded) as it might have come.
    pub(super) bytes: Bytes,
    /// How many bytes came.
    pub(super) length: usize,
    /// What its fields were read from.
    pub(super) section: Section,
}

/// What bytes begin with.
pub(super) enum Parsed {
    /// Boxed: moving it from hand to hand would cost more.
    Head(Box<Head>),
    /// A part of a head.
    Partial,
    /// Something else, or nothing that is well formed.
    Others,
}

/// Reads the head that `bytes` begin with. `before` may give its fields.
pub(super) fn parse(bytes: &[u8], limits: &Limits, before: &RefCell<Sections>) -> Parsed {
    if let Some((line, rest)) = section::split(bytes) {
        let mut before = before.borrow_mut();
        if let Some((length, kept)) = before.take(rest) {
            let came = bytes.get(..line.len() + length).unwrap_or_default();
            let copy = Copied {
                from: came,
                bytes: before.copy(came),
            };
            return again(copy, line, limits, kept);
        }
    }
    anew(bytes, limits)
}

/// Reads a head whose header section has come before. What was taken out is lost where this is no request that is answered here.
fn again(
    copy: Copied<'_>,
    line: &[u8],
    limits: &Limits,
    (section, fields): (Section, HeaderMap),
) -> Parsed {
    let mut request = httparse::Request::new(&mut []);
    // The line alone is never a whole head; what it says is read all the same.
    if !matches!(request.parse(line), Ok(Status::Partial)) {
        return Parsed::Others;
    }
    Start::of(&request, copy.bytes.len(), section.lines, limits)
        .and_then(|start| start.head(copy, section, fields))
        .map_or(Parsed::Others, Parsed::Head)
}

/// Reads a head like no other.
fn anew(bytes: &[u8], limits: &Limits) -> Parsed {
    let mut lines = [const { MaybeUninit::uninit() }; MOST];
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(bytes, &mut lines) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Parsed::Partial,
        Err(_) => return Parsed::Others,
    };
    let came = bytes.get(..length).unwrap_or_default();
    let Some(start) = Start::of(&request, length, request.headers.len(), limits) else {
        return Parsed::Others;
    };
    let copy = Copied::of(came);
    let mut read = spares::take();
    let Some(told) = fields(&copy, request.headers, &mut read) else {
        return Parsed::Others;
    };
    let first = request.headers.first();
    let section = Section {
        at: first.map_or(length, |first| copy.at(first.name.as_bytes())),
        head: copy.bytes.clone(),
        lines: request.headers.len(),
        told,
    };
    start
        .head(copy, section, read)
        .map_or(Parsed::Others, Parsed::Head)
}

/// What a request's line says.
struct Start<'a> {
    method: Method,
    version: Version,
    target: &'a str,
}

impl<'a> Start<'a> {
    /// Of a head with so many bytes and field lines. `None` where it is not for us to answer.
    fn of(
        request: &httparse::Request<'_, 'a>,
        length: usize,
        lines: usize,
        limits: &Limits,
    ) -> Option<Self> {
        let (method, version) = kind(request)?;
        let target = request.path?;
        let fits = length <= limits.header_size
            && target.len() <= limits.target
            && lines <= limits.headers;
        fits.then_some(Self {
            method,
            version,
            target,
        })
    }

    /// The head, with the fields of its section.
    fn head(self, copy: Copied<'_>, section: Section, fields: HeaderMap) -> Option<Box<Head>> {
        let length = copy.bytes.len();
        let uri = Uri::from_maybe_shared(copy.part(self.target.as_bytes())?);
        let (uri, bytes) = match uri {
            Ok(uri) if self.target.is_ascii() => (uri, copy.bytes),
            _ => encoded::head(&copy, self.target)?,
        };
        let mut request = Request::new(RequestBody::none());
        *request.method_mut() = self.method;
        *request.version_mut() = self.version;
        *request.uri_mut() = uri;
        *request.headers_mut() = fields;
        let closes = match section.told.wish {
            Wish::Close => true,
            Wish::Stay => false,
            Wish::None => self.version == Version::HTTP_10,
        };
        Some(Box::new(Head {
            request,
            closes,
            bytes,
            length,
            section,
        }))
    }
}

/// The request that `bytes` begin with and the length of its head, where it is one that may be answered without `hyper`. For tests.
pub fn request(bytes: &[u8], limits: &Limits) -> Option<(Parts, usize)> {
    match anew(bytes, limits) {
        Parsed::Head(head) => Some((head.request.into_parts().0, head.length)),
        Parsed::Partial | Parsed::Others => None,
    }
}

/// A head in memory of its own.
struct Copied<'a> {
    from: &'a [u8],
    bytes: Bytes,
}

impl<'a> Copied<'a> {
    fn of(from: &'a [u8]) -> Self {
        Self {
            from,
            bytes: Bytes::copy_from_slice(from),
        }
    }

    /// Where `part` begins in what was copied.
    fn at(&self, part: &[u8]) -> usize {
        let (from, part) = (self.from.as_ptr().addr(), part.as_ptr().addr());
        part.saturating_sub(from)
    }

    /// The same bytes as `part`; `None` where that is no part of what was copied.
    fn part(&self, part: &[u8]) -> Option<Bytes> {
        let at = self.at(part);
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

/// What fields tell of their request, whatever its line says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    wish: Wish,
    /// Whether one `Host` line is there, and valid.
    pub(super) names_host: bool,
}

/// What a client wants of the connection after the answer.
#[derive(Clone, Copy, Debug)]
enum Wish {
    None,
    Stay,
    Close,
}

/// Takes the fields over into `fields`. `None` where they announce content, or want more of the connection.
fn fields(copy: &Copied<'_>, lines: &[Header<'_>], fields: &mut HeaderMap) -> Option<Told> {
    let mut wish = Wish::None;
    let mut host = None;
    fields.reserve(lines.len());
    for line in lines {
        let name = name(line.name)?;
        match name {
            header::CONTENT_LENGTH
            | header::TRANSFER_ENCODING
            | header::EXPECT
            | header::UPGRADE
            | header::TRAILER => return None,
            header::CONNECTION => wish = wished(line.value, wish)?,
            header::HOST => host = Some(host.is_none() && is_authority(line.value)),
            _ => {}
        }
        let value = HeaderValue::from_maybe_shared(copy.part(line.value)?).ok()?;
        fields.append(name, value);
    }
    Some(Told {
        wish,
        names_host: host == Some(true),
    })
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
fn wished(line: &[u8], before: Wish) -> Option<Wish> {
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
