//! The media type of a request's content.

use http::{HeaderMap, header};

/// Whether a media type adds nothing that JSON does not say anyway. A service that obeys another charset would read
/// another query than is keyed.
pub(super) fn is_in_utf8(media: &str) -> bool {
    let mut parameters = media.split(';').skip(1).map(str::trim);
    parameters.all(|parameter| {
        let said = parameter.replace('"', "");
        said.is_empty() || said.eq_ignore_ascii_case("charset=utf-8")
    })
}

/// Returns the value of `Content-Type` as written, if there is exactly one.
pub(super) fn media_type(fields: &HeaderMap) -> Option<&str> {
    let mut lines = fields.get_all(header::CONTENT_TYPE).iter();
    let (first, more) = (lines.next()?, lines.next());
    more.is_none().then(|| first.to_str().ok()).flatten()
}

pub(super) fn essence(media: &str) -> &str {
    media.split(';').next().unwrap_or_default().trim()
}

/// Whether the type is `application/json` or has its suffix (RFC 6839 section 3.1).
pub(super) fn is_json(essence: &str) -> bool {
    let lower = essence.to_ascii_lowercase();
    lower == "application/json" || lower.ends_with("+json")
}
