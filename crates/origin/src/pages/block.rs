//! A value with a header: what a page has besides its body.
//!
//! ```text
//! HTTP/1.1 200 OK
//! Content-Type: text/html; charset=utf-8
//! Content-Length: 5120
//!
//! <!DOCTYPE html>…
//! ```
//!
//! Lines end with CRLF or LF. Without the first line the page is a 200. `Content-Length` may be left out. With it, a
//! truncated value is detected. Fields about a connection have no meaning here and are dropped. So is `Set-Cookie`: a
//! page for everybody carries nobody's cookie.

use super::Bad;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

/// The largest block, in bytes.
const LARGEST: usize = 16 << 10;

/// The most lines.
const MOST: usize = 64;

/// Fields that a page may not set.
const DROPPED: [HeaderName; 12] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::CONTENT_LENGTH,
    header::CONTENT_RANGE,
    header::ACCEPT_RANGES,
    header::SET_COOKIE,
];

/// Reads a value: status, fields and body.
///
/// # Errors
/// It is not such a value.
pub fn read(value: &Bytes) -> Result<(StatusCode, HeaderMap, Bytes), Bad> {
    let mut rest: &[u8] = value;
    let mut status = StatusCode::OK;
    let mut fields = HeaderMap::new();
    for number in 0..=MOST {
        let line = line(&mut rest, value.len()).ok_or(Bad::Block)?;
        if line.is_empty() {
            let body = value.slice_ref(rest);
            return finished(status, fields, body);
        }
        match line.strip_prefix(b"HTTP/1.") {
            Some(line) if number == 0 => status = status_of(line).ok_or(Bad::Block)?,
            _ => add(&mut fields, line).ok_or(Bad::Block)?,
        }
    }
    Err(Bad::Block)
}

fn finished(
    status: StatusCode,
    mut fields: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, HeaderMap, Bytes), Bad> {
    let mut lengths = fields.get_all(header::CONTENT_LENGTH).iter();
    let length = lengths.next().map(|length| {
        let length = length.to_str().ok()?;
        let digits = length.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| length.parse::<usize>().ok())?
    });
    match (length, lengths.next()) {
        (_, Some(_)) | (Some(None), None) => return Err(Bad::Block),
        (Some(Some(length)), None) if body.len() != length => return Err(Bad::Cut),
        (Some(Some(_)) | None, None) => {}
    }
    for name in &DROPPED {
        fields.remove(name);
    }
    Ok((status, fields, body))
}

/// Returns the next line, without its end. `None`: it has no end, or the block is too large.
fn line<'a>(rest: &mut &'a [u8], whole: usize) -> Option<&'a [u8]> {
    let end = rest.iter().take(LARGEST).position(|byte| *byte == b'\n')?;
    let (line, after) = rest.split_at_checked(end + 1)?;
    *rest = after;
    (whole - after.len() <= LARGEST).then_some(())?;
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    Some(line.strip_suffix(b"\r").unwrap_or(line))
}

/// Reads the status from what follows `HTTP/1.`, such as `1 200 OK`. It must be an answer by itself.
fn status_of(line: &[u8]) -> Option<StatusCode> {
    let (b'0' | b'1', rest) = line.split_first()? else {
        return None;
    };
    let rest = rest.strip_prefix(b" ")?;
    let (code, reason) = rest.split_at_checked(3)?;
    let status = StatusCode::from_bytes(code).ok()?;
    let ends = matches!(reason, [] | [b' ', ..]);
    let alone = !status.is_informational()
        && !matches!(status.as_u16(), 204 | 205 | 206 | 304 | 416)
        && status.as_u16() < 600;
    (ends && alone).then_some(status)
}

fn add(fields: &mut HeaderMap, line: &[u8]) -> Option<()> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at_checked(colon)?;
    let name = HeaderName::from_bytes(name).ok()?;
    let value = value.get(1..)?.trim_ascii();
    fields
        .try_append(name, HeaderValue::from_bytes(value).ok()?)
        .ok()
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_are_read_and_malformed_ones_are_not() {
        let page = |status: u16, kind: Option<&str>, body: &str| {
            Ok((status, kind.map(str::to_owned), body.to_owned()))
        };
        for (value, expected) in [
            (
                "Content-Type: a/b\r\n\r\nbody",
                page(200, Some("a/b"), "body"),
            ),
            ("content-type:a/b\n\nbody", page(200, Some("a/b"), "body")),
            (
                "HTTP/1.1 404 Not Found\r\nContent-Type: a/b\r\n\r\n",
                page(404, Some("a/b"), ""),
            ),
            ("HTTP/1.0 301\r\n\r\nmoved", page(301, None, "moved")),
            ("\r\nbody", page(200, None, "body")),
            ("\nbody\n\nmore", page(200, None, "body\n\nmore")),
            ("Content-Length: 4\n\nbody", page(200, None, "body")),
            ("Content-Length: 5\n\nbody", Err(Bad::Cut)),
            ("Content-Length: 3\n\nbody", Err(Bad::Cut)),
            ("Content-Length: +4\n\nbody", Err(Bad::Block)),
            ("Content-Length: \n\nbody", Err(Bad::Block)),
            (
                "Content-Length: 4\nContent-Length: 4\n\nbody",
                Err(Bad::Block),
            ),
            ("Content-Type: a/b", Err(Bad::Block)),
            ("Content-Type: a/b\r\n", Err(Bad::Block)),
            ("<html>\n\nbody", Err(Bad::Block)),
            ("Name : value\n\nbody", Err(Bad::Block)),
            (": value\n\nbody", Err(Bad::Block)),
            ("A: b\n c\n\nbody", Err(Bad::Block)),
            ("A: b\0\n\nbody", Err(Bad::Block)),
            ("HTTP/2 200\n\nbody", Err(Bad::Block)),
            ("HTTP/1.1 99\n\nbody", Err(Bad::Block)),
            ("HTTP/1.1 304 Not Modified\n\n", Err(Bad::Block)),
            ("HTTP/1.1 206 Partial\n\nbody", Err(Bad::Block)),
            ("A: b\nHTTP/1.1 200 OK\n\nbody", Err(Bad::Block)),
            ("", Err(Bad::Block)),
        ] {
            let read = read(&Bytes::from_static(value.as_bytes())).map(|(status, fields, body)| {
                let kind = fields
                    .get(header::CONTENT_TYPE)
                    .map(|kind| kind.to_str().expect("text").to_owned());
                (
                    status.as_u16(),
                    kind,
                    String::from_utf8(body.to_vec()).expect("text"),
                )
            });
            assert_eq!(read, expected, "{value:?}");
        }
    }

    #[test]
    fn nobodys_cookie_and_nothing_of_a_connection_is_kept() {
        let value = "Set-Cookie: a=b\nTransfer-Encoding: chunked\nConnection: x\nX: y\n\nbody";
        let (_, fields, _) = read(&Bytes::from_static(value.as_bytes())).expect("a page");
        assert_eq!(fields.len(), 1);
    }

    #[test]
    fn a_block_has_limits() {
        let lines = |count: usize| Bytes::from("A: b\n".repeat(count) + "\nbody");
        assert!(read(&lines(MOST)).is_ok());
        assert_eq!(read(&lines(MOST + 1)), Err(Bad::Block));
        let long = |length: usize| Bytes::from(format!("A: {}\n\nbody", "b".repeat(length)));
        assert!(read(&long(LARGEST - 5)).is_ok());
        assert_eq!(read(&long(LARGEST - 4)), Err(Bad::Block));
    }

    proptest! {
        #[test]
        fn any_value_is_read(value in "[A-Za-z0-9:/ .\r\n\u{0}é]{0,60}") {
            let value = Bytes::from(value);
            if let Ok((status, _, body)) = read(&value) {
                prop_assert!(value.ends_with(&body));
                prop_assert!(!status.is_informational());
            }
        }
    }
}
