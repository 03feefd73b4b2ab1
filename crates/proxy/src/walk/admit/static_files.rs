//! Content that does not depend on the client: styles, scripts (and WebAssembly), images, fonts, media.
//! `ttl_mode = "static"` uses it.

use http::{HeaderMap, header};
use rules::key;

/// File name extensions of content that seldom depends on the client, and the types it is served as: the whole type, or
/// up to the slash.
const KINDS: [(&[&str], &[&str]); 6] = [
    (&["css"], &["text/css"]),
    (
        &["js", "mjs"],
        &[
            "text/javascript",
            "application/javascript",
            "application/x-javascript",
        ],
    ),
    (&["wasm"], &["application/wasm"]),
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
];

/// Whether an answer under this path, with these fields, is content of such a kind.
///
/// The client chooses the extension and the application the type. Both must match: an application that takes
/// `/account/x.css` for `/account` answers with a user's page (web cache deception). Behind a script not even
/// both suffice: one that makes a user's image at `/qr.php` makes it at `/qr.php/x.png` too.
pub(super) fn is_static(path: &str, fields: &HeaderMap) -> bool {
    let Some(ending) = ending_of(path) else {
        return false;
    };
    let Some(kinds) = types_of(ending) else {
        return false;
    };
    let Some(kind) = kind_of(fields) else {
        return false;
    };
    let is_served =
        |known: &&str| kind == **known || (known.ends_with('/') && kind.starts_with(*known));
    kinds.iter().any(is_served) && key::is_plain(path) && !key::is_behind_script(path)
}

/// Returns the types as which files with this extension are served, if their content seldom depends on the client.
fn types_of(ending: &str) -> Option<&'static [&'static str]> {
    let known = KINDS.iter().find(|(endings, _)| names(endings, ending));
    known.map(|(_, kinds)| *kinds)
}

fn names(endings: &[&str], ending: &str) -> bool {
    endings
        .iter()
        .any(|known| known.eq_ignore_ascii_case(ending))
}

/// Returns a type as which the file that the path names may be served, if it names one.
pub fn usual_type(path: &str) -> Option<&'static str> {
    let ending = ending_of(path)?;
    let usual = types_of(ending).and_then(|kinds| kinds.first().copied());
    usual.or_else(|| {
        let other = OTHERS.iter().find(|(endings, _)| names(endings, ending));
        other.map(|(_, kind)| *kind)
    })
}

/// Extensions of other files, whose content may depend on the client, and a type as which it may be served. Documents
/// are among them: an application opens them to some clients only.
const OTHERS: [(&[&str], &str); 3] = [
    (&["json", "map", "txt", "xml"], "text/plain"),
    (&["pdf"], "application/pdf"),
    (&["zip"], "application/zip"),
];

/// Whether the path names a file while the answer is a page or has no type. An application answers in this way if it
/// does not have the file.
pub(super) fn is_no_file(path: &str, fields: &HeaderMap) -> bool {
    let names_file = usual_type(path).is_some();
    let is_page = |kind: String| matches!(&*kind, "text/html" | "application/xhtml+xml");
    names_file && kind_of(fields).is_none_or(is_page)
}

/// Returns what follows the last dot of the path's last segment.
fn ending_of(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    Some(name.rsplit_once('.')?.1)
}

/// Returns the answer's type, if it has exactly one.
fn kind_of(fields: &HeaderMap) -> Option<String> {
    let mut lines = fields.get_all(header::CONTENT_TYPE).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return None;
    };
    let kind = line.to_str().ok()?.split(';').next()?.trim();
    (!kind.is_empty()).then(|| kind.to_ascii_lowercase())
}
