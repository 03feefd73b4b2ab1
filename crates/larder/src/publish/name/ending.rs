//! The extensions of files: for media types, and in names.

/// Extensions that say more than their type does, and other extensions for the same type.
pub(super) const ALIASES: &[(&str, &[&str])] = &[
    ("html", &["htm", "xhtml"]),
    ("jpg", &["jpeg", "jpe", "jfif"]),
    ("js", &["mjs", "cjs"]),
    ("txt", &["text", "md", "csv", "log", "asc", "conf", "ini"]),
    ("xml", &["rss", "atom", "rdf", "xsl", "xslt", "xsd", "opml"]),
    ("json", &["map", "webmanifest", "jsonld", "geojson"]),
];

/// Returns the text after the last dot, if it looks like a file extension.
pub(super) fn own_ending(last: &str) -> Option<&str> {
    let (stem, ending) = last.rsplit_once('.')?;
    let looks = !stem.is_empty() && (1..=12).contains(&ending.len());
    (looks && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(ending)
}

/// Returns the usual extension for a media type.
pub(super) fn ending(kind: Option<&str>) -> Option<&'static str> {
    let essence = kind?
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    Some(match essence.as_str() {
        "text/html" | "application/xhtml+xml" => "html",
        "text/css" => "css",
        "text/javascript" | "application/javascript" | "application/x-javascript" => "js",
        "application/json" | "application/ld+json" | "application/manifest+json" => "json",
        "text/plain" | "text/markdown" | "text/csv" => "txt",
        "application/xml" | "text/xml" | "application/rss+xml" | "application/atom+xml" => "xml",
        "application/pdf" => "pdf",
        "application/wasm" => "wasm",
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/avif" => "avif",
        "image/svg+xml" => "svg",
        "image/x-icon" | "image/vnd.microsoft.icon" => "ico",
        "font/woff2" => "woff2",
        "font/woff" => "woff",
        _ => return None,
    })
}
