//! Heads of answers (RFC 9112 section 4), read by the parser that hyper uses.

use super::desk;
use crate::{Error, Kind, spares};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Response, StatusCode, Version,
    header::{self, InvalidHeaderName},
};
use httparse::{Header, ParserConfig, Status};
use std::mem::MaybeUninit;

/// Most field lines of a head. `hyper` gets the same limit.
pub(crate) const MOST: usize = 256;

/// A head that has come completely.
#[derive(Debug)]
pub struct Head {
    /// Status, version and fields.
    pub response: Response<()>,
    /// Whether the connection may carry another answer after this one (RFC 9112 section 9.3).
    pub keeps: bool,
    /// Its length in bytes, including the empty line.
    pub length: usize,
}

/// Reads the head at the start of `bytes`. `None`: it is not complete yet.
///
/// Fails with `Kind::Malformed`, or with `Kind::HeadTooLarge` if it takes more than `largest` bytes or has more than
/// 256 fields.
pub fn parse(bytes: &[u8], largest: usize) -> Result<Option<Head>, Error> {
    let mut lines = [const { MaybeUninit::uninit() }; MOST];
    let mut head = httparse::Response::new(&mut []);
    let mut config = ParserConfig::default();
    // A proxy removes these spaces (RFC 9112 section 5.1).
    config.allow_spaces_after_header_name_in_responses(true);
    let length = match config.parse_response_with_uninit_headers(&mut head, bytes, &mut lines) {
        Ok(Status::Complete(length)) if length <= largest => length,
        Ok(Status::Partial) if bytes.len() < largest => return Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => {
            return Err(Error::new(Kind::HeadTooLarge));
        }
        Err(wrong) => return Err(malformed(wrong)),
    };
    let version = match head.version {
        Some(1) => Version::HTTP_11,
        _ => Version::HTTP_10,
    };
    let mut response = Response::new(());
    *response.version_mut() = version;
    *response.status_mut() =
        StatusCode::from_u16(head.code.unwrap_or_default()).map_err(malformed)?;
    let copy = Copied {
        from: bytes,
        bytes: desk::copy(bytes.get(..length).unwrap_or_default()),
    };
    *response.headers_mut() = spares::take();
    let wish = fields(&copy, head.headers, response.headers_mut())?;
    Ok(Some(Head {
        response,
        keeps: wish.keeps(version),
        length,
    }))
}

/// See [`Head::keeps`].
pub(crate) fn keeps<B>(response: &Response<B>) -> bool {
    let lines = response.headers().get_all(header::CONNECTION).iter();
    let wish = lines.fold(Wish::None, |wish, line| wish.and(line.as_bytes()));
    wish.keeps(response.version())
}

/// Whether `list` has this member, whatever its case.
pub(super) fn names(list: &[u8], member: &[u8]) -> bool {
    list.split(|&byte| byte == b',')
        .any(|one| one.trim_ascii().eq_ignore_ascii_case(member))
}

/// What a server wants to do with the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    None,
    Stay,
    Close,
}

impl Wish {
    /// Adds a line of `Connection`. `close` wins, whatever other lines say.
    fn and(self, line: &[u8]) -> Self {
        match self {
            _ if names(line, b"close") => Self::Close,
            Self::None if names(line, b"keep-alive") => Self::Stay,
            wish => wish,
        }
    }

    fn keeps(self, version: Version) -> bool {
        match self {
            Self::Close => false,
            Self::Stay => true,
            Self::None => version == Version::HTTP_11,
        }
    }
}

/// How many fields an answer usually gains when it is sent on (`Age`, `Via`, `Cache-Status`). The map has room for
/// them, so that it is not rebuilt for each.
const MOST_ADDED: usize = 3;

/// Values of a field that concern only the connection. They are handled here and passed to nobody else.
const OF_THE_CONNECTION: [&[u8]; 2] = [b"keep-alive", b"close"];

/// Adds the fields of `lines` to `fields`. Returns what the server wants to do with the connection.
fn fields(copy: &Copied<'_>, lines: &[Header<'_>], fields: &mut HeaderMap) -> Result<Wish, Error> {
    let mut wish = Wish::None;
    fields.reserve(lines.len() + MOST_ADDED);
    for line in lines {
        let name = name(line.name).map_err(malformed)?;
        if name == header::CONNECTION {
            wish = wish.and(line.value);
            let mut words = OF_THE_CONNECTION.iter();
            if words.any(|word| line.value.eq_ignore_ascii_case(word)) {
                continue;
            }
        }
        let value = HeaderValue::from_maybe_shared(copy.of(line.value)).map_err(malformed)?;
        fields.append(name, value);
    }
    Ok(wish)
}

/// Returns a field's name. Names that most answers have are found by their length and first letter, in their usual
/// spelling.
fn name(written: &str) -> Result<HeaderName, InvalidHeaderName> {
    let first = written.as_bytes().first().map(u8::to_ascii_lowercase);
    let (usual, spelled) = match (written.len(), first) {
        (4, Some(b'd')) => (header::DATE, "Date"),
        (4, Some(b'e')) => (header::ETAG, "ETag"),
        (4, Some(b'v')) => (header::VARY, "Vary"),
        (6, Some(b's')) => (header::SERVER, "Server"),
        (7, Some(b'e')) => (header::EXPIRES, "Expires"),
        (8, Some(b'l')) => (header::LOCATION, "Location"),
        (10, Some(b'c')) => (header::CONNECTION, "Connection"),
        (10, Some(b's')) => (header::SET_COOKIE, "Set-Cookie"),
        (12, Some(b'c')) => (header::CONTENT_TYPE, "Content-Type"),
        (13, Some(b'a')) => (header::ACCEPT_RANGES, "Accept-Ranges"),
        (13, Some(b'c')) => (header::CACHE_CONTROL, "Cache-Control"),
        (13, Some(b'l')) => (header::LAST_MODIFIED, "Last-Modified"),
        (14, Some(b'c')) => (header::CONTENT_LENGTH, "Content-Length"),
        (15, Some(b'x')) => (header::X_FRAME_OPTIONS, "X-Frame-Options"),
        (16, Some(b'c')) => (header::CONTENT_ENCODING, "Content-Encoding"),
        (17, Some(b't')) => (header::TRANSFER_ENCODING, "Transfer-Encoding"),
        (22, Some(b'x')) => (header::X_CONTENT_TYPE_OPTIONS, "X-Content-Type-Options"),
        (25, Some(b's')) => (
            header::STRICT_TRANSPORT_SECURITY,
            "Strict-Transport-Security",
        ),
        _ => return HeaderName::from_bytes(written.as_bytes()),
    };
    if written == spelled || written == usual.as_str() {
        return Ok(usual);
    }
    HeaderName::from_bytes(written.as_bytes())
}

fn malformed(wrong: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(Kind::Malformed).because(wrong)
}

/// A head in its own memory, with values that are parts of it.
struct Copied<'a> {
    from: &'a [u8],
    bytes: Bytes,
}

impl Copied<'_> {
    /// Returns the same bytes as `part`, which is a part of what was copied.
    fn of(&self, part: &[u8]) -> Bytes {
        let at = part.as_ptr().addr().checked_sub(self.from.as_ptr().addr());
        match at.and_then(|at| Some((at, at.checked_add(part.len())?))) {
            Some((at, end)) if end <= self.bytes.len() => self.bytes.slice(at..end),
            _ => Bytes::copy_from_slice(part),
        }
    }
}

#[cfg(test)]
mod tests;
