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
        // Names that a web server would run, or obey.
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
        // Documents whose scripts a browser would run, of types that have none.
        ("/up/a.html", Some("application/octet-stream"), None),
        ("/up/a.HTML", Some("application/x-download"), None),
        ("/up/a.xhtml", Some("application/octet-stream"), None),
        ("/up/a.xht", Some("image/png"), Some("up/a.xht.png")),
        ("/up/a.svg", Some("text/plain"), Some("up/a.svg.txt")),
        ("/up/a.svgz", Some("application/gzip"), None),
        ("/up/a.xml", Some("application/json"), Some("up/a.xml.json")),
        ("/up/a.rss", Some("text/plain"), Some("up/a.rss.txt")),
        ("/up/a.html", None, None),
        ("/up/a.html.x1", Some("application/octet-stream"), None),
        (
            "/up/a.html.x1",
            Some("text/plain"),
            Some("up/a.html.x1.txt"),
        ),
        ("/up/a.php.x1", Some("application/octet-stream"), None),
        ("/up/a.html?x=1", Some("application/octet-stream"), None),
        ("/up/a.x1?x=.html", Some("application/octet-stream"), None),
        (
            "/up/a.html?x=1",
            Some("text/plain"),
            Some("up/a.html?x=1.txt"),
        ),
        ("/a.svg", Some("image/svg+xml"), Some("a.svg")),
        ("/a.svgz", Some("image/svg+xml"), Some("a.svgz")),
        ("/a.rss", Some("application/rss+xml"), Some("a.rss")),
        ("/a.mml", Some("application/mathml+xml"), Some("a.mml")),
        (
            "/sitemap.xml.gz",
            Some("application/gzip"),
            Some("sitemap.xml.gz"),
        ),
        ("/app.svg.js", Some("text/javascript"), Some("app.svg.js")),
        // Names that would leave the folder, or are none.
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
fn what_is_downloaded_is_told_to_be_no_document() {
    let svg = Some("image/svg+xml");
    for (kind, disposition, expected) in [
        (HTML, None, HTML),
        (HTML, Some("inline"), HTML),
        (HTML, Some("Inline; filename=\"a.html\""), HTML),
        (HTML, Some("attachment"), None),
        (svg, Some("ATTACHMENT; filename=a.svg"), None),
        // RFC 6266 section 4.2: what is not known is downloaded.
        (HTML, Some("other"), None),
        (Some("image/png"), Some("attachment"), Some("image/png")),
        (None, Some("attachment"), None),
    ] {
        assert_eq!(
            told(kind, disposition),
            expected,
            "{kind:?} {disposition:?}"
        );
    }
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
