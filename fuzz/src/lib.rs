//! Reading fuzzed bytes as heads of messages. A head is written as on the wire, with bare line feeds: easy to mutate,
//! to seed and to read when something is found.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The first line and the fields of a head. Lines that are no field are skipped, as a server would refuse them.
pub fn head(text: &[u8]) -> (&[u8], HeaderMap) {
    let mut lines = text.split(|&byte| byte == b'\n');
    let first = lines.next().unwrap_or_default();
    (first, lines.filter_map(field).collect::<Lines>().0)
}

/// Two parts, divided by the first empty line.
pub fn halves(text: &[u8]) -> (&[u8], &[u8]) {
    match text.windows(2).position(|pair| pair == b"\n\n") {
        Some(at) => (&text[..at], &text[at + 2..]),
        None => (text, &[]),
    }
}

fn field(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    Some((
        HeaderName::from_bytes(name).ok()?,
        HeaderValue::from_bytes(value).ok()?,
    ))
}

/// Collects repeated names as lines of one field.
struct Lines(HeaderMap);

impl FromIterator<(HeaderName, HeaderValue)> for Lines {
    fn from_iter<I: IntoIterator<Item = (HeaderName, HeaderValue)>>(lines: I) -> Self {
        let mut fields = HeaderMap::new();
        for (name, value) in lines {
            fields.append(name, value);
        }
        Self(fields)
    }
}
