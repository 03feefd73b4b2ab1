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

/// Field lines at most; `hyper` is told the same.
pub(crate) const MOST: usize = 256;

/// A head that has come whole.
#[derive(Debug)]
pub struct Head {
    /// Status, version and fields.
    pub response: Response<()>,
    /// Whether the connection may carry another answer after this one (RFC 9112 section 9.3).
    pub keeps: bool,
    /// Bytes it takes, its empty line included.
    pub length: usize,
}

/// Reads the head that `bytes` begin with; `None`: it is not whole yet. Fails with `Kind::Malformed`, or `Kind::HeadTooLarge`
/// where it takes more than `largest` bytes or has more than 256 fields.
pub fn parse(bytes: &[u8], largest: usize) -> Result<Option<Head>, Error> {
    let mut lines = [const { MaybeUninit::uninit() }; MOST];
    let mut head = httparse::Response::new(&mut []);
    let mut config = ParserConfig::default();
    // Which a proxy removes (RFC 9112 section 5.1).
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
    let keeps = match wish {
        Wish::Close => false,
        Wish::Stay => true,
        Wish::None => version == Version::HTTP_11,
    };
    Ok(Some(Head {
        response,
        keeps,
        length,
    }))
}

/// Whether a list has this member, whatever its case.
pub(super) fn names(list: &[u8], member: &[u8]) -> bool {
    list.split(|&byte| byte == b',')
        .any(|one| one.trim_ascii().eq_ignore_ascii_case(member))
}

/// What a server means to do with the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    None,
    Stay,
    Close,
}

/// How many fields an answer mostly has more when it goes on (`Age`, `Via`, `Cache-Status`): grown once, the map is not built anew with
/// each of them.
const MOST_ADDED: usize = 3;

/// What a server says of the connection, and nothing else. It is heard here, and nobody else's to know.
const OF_THE_CONNECTION: [&[u8]; 2] = [b"keep-alive", b"close"];

/// Takes the fields over into `fields`.
fn fields(copy: &Copied<'_>, lines: &[Header<'_>], fields: &mut HeaderMap) -> Result<Wish, Error> {
    let mut wish = Wish::None;
    fields.reserve(lines.len() + MOST_ADDED);
    for line in lines {
        let name = name(line.name).map_err(malformed)?;
        if name == header::CONNECTION {
            wish = match wish {
                // Once closed is closed, whatever other lines say.
                _ if names(line.value, b"close") => Wish::Close,
                Wish::None if names(line.value, b"keep-alive") => Wish::Stay,
                wish => wish,
            };
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

/// A field's name. Those that most answers have are found by their length and first letter, as they are mostly spelled.
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

/// A head in memory of its own, of which its values are parts.
struct Copied<'a> {
    from: &'a [u8],
    bytes: Bytes,
}

impl Copied<'_> {
    /// The same bytes as `part`, which lies in what was copied.
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
