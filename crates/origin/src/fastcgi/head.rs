//! The head of a CGI response (RFC 3875 section 6).

use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CONNECTION, CONTENT_LENGTH, LOCATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE},
};
use thiserror::Error;

/// Most fields of a head: more than any sane script sends.
const MOST_FIELDS: usize = 256;

/// Fields about the connection. A script knows nothing about that (RFC 3875 section 6.3.4).
static OF_THE_CONNECTION: [HeaderName; 7] = [
    CONNECTION,
    TRANSFER_ENCODING,
    UPGRADE,
    TE,
    TRAILER,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// What a script answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A response.
    Response(StatusCode, HeaderMap),
    /// A local redirect: the answer to this path and query is wanted (section 6.2.2).
    Local(String),
}

/// What is wrong with a head. This is always the script's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Wrong {
    /// An empty head (section 6.3: there is at least one field).
    #[error("no header field before the body")]
    Empty,
    /// A line that is no field.
    #[error("a line of the header is no field")]
    Line,
    /// `Status` is no final status, or occurs twice.
    #[error("`Status` is no final status")]
    Status,
    /// More fields than are accepted.
    #[error("too many header fields")]
    TooMany,
}

/// Finds the end of the head in `bytes`. Returns its length without and with the empty line. `from` is how much was
/// examined before.
pub fn end(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    // The empty line may have begun in what was examined before.
    let from = from.saturating_sub(2);
    if from == 0 && bytes.first() == Some(&b'\n') {
        return Some((0, 1));
    }
    if from == 0 && bytes.starts_with(b"\r\n") {
        return Some((0, 2));
    }
    let rest = bytes.get(from..)?;
    memchr::memchr_iter(b'\n', rest).find_map(|at| {
        let at = from + at;
        match bytes.get(at + 1..)? {
            [b'\n', ..] => Some((at, at + 2)),
            [b'\r', b'\n', ..] => Some((at, at + 3)),
            _ => None,
        }
    })
}

/// Reads a head, without the empty line that ends it. Lines end with LF or CR LF.
pub fn parse(head: &[u8]) -> Result<Head, Wrong> {
    let mut fields = HeaderMap::new();
    let mut status = None;
    for line in head.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let (name, value) = field(line)?;
        if name == "status" {
            let code = code(&value).filter(|_| status.is_none());
            status = Some(code.ok_or(Wrong::Status)?);
            continue;
        }
        if fields.len() >= MOST_FIELDS {
            return Err(Wrong::TooMany);
        }
        fields.append(name, value);
    }
    if fields.is_empty() && status.is_none() {
        return Err(Wrong::Empty);
    }
    if let Some(local) = local(&fields, status) {
        return Ok(Head::Local(local));
    }
    for name in &OF_THE_CONNECTION {
        fields.remove(name);
    }
    // The records say where the content ends. PHP sends an empty length where `filesize` fails.
    if has_odd_length(&fields) {
        fields.remove(CONTENT_LENGTH);
    }
    // A location without a status redirects (section 6.2.3).
    let implied = if fields.contains_key(LOCATION) {
        StatusCode::FOUND
    } else {
        StatusCode::OK
    };
    Ok(Head::Response(status.unwrap_or(implied), fields))
}

/// Whether the content's length is announced by what is no number.
fn has_odd_length(fields: &HeaderMap) -> bool {
    let text = fields.get(CONTENT_LENGTH).map(HeaderValue::as_bytes);
    text.is_some_and(|text| {
        let number = str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse::<u64>().ok());
        number.is_none() || !text.iter().all(u8::is_ascii_digit)
    })
}

fn field(line: &[u8]) -> Result<(HeaderName, HeaderValue), Wrong> {
    let colon = memchr::memchr(b':', line).ok_or(Wrong::Line)?;
    let (name, value) = line.split_at(colon);
    let value = value.get(1..).unwrap_or_default().trim_ascii();
    let name = HeaderName::from_bytes(name).map_err(|_| Wrong::Line)?;
    let value = HeaderValue::from_bytes(value).map_err(|_| Wrong::Line)?;
    Ok((name, value))
}

/// Returns the code of a final status (section 6.3.3). The reason phrase is ignored.
fn code(value: &HeaderValue) -> Option<StatusCode> {
    let bytes = value.as_bytes();
    let (code, rest) = bytes.split_at_checked(3)?;
    if rest.first().is_some_and(|byte| *byte != b' ') {
        return None;
    }
    let status = StatusCode::from_bytes(code).ok()?;
    (!status.is_informational()).then_some(status)
}

/// Returns the target of a local redirect: a head with nothing but a `Location` that is a path.
fn local(fields: &HeaderMap, status: Option<StatusCode>) -> Option<String> {
    if status.is_some() || fields.len() != 1 {
        return None;
    }
    let target = fields.get(LOCATION)?.to_str().ok()?;
    let is_path = target.starts_with('/') && !target.starts_with("//");
    is_path.then(|| target.to_owned())
}

#[cfg(test)]
mod tests;
