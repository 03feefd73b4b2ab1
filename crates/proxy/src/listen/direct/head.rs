//! Heads of requests that end where their head ends.

mod encoded;
mod line;

use super::{
    super::{check::is_authority, config::Limits, request_head::RequestHead},
    Open,
    page::Asked,
    section::{self, Section, Sections},
};
use crate::{said::Said, target::Target};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header};
use httparse::{Header, Status};
use rules::fields::spares;
use std::{cell::RefCell, mem::MaybeUninit};

/// Field lines at most; more are `hyper`'s to judge.
const MOST: usize = 64;

/// A request that is its head alone.
pub(super) struct Head {
    pub(super) request: RequestHead,
    pub(super) open: Open,
    /// How many bytes came.
    pub(super) length: usize,
}

/// What bytes begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// A head.
    Whole,
    /// A part of a head.
    Partial,
    /// Something else, or nothing that is well formed.
    Others,
}

/// Reads the head that `bytes` begin with to `into`, where it stays: moving it from hand to hand would cost more than reading it.
/// `before` may give its fields.
pub(super) fn parse(
    bytes: &[u8],
    limits: &Limits,
    before: &RefCell<Sections>,
    into: &mut Option<Head>,
) -> Parsed {
    if let Some((line, rest)) = section::split(bytes) {
        let mut before = before.borrow_mut();
        if let Some((length, kept)) = before.take(rest) {
            *into = again(line, line.len() + length, limits, kept);
            return whole_or_others(into.is_some());
        }
    }
    anew(bytes, limits, into)
}

fn whole_or_others(is_whole: bool) -> Parsed {
    if is_whole {
        Parsed::Whole
    } else {
        Parsed::Others
    }
}

/// Reads a head of so many bytes whose header section has come before. What was taken out is lost where this is no request that is
/// answered here.
#[inline]
fn again(
    line: &[u8],
    length: usize,
    limits: &Limits,
    (section, fields): (Section, HeaderMap),
) -> Option<Head> {
    let start = line::read(line).or_else(|| {
        let mut request = httparse::Request::new(&mut []);
        // The line alone is never a whole head; what it says is read all the same.
        match request.parse(line) {
            Ok(Status::Partial) => Start::of(&request),
            _ => None,
        }
    })?;
    let fits = start.fits(length, section.lines, limits);
    fits.then(|| start.head(length, section, fields))
}

/// Reads a head like no other.
fn anew(bytes: &[u8], limits: &Limits, into: &mut Option<Head>) -> Parsed {
    let mut lines = [const { MaybeUninit::uninit() }; MOST];
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(bytes, &mut lines) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Parsed::Partial,
        Err(_) => return Parsed::Others,
    };
    let came = bytes.get(..length).unwrap_or_default();
    *into = read(&request, came, limits);
    whole_or_others(into.is_some())
}

/// A head that was parsed.
fn read(request: &httparse::Request<'_, '_>, came: &[u8], limits: &Limits) -> Option<Head> {
    let start = Start::of(request)?;
    let length = came.len();
    if !start.fits(length, request.headers.len(), limits) {
        return None;
    }
    let copy = Copied::of(came);
    let mut read = spares::take();
    let told = fields(&copy, request.headers, &mut read)?;
    let first = request.headers.first();
    let section = Section {
        at: first.map_or(length, |first| copy.at(first.name.as_bytes())),
        head: copy.bytes,
        lines: request.headers.len(),
        told,
    };
    Some(start.head(length, section, read))
}

/// What a request's line says.
struct Start {
    method: Method,
    version: Version,
    target: Target,
    /// Bytes of the target as it came.
    length: usize,
}

impl Start {
    /// Where it is of those that are answered here.
    fn of(request: &httparse::Request<'_, '_>) -> Option<Self> {
        let method = match request.method? {
            "GET" => Method::GET,
            "HEAD" => Method::HEAD,
            _ => return None,
        };
        let version = match request.version? {
            0 => Version::HTTP_10,
            _ => Version::HTTP_11,
        };
        let written = request.path?;
        let target = match Target::usual(written.as_bytes()) {
            Some(target) => target,
            None => encoded::uri(written)?.into(),
        };
        Some(Self {
            method,
            version,
            target,
            length: written.len(),
        })
    }

    /// Whether a head with so many bytes and field lines is within the limits.
    fn fits(&self, length: usize, lines: usize, limits: &Limits) -> bool {
        length <= limits.header_size && self.length <= limits.target && lines <= limits.headers
    }

    /// The head, of so many bytes, with the fields of its section.
    fn head(self, length: usize, section: Section, fields: HeaderMap) -> Head {
        let asked = Asked {
            is_head: self.method == Method::HEAD,
            version: self.version,
            // RFC 9112 section 9.3.
            closes: match section.told.wish {
                Wish::Close => true,
                Wish::Stay => false,
                Wish::None => self.version == Version::HTTP_10,
            },
        };
        Head {
            request: RequestHead {
                method: self.method,
                version: self.version,
                target: self.target.clone(),
                fields,
                said: section.told.said,
            },
            open: Open {
                asked,
                target: self.target,
                section: Some(section),
            },
            length,
        }
    }
}

/// The request that `bytes` begin with and the length of its head, where it is one that may be answered without `hyper`. For tests.
pub fn request(bytes: &[u8], limits: &Limits) -> Option<(RequestHead, usize)> {
    let mut head = None;
    anew(bytes, limits, &mut head);
    head.map(|head| (head.request, head.length))
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

/// What fields tell of their request, whatever its line says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    wish: Wish,
    /// Whether one `Host` line is there, and valid.
    pub(super) names_host: bool,
    /// What they speak of.
    said: Said,
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
        said: Said::by(fields),
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
