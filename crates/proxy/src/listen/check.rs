//! Checks a parsed request for what `hyper` accepts and RFC 9112 and 9113 do not.

use super::{config::Limits, fault::Fault};
use crate::error::BadHost;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version, header, uri::Authority,
};
use rules::{fields::has_padded_value, key::normalize_host};

/// Judges a request's head. `check_framing` judges the framing of its content.
pub(super) fn check<B>(request: &Request<B>, limits: &Limits) -> Result<(), Fault> {
    check_length(request.uri(), limits)?;
    if lines(request) > limits.headers {
        return Err(Fault::TooManyFields);
    }
    if request.version() == Version::HTTP_2 && has_padded_value(request.headers()) {
        return Err(Fault::FieldInvalid);
    }
    let uri = request.uri();
    check_target(request.method(), uri.scheme_str(), path(request))?;
    let scheme = uri.scheme_str().unwrap_or("http");
    let authority = uri.authority().map(Authority::as_str);
    check_host(request.version(), (scheme, authority), request.headers())
}

/// Returns the token with which a listener refuses a request that did not come to it, if it does. Its head would have
/// `bytes`.
pub fn refusal<B>(request: &Request<B>, bytes: usize, limits: &Limits) -> Option<&'static str> {
    let fault = match check(request, limits) {
        Err(fault) => fault,
        Ok(()) if bytes > limits.header_size => Fault::HeadTooLarge,
        Ok(()) => return None,
    };
    Some(fault.token())
}

/// Judges the length of a request's target.
pub(super) fn check_length(target: &Uri, limits: &Limits) -> Result<(), Fault> {
    if target_length(target) > limits.target {
        Err(Fault::TargetTooLong)
    } else {
        Ok(())
    }
}

/// The number of field lines. Over HTTP/2, the pairs of one `Cookie` may come as several lines (RFC 9113 section
/// 8.2.3), which count as one.
fn lines<B>(request: &Request<B>) -> usize {
    let fields = request.headers();
    let pairs = match request.version() {
        Version::HTTP_2 => fields.get_all(header::COOKIE).iter().count(),
        _ => 0,
    };
    fields.len() - pairs.saturating_sub(1)
}

/// The length of the target's path and query in bytes; for an authority alone, its length.
fn target_length(uri: &Uri) -> usize {
    match uri.path_and_query() {
        Some(path) => path.as_str().len(),
        None => uri.authority().map_or(0, |name| name.as_str().len()),
    }
}

/// The path. Over HTTP/2 it is as it came, since it must not be empty (RFC 9113 section 8.3.1).
fn path<B>(request: &Request<B>) -> &str {
    match request.uri().path_and_query() {
        Some(target) if request.version() == Version::HTTP_2 => target.as_str(),
        _ => request.uri().path(),
    }
}

/// Judges a request's target (RFC 9112 section 3.2): `*` is for `OPTIONS`, an authority alone is for `CONNECT`, and
/// only `http` and `https` are served.
///
/// For an HTTP/1 request within its limits that names its host in one valid field, nothing else is left to judge.
pub(super) fn check_target(method: &Method, scheme: Option<&str>, path: &str) -> Result<(), Fault> {
    let is_served = scheme.is_none_or(|scheme| matches!(scheme, "http" | "https"));
    let fits = match *method {
        _ if !is_served => false,
        Method::CONNECT => true,
        Method::OPTIONS => path.starts_with('/') || path == "*",
        _ => path.starts_with('/'),
    };
    if fits { Ok(()) } else { Err(Fault::TargetForm) }
}

/// Judges how a request names its host (RFC 9112 section 3.2, RFC 9113 section 8.3.1).
pub(super) fn check_host(
    version: Version,
    (scheme, authority): (&str, Option<&str>),
    fields: &HeaderMap,
) -> Result<(), Fault> {
    let mut lines = fields.get_all(header::HOST).iter();
    let host = lines.next();
    if lines.next().is_some() {
        return Err(Fault::Host(BadHost::Repeated));
    }
    match (version, host, authority) {
        (Version::HTTP_09 | Version::HTTP_10, None, _) | (Version::HTTP_2, None, Some(_)) => Ok(()),
        (_, None, _) => Err(Fault::Host(BadHost::Missing)),
        (Version::HTTP_2, Some(host), Some(authority)) if !same(scheme, host, authority) => {
            Err(Fault::HostDiffers)
        }
        // RFC 9112 section 3.2.2: an absolute target's authority replaces the field, which must still be valid.
        (_, Some(host), Some(_)) if host.is_empty() => Ok(()),
        (_, Some(host), _) if is_authority(host.as_bytes()) => Ok(()),
        (_, Some(_), _) => Err(Fault::Host(BadHost::Invalid)),
    }
}

/// Whether both name one host, in whatever spelling (RFC 9113 section 8.3.1).
fn same(scheme: &str, host: &HeaderValue, authority: &str) -> bool {
    let name = |text| normalize_host(text, scheme);
    let written = host.to_str().ok();
    host.as_bytes().eq_ignore_ascii_case(authority.as_bytes())
        || written.is_some_and(|host| name(host).is_some() && name(host) == name(authority))
}

/// Whether `value` is `uri-host [ ":" port ]` (RFC 9110 section 7.2) with a host that is not empty (section 4.2.1).
///
/// Checks only the set of characters and the place of the port.
pub(super) fn is_authority(value: &[u8]) -> bool {
    let (host, port) = match value {
        [b'[', rest @ ..] => {
            let end = memchr::memchr(b']', rest).unwrap_or(rest.len());
            match rest.split_at(end) {
                (host, [b']', port @ ..]) => (host, port),
                _ => return false,
            }
        }
        _ => value.split_at(memchr::memchr(b':', value).unwrap_or(value.len())),
    };
    let bracketed = value.first() == Some(&b'[');
    let host_fits = host
        .iter()
        .all(|&byte| is_host_byte(byte) || (bracketed && byte == b':'));
    let port_fits = match port {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    !host.is_empty() && host_fits && port_fits
}

/// Whether `byte` is `unreserved`, in `sub-delims`, or begins `pct-encoded` (RFC 3986 section 3.2.2).
const fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'-' | b'.'
                | b'_'
                | b'~'
                | b'%'
                | b'!'
                | b'$'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b'+'
                | b','
                | b';'
                | b'='
        )
}

/// Judges how a request with content is framed. `raw` is its head as it came, and may have more behind it.
///
/// If `raw` is not all of the head, what `hyper` does stands: it obeys `Transfer-Encoding` alone and closes the
/// connection afterwards, as RFC 9112 section 6.3 allows.
pub(super) fn check_framing(fields: &HeaderMap, raw: &[u8]) -> Result<(), Fault> {
    let mut codings = fields.get_all(header::TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else {
        return Ok(());
    };
    if codings.next().is_some() || !coding.as_bytes().eq_ignore_ascii_case(b"chunked") {
        return Err(Fault::TransferCoding);
    }
    if names_length(raw) {
        return Err(Fault::TwoLengths);
    }
    Ok(())
}

/// Whether the first head in `raw` has a `Content-Length` line.
fn names_length(raw: &[u8]) -> bool {
    fields(raw).any(|(name, _)| name.eq_ignore_ascii_case(b"content-length"))
}

/// Returns names and values in the first head in `raw`. Its first line is the request line, or the rest of a torn line.
fn fields(raw: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let text = raw.trim_ascii_start();
    text.split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .take_while(|line| !line.is_empty())
        .skip(1)
        .map(|line| {
            let colon = memchr::memchr(b':', line).unwrap_or(line.len());
            (
                line.get(..colon).unwrap_or_default(),
                line.get(colon + 1..).unwrap_or_default(),
            )
        })
}

/// Returns what follows the first head in `raw`; nothing if that is not all there.
pub(super) fn behind_head(raw: &[u8]) -> &[u8] {
    behind_whole_head(raw).unwrap_or_default()
}

fn behind_whole_head(raw: &[u8]) -> Option<&[u8]> {
    let mut rest = raw.trim_ascii_start();
    while let Some((line, behind)) =
        memchr::memchr(b'\n', rest).and_then(|end| rest.split_at_checked(end + 1))
    {
        rest = behind;
        if matches!(line, b"\n" | b"\r\n") {
            return Some(rest);
        }
    }
    None
}

/// Returns the length of the request that `raw` begins with, if its head is all there and says it. It says none before
/// content in chunks, and none where another protocol may follow.
pub(super) fn request_length(raw: &[u8]) -> Option<usize> {
    let head = raw.len() - behind_whole_head(raw)?.len();
    let mut content = None;
    for (name, value) in fields(raw) {
        let is = |other: &HeaderName| name.eq_ignore_ascii_case(other.as_str().as_bytes());
        if is(&header::CONTENT_LENGTH) {
            let digits = std::str::from_utf8(value.trim_ascii()).ok()?;
            let is_first = content.replace(digits.parse().ok()?).is_none();
            is_first.then_some(())?;
        } else if is(&header::TRANSFER_ENCODING) || is(&header::UPGRADE) {
            return None;
        }
    }
    let may_switch = raw.trim_ascii_start().starts_with(b"CONNECT ");
    head.checked_add(content.unwrap_or(0))
        .filter(|_| !may_switch)
}

#[cfg(test)]
mod tests;
