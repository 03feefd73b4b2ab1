//! Content types, by the ending of a name.

use http::HeaderValue;
use std::path::Path;

/// The type if the ending says nothing: a browser stores it instead of guessing.
const UNKNOWN: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// Returns the type of the file at `path`.
pub(crate) fn of(path: &Path) -> HeaderValue {
    known(path).unwrap_or(UNKNOWN)
}

/// Returns the type for the ending of `path`, if it has a known one. Text is assumed to be UTF-8, as nearly all
/// published text is.
pub(crate) fn known(path: &Path) -> Option<HeaderValue> {
    let guess = mime_guess::from_path(path).first_raw()?;
    // The table still has these two by their old names (RFC 9239, RFC 8081).
    let kind = match guess {
        "application/javascript" => "text/javascript",
        "application/font-woff" => "font/woff",
        other => other,
    };
    if kind.starts_with("text/") {
        return HeaderValue::try_from(format!("{kind}; charset=utf-8")).ok();
    }
    Some(HeaderValue::from_static(kind))
}

/// Whether people view it as a page, rather than as a part of one.
pub(crate) fn is_page(kind: &HeaderValue) -> bool {
    let kind = kind.as_bytes();
    [b"text/html".as_slice(), b"application/xhtml+xml"]
        .iter()
        .any(|page| kind.starts_with(page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_what_browsers_expect() {
        for (name, kind) in [
            ("index.html", "text/html; charset=utf-8"),
            ("a.HTM", "text/html; charset=utf-8"),
            ("style.css", "text/css; charset=utf-8"),
            ("app.js", "text/javascript; charset=utf-8"),
            ("app.mjs", "text/javascript; charset=utf-8"),
            ("notes.txt", "text/plain; charset=utf-8"),
            ("data.json", "application/json"),
            ("feed.xml", "text/xml; charset=utf-8"),
            ("a.webmanifest", "application/manifest+json"),
            ("a.wasm", "application/wasm"),
            ("a.svg", "image/svg+xml"),
            ("a.avif", "image/avif"),
            ("a.webp", "image/webp"),
            ("a.woff2", "font/woff2"),
            ("a.woff", "font/woff"),
            ("a.mp4", "video/mp4"),
            ("a.pdf", "application/pdf"),
            ("archive.tar.gz", "application/gzip"),
            ("README", "application/octet-stream"),
            ("a.unheard-of", "application/octet-stream"),
        ] {
            assert_eq!(of(Path::new(name)), kind, "{name}");
        }
    }
}
