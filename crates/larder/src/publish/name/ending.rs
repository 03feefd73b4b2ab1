//! The extensions of files: for media types, and in names.

use rules::key::is_run;

/// Extensions that say more than their type does, and other extensions for the same type.
pub(super) const ALIASES: &[(&str, &[&str])] = &[
    ("html", &["htm", "xhtml"]),
    ("jpg", &["jpeg", "jpe", "jfif"]),
    ("js", &["mjs", "cjs"]),
    ("txt", &["text", "md", "csv", "log", "asc", "conf", "ini"]),
    ("xml", &["rss", "atom", "rdf", "xsl", "xslt", "xsd", "opml"]),
    ("json", &["map", "webmanifest", "jsonld", "geojson"]),
];

/// Extensions of documents whose scripts a browser runs: HTML, and XML, which can contain it. PHP and the like are
/// [run](rules::key::is_run) by the web server itself.
const ACTIVE: [&str; 15] = [
    "html", "htm", "xhtml", "xht", "shtm", "svg", "svgz", "xml", "xsl", "xslt", "rss", "atom",
    "rdf", "mml", "mathml",
];

/// Extensions of anything else that every web server knows.
const INERT: [&str; 17] = [
    "css", "js", "json", "txt", "pdf", "wasm", "png", "jpg", "jpeg", "gif", "webp", "avif", "ico",
    "woff2", "woff", "gz", "zip",
];

/// Whether a web server may take a file of this name for more than the application said of it: run it, or send it as a
/// document whose scripts a browser runs, although `kind` is none.
pub(super) fn is_more_than(name: &str, kind: Option<&str>) -> bool {
    let Some((_, endings)) = name.split_once('.') else {
        return false;
    };
    // Apache goes by the last extension that it knows: `page.html.x1` is HTML.
    for ending in endings.rsplit('.') {
        let among = |list: &[&str]| list.iter().any(|known| ending.eq_ignore_ascii_case(known));
        if is_run(ending) {
            return true;
        }
        if among(&ACTIVE) {
            return !is_active(kind);
        }
        if among(&INERT) {
            return false;
        }
    }
    false
}

/// Whether a browser runs the scripts of documents of this type: HTML, and all XML.
pub(super) fn is_active(kind: Option<&str>) -> bool {
    let essence = kind.map(essence).unwrap_or_default();
    matches!(
        essence.as_str(),
        "text/html" | "text/xml" | "application/xml"
    ) || essence.ends_with("+xml")
}

/// Returns the text after the last dot, if it looks like a file extension.
pub(super) fn own_ending(last: &str) -> Option<&str> {
    let (stem, ending) = last.rsplit_once('.')?;
    let looks = !stem.is_empty() && (1..=12).contains(&ending.len());
    (looks && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(ending)
}

/// Returns the usual extension for a media type.
pub(super) fn ending(kind: Option<&str>) -> Option<&'static str> {
    Some(match essence(kind?).as_str() {
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

/// Returns a media type without its parameters.
fn essence(kind: &str) -> String {
    let essence = kind.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}
