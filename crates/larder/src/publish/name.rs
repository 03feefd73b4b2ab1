//! The name of a page's file: pure, from its target and type. `docs/publish.md` has the rules as a table.

use xxhash_rust::xxh3::xxh3_128_with_seed;

/// The folder of what is the command's own.
pub const OWN: &str = ".larder-publish";

/// Longest segment of a name, in bytes; file systems allow 255, some 143.
const LONGEST_SEGMENT: usize = 140;

/// Longest name, in bytes.
const LONGEST: usize = 1024;

/// Endings that web servers run instead of serving.
const RUN: [&str; 22] = [
    "php", "php3", "php4", "php5", "php7", "php8", "phtml", "phar", "phps", "cgi", "pl", "py",
    "rb", "sh", "asp", "aspx", "ashx", "jsp", "jspx", "cfm", "shtml", "lua",
];

/// Endings that say more than their type does, and others of their type.
const ALIASES: &[(&str, &[&str])] = &[
    ("html", &["htm", "xhtml"]),
    ("jpg", &["jpeg", "jpe", "jfif"]),
    ("js", &["mjs", "cjs"]),
    ("txt", &["text", "md", "csv", "log", "asc", "conf", "ini"]),
    ("xml", &["rss", "atom", "rdf", "xsl", "xslt", "xsd", "opml"]),
    ("json", &["map", "webmanifest", "jsonld", "geojson"]),
];

/// The name that a web server without a manifest looks for when it is asked for `target`. `None`: none does, and the page is known
/// to the manifest alone, as [`hidden`].
///
/// What comes out is relative, has neither empty nor dot segments, and holds no control characters.
pub fn preferred(target: &str, kind: Option<&str>) -> Option<String> {
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let (folders, last) = path
        .strip_prefix('/')?
        .rsplit_once('/')
        .unwrap_or(("", path.get(1..)?));
    let mut name = String::new();
    if path.rfind('/') != Some(0) {
        for folder in folders.split('/') {
            name.push_str(&plain(folder)?);
            name.push('/');
        }
    }
    let last = if last.is_empty() {
        String::new()
    } else {
        plain(last)?
    };
    let file = match query {
        Some(query) => with_query(&last, query, kind)?,
        None if last.is_empty() => format!("index.{}", ending(kind)?),
        None => without_query(last, kind)?,
    };
    name.push_str(&file);
    let fits = file.len() <= LONGEST_SEGMENT && name.len() <= LONGEST;
    fits.then_some(name)
}

/// The name of a page that has none of its own: within [`OWN`], by a hash of its target. `again` counts names that others
/// have already.
pub fn hidden(target: &str, kind: Option<&str>, again: u64) -> String {
    let hash = format!("{:032x}", xxh3_128_with_seed(target.as_bytes(), again));
    let (start, _) = hash.split_at(2);
    format!(
        "{OWN}/pages/{start}/{hash}.{}",
        ending(kind).unwrap_or("bin")
    )
}

/// Whether `file` may be a page's: what a manifest names is written and removed. Within [`OWN`] only what [`hidden`] gives.
pub fn is_safe(file: &str) -> bool {
    let mut segments = file.split('/');
    let inside = segments.all(|segment| !matches!(segment, "" | "." | ".."));
    let first = file.split('/').next().unwrap_or_default();
    let own = first
        .get(..OWN.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(OWN));
    let hidden = file
        .strip_prefix(OWN)
        .is_some_and(|rest| rest.starts_with("/pages/"));
    inside && !file.contains('\0') && file.len() <= 2 * LONGEST && (!own || hidden)
}

fn with_query(last: &str, query: &str, kind: Option<&str>) -> Option<String> {
    // Written as it came: nginx and others know it so. A slash would be a folder.
    let simple = |byte: u8| {
        byte.is_ascii_graphic() && !matches!(byte, b'/' | b'\\' | b'"' | b'<' | b'>' | b'|' | b'*')
    };
    if query.is_empty() || !query.bytes().all(simple) {
        return None;
    }
    let own = own_ending(last).filter(|own| !is_run(own));
    Some(format!("{last}?{query}.{}", ending(kind).or(own)?))
}

fn without_query(last: String, kind: Option<&str>) -> Option<String> {
    let own = own_ending(&last);
    let Some(ending) = ending(kind) else {
        return own.is_some_and(|own| !is_run(own)).then_some(last);
    };
    let fits = own.is_some_and(|own| {
        let own = own.to_ascii_lowercase();
        let mut aliases = ALIASES.iter().filter(|(of, _)| *of == ending);
        own == ending
            || aliases.any(|(_, aliases)| aliases.contains(&own.as_str()))
            // An image that says it is text is found by its name; HTML is not, and would be downloaded.
            || (ending != "html" && !is_run(&own) && !matches!(own.as_str(), "html" | "htm" | "xhtml"))
    });
    Some(if fits {
        last
    } else {
        format!("{last}.{ending}")
    })
}

fn is_run(ending: &str) -> bool {
    RUN.iter().any(|run| ending.eq_ignore_ascii_case(run))
}

/// What stands behind the last dot, where that looks like the ending of a file.
fn own_ending(last: &str) -> Option<&str> {
    let (stem, ending) = last.rsplit_once('.')?;
    let looks = !stem.is_empty() && (1..=12).contains(&ending.len());
    (looks && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(ending)
}

/// A segment of a path as a file is named: decoded, as web servers do before they look. `None`: no file is named so, or none
/// should be.
fn plain(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits)
            .ok()
            .filter(|digits| !digits.contains('+'))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    let text = String::from_utf8(bytes).ok()?;
    let odd = |letter: char| letter.is_control() || matches!(letter, '/' | '\\' | '?');
    // Files with a dot before their name rule over web servers, `.htaccess` for one.
    let is_dotted = text.starts_with('.') && text != ".well-known";
    let fits = !text.is_empty() && text.len() <= LONGEST_SEGMENT;
    (fits && !is_dotted && !text.contains(odd)).then_some(text)
}

/// The usual ending of a media type.
fn ending(kind: Option<&str>) -> Option<&'static str> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HTML: Option<&str> = Some("text/html; charset=utf-8");

    #[test]
    #[allow(clippy::too_many_lines, reason = "a table")]
    fn targets_have_names() {
        for (target, kind, name) in [
            ("/", HTML, Some("index.html")),
            ("/news/", HTML, Some("news/index.html")),
            ("/news", HTML, Some("news.html")),
            ("/news.html", HTML, Some("news.html")),
            ("/news.HTM", HTML, Some("news.HTM")),
            ("/a/b/c", HTML, Some("a/b/c.html")),
            ("/v1.2", HTML, Some("v1.2.html")),
            (
                "/feed/",
                Some("application/rss+xml"),
                Some("feed/index.xml"),
            ),
            ("/style.css", Some("text/css"), Some("style.css")),
            ("/style", Some("text/css"), Some("style.css")),
            ("/logo.png", Some("text/plain"), Some("logo.png")),
            ("/photo.jpeg", Some("image/jpeg"), Some("photo.jpeg")),
            (
                "/archive.tar.gz",
                Some("application/gzip"),
                Some("archive.tar.gz"),
            ),
            ("/data", Some("application/x-own"), None),
            (
                "/page.html",
                Some("application/json"),
                Some("page.html.json"),
            ),
            ("/caf%C3%A9", HTML, Some("café.html")),
            ("/100%25", HTML, Some("100%.html")),
            ("/list?page=2", HTML, Some("list?page=2.html")),
            ("/list/?page=2&x=%2F", HTML, Some("list/?page=2&x=%2F.html")),
            ("/?page=2", HTML, Some("?page=2.html")),
            (
                "/style.css?v=3",
                Some("text/css"),
                Some("style.css?v=3.css"),
            ),
            (
                "/font.eot?v=3",
                Some("application/x-own"),
                Some("font.eot?v=3.eot"),
            ),
            // What a web server would run, or obey.
            ("/index.php", HTML, Some("index.php.html")),
            ("/data.php", Some("application/json"), Some("data.php.json")),
            ("/data.php", Some("application/x-own"), None),
            ("/data.php?x", Some("application/x-own"), None),
            ("/.htaccess", Some("text/plain"), None),
            (
                "/.well-known/security.txt",
                Some("text/plain"),
                Some(".well-known/security.txt"),
            ),
            // What would leave the folder, or is no name.
            ("/%2E%2E/x", HTML, None),
            ("/../x", HTML, None),
            ("/a%2F..%2Fb", HTML, None),
            ("/a%5C..%5Cb", HTML, None),
            ("/a%00b", HTML, None),
            ("/a%0Ab", HTML, None),
            ("/%FF", HTML, None),
            ("/%zz", HTML, None),
            ("/%+1", HTML, None),
            ("/a//b", HTML, None),
            ("//evil.example/x", HTML, None),
            ("/a%3Fb=c", HTML, None),
            ("/list?next=/x", HTML, None),
            ("/.larder-publish/pages/x", HTML, None),
            ("/.larder-publish.json", Some("application/json"), None),
        ] {
            assert_eq!(preferred(target, kind).as_deref(), name, "{target}");
        }
        assert_eq!(preferred(&format!("/{}", "x".repeat(200)), HTML), None);
        assert_eq!(
            preferred(&format!("/{}", "xxxxxxxxx/".repeat(200)), HTML),
            None
        );
        assert_eq!(preferred(&format!("/?{}", "x".repeat(200)), HTML), None);
    }

    #[test]
    fn what_may_be_written_and_removed() {
        for (file, safe) in [
            ("index.html", true),
            ("a/b?c=d.html", true),
            (".larder-publish/pages/ab/abcd.html", true),
            (".larder-publish/lock", false),
            (".larder-publish.json", false),
            (".Larder-Publish/journal", false),
            ("../x", false),
            ("a/../../x", false),
            ("/etc/passwd", false),
            ("a//b", false),
            ("./a", false),
            ("", false),
            ("a\0b", false),
        ] {
            assert_eq!(is_safe(file), safe, "{file:?}");
        }
    }

    /// Targets as sites and attackers write them.
    fn any_target() -> impl Strategy<Value = String> {
        r"/(a|B|b|\.|\.\.|%2E|%2F|%5C|%00|%C3%A9|%zz|/|\?|x=1|&|\.html|\.php|index|é|%3F){0,8}"
    }

    proptest! {
        #[test]
        fn names_never_leave_the_folder(target in any_target(), html: bool, again in 0..3_u64) {
            let kind = if html { HTML } else { None };
            let names = [preferred(&target, kind), Some(hidden(&target, kind, again))];
            for name in names.into_iter().flatten() {
                prop_assert!(is_safe(&name), "{}", name);
                prop_assert!(!name.contains(char::is_control), "{}", name);
                prop_assert!(name.split('/').all(|segment| segment.len() <= LONGEST_SEGMENT));
            }
        }

        #[test]
        fn hidden_names_differ(one in any_target(), other in any_target()) {
            if one != other {
                prop_assert_ne!(hidden(&one, HTML, 0), hidden(&other, HTML, 0));
            }
        }
    }
}
