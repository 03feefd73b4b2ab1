//! Content that does not depend on who asks: styles, scripts, images, fonts, media, as `ttl_mode = "static"` has it.

use http::{HeaderMap, header};
use rules::key;

/// Endings of paths whose content seldom depends on who asks, and the types that it is served as: whole, or up to a slash.
const KINDS: [(&[&str], &[&str]); 7] = [
    (&["css"], &["text/css"]),
    (
        &["js", "mjs"],
        &[
            "text/javascript",
            "application/javascript",
            "application/x-javascript",
        ],
    ),
    (
        &[
            "png", "jpg", "jpeg", "gif", "webp", "avif", "svg", "ico", "bmp",
        ],
        &["image/"],
    ),
    (
        &["woff", "woff2", "ttf", "otf", "eot"],
        &[
            "font/",
            "application/font-woff",
            "application/font-woff2",
            "application/font-sfnt",
            "application/x-font-woff",
            "application/x-font-ttf",
            "application/x-font-truetype",
            "application/x-font-opentype",
            "application/x-font-otf",
            "application/vnd.ms-fontobject",
            "application/octet-stream",
        ],
    ),
    (
        &["mp4", "webm", "mp3", "ogg", "wav"],
        &["video/", "audio/", "application/ogg"],
    ),
    (&["pdf"], &["application/pdf"]),
    (
        &["wasm", "zip"],
        &[
            "application/wasm",
            "application/zip",
            "application/x-zip-compressed",
        ],
    ),
];

/// Whether an answer under this path, with these fields, is content of such a kind.
///
/// The ending is the client's word and the type the application's, and both must say so: an application that takes
/// `/account/x.css` for `/account` answers with a user's page (web cache deception).
pub(super) fn is_settled(path: &str, fields: &HeaderMap) -> bool {
    let Some(ending) = ending_of(path) else {
        return false;
    };
    let is_of = |(endings, _): &&(&[&str], _)| {
        endings
            .iter()
            .any(|known| known.eq_ignore_ascii_case(ending))
    };
    let Some((_, kinds)) = KINDS.iter().find(is_of) else {
        return false;
    };
    let Some(kind) = kind_of(fields) else {
        return false;
    };
    let is_served =
        |known: &&str| kind == **known || (known.ends_with('/') && kind.starts_with(*known));
    kinds.iter().any(is_served) && key::is_plain(path)
}

/// Endings of other files, whose content may depend on who asks.
const OTHERS: [&str; 4] = ["json", "map", "txt", "xml"];

/// Whether the path names a file, and the answer is a page or does not say what it is: an application answers so for what it has no file
/// of.
pub(super) fn is_no_file(path: &str, fields: &HeaderMap) -> bool {
    let files = KINDS
        .iter()
        .flat_map(|(endings, _)| *endings)
        .chain(&OTHERS);
    let names_file = ending_of(path).is_some_and(|ending| {
        files
            .clone()
            .any(|known| known.eq_ignore_ascii_case(ending))
    });
    let is_page = |kind: String| matches!(&*kind, "text/html" | "application/xhtml+xml");
    names_file && kind_of(fields).is_none_or(is_page)
}

/// What follows the last dot of the path's last segment.
fn ending_of(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    Some(name.rsplit_once('.')?.1)
}

/// The one type that an answer says it has.
fn kind_of(fields: &HeaderMap) -> Option<String> {
    let mut lines = fields.get_all(header::CONTENT_TYPE).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return None;
    };
    let kind = line.to_str().ok()?.split(';').next()?.trim();
    (!kind.is_empty()).then(|| kind.to_ascii_lowercase())
}
