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
    let name = path
        .rsplit('/')
        .next()
        .and_then(|name| name.rsplit_once('.'));
    let Some((_, ending)) = name else {
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

/// Whether an answer is a page, or does not say what it is: what an application sends under a path that is none of its files.
pub(super) fn may_be_page(fields: &HeaderMap) -> bool {
    kind_of(fields).is_none_or(|kind| matches!(&*kind, "text/html" | "application/xhtml+xml"))
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
