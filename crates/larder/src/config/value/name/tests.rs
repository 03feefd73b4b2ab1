use super::*;

#[test]
fn expressions_that_would_hardly_match() {
    let instead = |wrong: Wrong| wrong.instead.unwrap();
    for (pattern, meant) in [
        ("~ ^wordpress_", "~ wordpress_.*"),
        ("~ (?i)^wp|^sess", "~ (?i)wp.*|sess.*"),
        ("~ ab=B", "name=~ value"),
        ("~ session=.*", "name=~ value"),
        ("group=~ ^admin", "group=~ admin.*"),
        ("~* x", "~ (?i).*x.*"),
        ("~* ^x$", "~ (?i)x"),
        ("group=~ admin", "group=~ .*admin.*"),
        ("group=~* admin", "group=~ (?i).*admin.*"),
    ] {
        let wrong = CookiePattern::parse(pattern).unwrap_err();
        assert_eq!(instead(wrong), format!("{meant:?}"), "{pattern}");
    }
    for (pattern, meant) in [
        ("User-Agent: ~ ^Mozilla", "User-Agent: ~ Mozilla.*"),
        ("User-Agent: ~* bot", "User-Agent: ~ (?i).*bot.*"),
        ("User-Agent: ~ bot", "User-Agent: ~ .*bot.*"),
        ("User-Agent: ~bot$", "User-Agent: ~ .*bot"),
        (
            "User-Agent: ~ (?i)bot|crawl",
            "User-Agent: ~ (?i).*bot.*|.*crawl.*",
        ),
        ("X-Kind: ~ bot", "X-Kind: ~ .*bot.*"),
        ("User-Agent :~(?i)^curl", "User-Agent: ~ (?i)curl.*"),
        ("User-Agent: .*bot.*", "User-Agent: ~ .*bot.*"),
        ("Accept: ^text/", "Accept: ~ text/.*"),
        ("X-Kind: .*", "X-Kind"),
    ] {
        let wrong = FieldPattern::parse(pattern).unwrap_err();
        assert_eq!(instead(wrong), format!("{meant:?}"), "{pattern}");
    }
    for pattern in [
        "User-Agent: ~ ^Mozilla.*",
        "User-Agent: ~ ^bot$",
        "User-Agent: bot",
        "User-Agent: ~",
        "X-Requested-With: ~ (?i)xmlhttprequest",
        "X-Kind: ~ a|b",
    ] {
        assert!(FieldPattern::parse(pattern).is_ok(), "{pattern}");
    }
}

#[test]
fn what_a_cookie_may_be_called() {
    for pattern in [
        "~ ^wordpress_.*",
        "~ ^a$",
        "~ (dev|test)_.*",
        "preview=~ [01]",
        "~ ^session$",
        "~ (session)",
        "session=~ ^$",
        "Drupal.visitor.*",
        "a.*b",
        "cookie[three]",
        "user[*",
        "page[]*",
        "$price",
        "a:b",
        "a=b|c",
        "a={b,c}",
        "a{b}",
    ] {
        assert!(CookiePattern::parse(pattern).is_ok(), "{pattern}");
    }
}

#[test]
fn what_no_cookie_is_called() {
    for (pattern, meant) in [
        ("~ wordpress_logged_in", "~ .*wordpress_logged_in.*"),
        ("~ session$", "~ .*session"),
        ("^wordpress", "~ wordpress.*"),
        ("^session$", "session"),
        ("^session=", "session"),
        ("SESS|logged_in", "~ .*SESS.*|.*logged_in.*"),
        ("wp_logged_in_[^=]*=", "~ .*wp_logged_in_.*"),
        (r"wp_\d+", r"~ .*wp_\d+.*"),
        ("wp_[a-f0-9]+", "~ .*wp_[a-f0-9]+.*"),
        ("(?i)sess", "~ (?i).*sess.*"),
        ("wordpress_.*", "wordpress_*"),
        (".*session.*", "*session*"),
        ("session=", "session"),
        ("session=.*", "session"),
        ("group=^admin", "group=~ admin.*"),
        ("group=.*admin.*", "group=~ .*admin.*"),
        ("Cookie: session", "session"),
        ("cookie: session=1", "session=1"),
        ("Cookie:session", "session"),
        ("preview: 1", "preview=1"),
        (" session", "session"),
    ] {
        let wrong = CookiePattern::parse(pattern).unwrap_err();
        let meant = format!("{meant:?}");
        assert_eq!(wrong.instead, Some(meant), "{pattern}: {wrong}");
    }
    for (pattern, meant) in [
        ("{a,b}", "\"a\", \"b\""),
        ("wp_{a, b}_*=1", "\"wp_a_*=1\", \"wp_b_*=1\""),
    ] {
        let wrong = CookiePattern::parse(pattern).unwrap_err();
        assert_eq!(wrong.instead.as_deref(), Some(meant), "{pattern}: {wrong}");
    }
}

#[test]
fn fields() {
    for (pattern, value, wanted) in [
        ("Bypass-Cache: 1", "1", true),
        ("Bypass-Cache: 1", "10", false),
        ("Bypass-Cache:1", "1", true),
        ("Accept: *json*", "application/json;q=1", true),
        ("Accept: *json*", "Application/JSON", true),
        ("Accept: *JSON*", "application/json", true),
        ("Accept: application/json", "application/JSON", true),
        ("Accept: application/json", "application/jsonp", false),
        ("accept-language: de*", "DE-at", true),
        ("Content-Type: text/*", "Text/HTML", true),
        ("Accept: ~ .*json.*", "application/JSON", false),
        ("Accept: ~ (?i).*json.*", "application/JSON", true),
        ("X-Accept: json", "JSON", false),
        ("User-Agent: ~ .*[Bb]ot.*", "a bot", true),
    ] {
        let field = FieldPattern::parse(pattern).unwrap();
        assert_eq!(field.value.unwrap().is_match(value), wanted, "{pattern}");
    }
    assert!(FieldPattern::parse("X-Debug").unwrap().value.is_none());
    FieldPattern::parse("X Debug: 1").unwrap_err();
    FieldPattern::parse("X-Debug: ~ (").unwrap_err();
}

#[test]
fn a_host_is_not_matched_as_a_header() {
    for (pattern, meant) in [
        ("Host: a.test", "`host = \"a.test\"`"),
        ("host: *.a.test", "`host = \"*.a.test\"`"),
        ("HOST:~ a|b", "`host = \"a.example\"`"),
        ("Host", "`host = \"a.example\"`"),
    ] {
        let wrong = FieldPattern::parse(pattern).unwrap_err();
        assert!(wrong.what.contains(meant), "{pattern}: {wrong}");
    }
    FieldPattern::parse("X-Forwarded-Host: a.test").unwrap();
}

#[test]
fn an_expression_for_the_name_of_a_cookie_matches_in_any_case() {
    for (pattern, name, wanted) in [
        ("~ sess.*", "SESSID", true),
        ("~ SESS.*", "sessid", true),
        ("a*id", "A-ID", true),
        ("~ (?-i)sess", "SESS", false),
        ("~ (?x) sess # id", "SESS", true),
        ("~ (sess)", "SESSID", false),
    ] {
        let CookiePattern(read) = CookiePattern::parse(pattern).unwrap();
        assert_eq!(read.name.matches_in_any_case(name), wanted, "{pattern}");
    }
    let CookiePattern(read) = CookiePattern::parse("~ sess.*").unwrap();
    assert!(!read.name.matches("SESSID"), "as it is written");
    let valued = CookiePattern::parse("group=~ admin.*").unwrap().0.value;
    assert!(!valued.unwrap().is_match("Admin"), "case counts in values");
}

#[test]
fn names() {
    let shown = |text| CookiePattern::parse(text).map(|one| format!("{:?}", one.0.name));
    assert_eq!(shown("session").unwrap(), "Exact(\"session\")");
    assert_eq!(shown("wp_*").unwrap(), "Prefix(\"wp_\")");
    assert!(shown("~ a|b").unwrap().starts_with("CookieRegex"));
    assert!(shown("a*b").unwrap().starts_with("CookieRegex"));
    let CookiePattern(valued) = CookiePattern::parse("preview=1").unwrap();
    assert!(valued.value.unwrap().is_match("1"));
    shown("=1").unwrap_err();
    let wrong = shown("a;b").unwrap_err();
    assert_eq!(wrong.instead.as_deref(), Some("\"a\", \"b\""), "{wrong}");
    let wrong = shown("session, other").unwrap_err().for_whole_list();
    let list = "[\"session\", \"other\"]";
    assert_eq!(wrong.instead.as_deref(), Some(list), "{wrong}");
    for none in ["|", "^", " ", ",", "session=; =x", "$"] {
        assert_eq!(shown(none).unwrap_err().instead, None, "{none}");
    }
}
