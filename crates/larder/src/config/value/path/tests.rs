use super::*;

fn matches(pattern: &PathPattern, path: &str) -> bool {
    match pattern {
        PathPattern::Exact(exact) => exact == path,
        PathPattern::Prefix(prefix) => path.starts_with(prefix.as_str()),
        PathPattern::Wildcard(regex) | PathPattern::Regex(regex) => regex.is_match(path),
    }
}

#[test]
fn paths() {
    for (pattern, path, wanted) in [
        ("/a", "/a", true),
        ("/a", "/a/", false),
        ("/a/*", "/a/b/c", true),
        ("/a/*", "/a", false),
        ("/a*", "/ab", true),
        ("/*", "/", true),
        ("/u/*/o", "/u/1/o", true),
        ("/u/*/o", "/u/1/2/o", false),
        ("/u/**/o", "/u/1/2/o", true),
        ("*.css", "/a/b.css", true),
        ("*.css", "/a/b.css.map", false),
        ("/a.b/*/c", "/aXb/1/c", false),
        ("~ /v[0-9]+/.*", "/v12/x", true),
        ("~ /v[0-9]+", "/v12/x", false),
        ("~ ^/v[0-9]+$", "/v12", true),
        ("~ /a|/b", "/bc", false),
    ] {
        let parsed = PathPattern::parse(pattern).unwrap();
        assert_eq!(matches(&parsed, path), wanted, "{pattern} {path}");
    }
}

#[test]
fn paths_are_compared_as_clients_send_them() {
    for (pattern, path) in [
        ("/é/*", "/%C3%A9/x"),
        ("/a b", "/a%20b"),
        ("/%c3%a9", "/%C3%A9"),
        ("/%61/%7Eb/*", "/a/~b/c"),
        ("*/ü.css", "/a/b/%C3%BC.css"),
        ("/ä/*/ö", "/%C3%A4/x/%C3%B6"),
        ("/a`", "/a%60"),
        ("~ /%C3%BC.*", "/%C3%BCx"),
        ("~ (?i)/%c3%bc", "/%C3%BC"),
        ("~ (?x) /a [0-9]", "/a1"),
        // What a path can have in both forms.
        ("/a%3Ab", "/a%3Ab"),
        ("/a%3ab", "/a:b"),
        ("/%40a%3A/*", "/%40a:/x/y"),
        ("/%40a%3A/*", "/@a%3A/x"),
        ("/a(%29/*/%2Bc", "/a()/x/+c"),
        ("*%2C.css", "/a/b,.css"),
        ("/100%25/*", "/100%/x"),
        ("/c%7Bd%7D", "/c{d}"),
    ] {
        let parsed = PathPattern::parse(pattern).unwrap();
        assert!(matches(&parsed, path), "{pattern} {path}");
    }
    for (pattern, path) in [
        ("/a%2Fb", "/a/b"),
        ("/a%22", "/a\""),
        ("/a%3A/*", "/a:"),
        ("/%2A/b%3A", "/x/b:"),
        ("/%40/*/b", "/@/x/y/b"),
    ] {
        let parsed = PathPattern::parse(pattern).unwrap();
        assert!(!matches(&parsed, path), "{pattern} {path}");
    }
    // Names of files are not percent-encoded.
    for (pattern, path) in [("/é b/*", "/é b/x"), ("~ .*/ü", "/a/ü"), ("/a%3A", "/a%3A")] {
        let FilePattern(parsed) = FilePattern::parse(pattern).unwrap();
        assert!(matches(&parsed, path), "{pattern} {path}");
    }
}

#[test]
fn what_may_be_a_path() {
    for text in [
        "/a b",
        "/a, b",
        "/a *.pdf",
        "/pages/[slug].js",
        "/odata/$metadata",
        "/.*",
        "/feed.*",
        "/a/.*",
        "/w_200,h_300/*",
        "~ (en|de)?/x",
        "~ (/en|/de)/x",
        "~ (?:/en|/de)/x",
        "~ [^.]+",
        "~ .*admin",
        "~ (?i)(/a|/b)",
        r"~ \.?/x",
    ] {
        assert!(PathPattern::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn what_is_no_path() {
    for (text, what, instead) in [
        ("api", "a path begins", Some("\"/api\"")),
        (
            "http://example.com/api/*",
            "match it with `host`",
            Some("\"/api/*\""),
        ),
        (
            "https://example.com",
            "match it with `host`",
            Some("\"/*\""),
        ),
        ("/a?b=c", "a path has no query", Some("\"/a\"")),
        (
            r"~ \.php$",
            "must match the whole path",
            Some(r#""~ .*\\.php""#),
        ),
        ("~ ^/api", "not only its beginning", Some("\"~ /api.*\"")),
        ("^/api", "begins with `~`", Some("\"~ /api.*\"")),
        (
            r"~* \.(png|jpg)$",
            "upper and lower case",
            Some(r#""~ (?i).*\\.(png|jpg)""#),
        ),
        (
            "= /exact",
            "matches exactly without `=`",
            Some("\"/exact\""),
        ),
        ("=/exact", "matches exactly without `=`", Some("\"/exact\"")),
        ("^~ /images/", "with `*` at the end", Some("\"/images/*\"")),
        ("~ /(", "unclosed group", None),
        ("~", "is empty", Some(r#""~ /v[0-9]+/.*""#)),
        (
            "~ /ü.*",
            "clients send `ü` as `%C3%BC`",
            Some("\"~ /%C3%BC.*\""),
        ),
        (
            "~ /ü+ x",
            "clients send `ü` as `%C3%BC`",
            Some("\"~ /(%C3%BC)+%20x\""),
        ),
        ("~ /[äö]", "parentheses", None),
        ("~ /%c3%bc", "normal form", Some("\"~ /%C3%BC\"")),
        ("~ /%41%2eb", "normal form", Some(r#""~ /A\\.b""#)),
        (
            "/users/{id}",
            "a placeholder for a segment",
            Some("\"/users/*\""),
        ),
        (
            "/u/<int:id>/{x}/o",
            "a placeholder for a segment",
            Some("\"/u/*/*/o\""),
        ),
        (
            "*.{jpg,png}",
            "does not stand for either",
            Some("\"*.jpg\", \"*.png\""),
        ),
        (
            "/{a, b}/x{,.html}",
            "does not stand for either",
            Some("\"/a/x\", \"/a/x.html\", \"/b/x\", \"/b/x.html\""),
        ),
        ("/{id}/{a,b}", "does not stand for either", None),
        ("/{a,b,c}{a,b,c}{a,b}", "does not stand for either", None),
        ("/{id:[a-z]{2,3}}", "a placeholder for a segment", None),
        ("/v[0-9]{4}/x", "begin with `~`", Some("\"~ /v[0-9]{4}/x\"")),
        ("/v[0-9]{2,3}", "begin with `~`", Some("\"~ /v[0-9]{2,3}\"")),
        ("/a|/b", "begin with `~`", Some("\"~ /a|/b\"")),
        (r"/v\d+", "begin with `~`", Some(r#""~ /v\\d+""#)),
        ("*.css|*.js", "begin with `~`", Some("\"*.css\", \"*.js\"")),
        (
            "/admin*|/login/*",
            "begin with `~`",
            Some("\"/admin*\", \"/login/*\""),
        ),
        ("/(en|de)/*", "begin with `~`", Some("\"~ /(en|de)/.*\"")),
        (
            r"/v\d+/*/x*",
            "begin with `~`",
            Some(r#""~ /v\\d+/[^/]*/x.*""#),
        ),
        (
            "(a|b)/*.css",
            "a regular expression begins with `~`",
            Some("\"~ .*(a|b)/*.css.*\""),
        ),
        ("/v[0-9]/x", "begin with `~`", Some("\"~ /v[0-9]/x\"")),
        ("/admin/.+", "begin with `~`", Some("\"~ /admin/.+\"")),
        ("/admin$", "begin with `~`", Some("\"~ /admin$\"")),
        (r"\.php$", "begins with `~`", Some("\"*.php\"")),
        (
            r"\.(png|jpg)$",
            "begins with `~`",
            Some(r#""~ .*\\.(png|jpg)""#),
        ),
        (
            "admin|login",
            "begins with `~`",
            Some("\"~ .*admin.*|.*login.*\""),
        ),
        (
            "~ admin",
            "must match the whole path",
            Some("\"~ .*admin.*\""),
        ),
        (
            "~ (admin|login)",
            "must match the whole path",
            Some("\"~ .*(admin|login).*\""),
        ),
        (
            "~ ^admin.*",
            "must match the whole path",
            Some("\"~ /admin.*\""),
        ),
        (
            "~ ^(?:en|de)/x$",
            "must match the whole path",
            Some("\"~ /(?:en|de)/x\""),
        ),
        (
            "~ /admin|login",
            "must match the whole path",
            Some("\"~ .*/admin.*|.*login.*\""),
        ),
        ("~ (^admin|login)", "must match the whole path", None),
        (
            "/admin/*, /login*",
            "more than one path",
            Some("\"/admin/*\", \"/login*\""),
        ),
        (
            "/admin/* /login*",
            "more than one path",
            Some("\"/admin/*\", \"/login*\""),
        ),
        (
            "*.css *.js",
            "more than one path",
            Some("\"*.css\", \"*.js\""),
        ),
        (r"~ /\w{900}{900}", "larger than", None),
    ] {
        let wrong = PathPattern::parse(text).unwrap_err();
        assert!(wrong.what.contains(what), "{text}: {wrong}");
        assert_eq!(wrong.instead.as_deref(), instead, "{text}");
    }
}

/// The names of files have signs of expressions as seldom as the paths of requests.
#[test]
fn what_is_no_path_of_a_file() {
    for (text, what, instead) in [
        (
            "*.{sql,bak}",
            "does not stand for either",
            Some("\"*.sql\", \"*.bak\""),
        ),
        ("/é {a,b}", "for either", Some("\"/é a\", \"/é b\"")),
        ("/u/{id}.php", "a placeholder", Some("\"/u/*.php\"")),
        ("/a|/é b", "begin with `~`", Some("\"~ /a|/é b\"")),
        ("/v[0-9]+/x", "begin with `~`", Some("\"~ /v[0-9]+/x\"")),
        (
            "/a/*, /b/*",
            "more than one path",
            Some("\"/a/*\", \"/b/*\""),
        ),
    ] {
        let wrong = FilePattern::parse(text).unwrap_err();
        assert!(wrong.what.contains(what), "{text}: {wrong}");
        assert_eq!(wrong.instead.as_deref(), instead, "{text}");
    }
}
