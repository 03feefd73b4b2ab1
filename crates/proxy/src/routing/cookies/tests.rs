use super::*;
use crate::sample::fields;
use http::HeaderValue;
use proptest::prelude::*;

fn read(line: &str) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let all = cookies(line.as_bytes());
    all.map(|cookie| (text(cookie.name()), text(cookie.value)))
        .collect()
}

#[test]
fn cookies_are_split_as_browsers_and_applications_have_them() {
    let found = read("a=1; b=2;c =3; junk; d=;; ;=e;f=g=h");
    let expected = [
        ("a", "1"),
        ("b", "2"),
        ("c", "3"),
        ("junk", ""),
        ("d", ""),
        ("", "e"),
        ("f", "g=h"),
    ];
    assert_eq!(
        found,
        expected.map(|(name, value)| (name.into(), value.into()))
    );
    assert_eq!(read(""), []);
}

fn matches(name: TextPattern, value: Option<&str>, line: impl AsRef<[u8]>) -> bool {
    let value = value.map(|value| Regex::new(value).expect("valid"));
    let mut fields = HeaderMap::new();
    let line = HeaderValue::from_bytes(line.as_ref()).expect("a line");
    fields.insert(header::COOKIE, line);
    let patterns = [NamePattern { name, value }];
    let all = Cookies::of(&fields);
    let [first, again] = [(); 2].map(|()| all.any_matches(&patterns));
    assert_eq!(first, again, "{fields:?}");
    any_cookie_matches(&patterns, &fields) && first
}

/// As PHP 8.2 reads them (`php -S`), or as versions before 7.4.11 did.
#[test]
fn a_cookie_matches_by_each_name_that_php_has_for_it() {
    for line in [
        "wp_preview=1",
        "wp_preview",
        "a=1;wp_preview",
        "wp_preview;a=1",
        "wp.preview=1",
        "wp preview=1",
        "wp[preview=1",
        "wp_preview =1",
        "wp_preview[]=1",
        "wp.preview[x]=1",
        "wp_preview[x].y=1",
        "wp%5Fpreview=1",
        "wp%2epreview=1",
        "wp+preview=1",
        "%20wp_preview=1",
        "é; wp_preview=1",
        "WP_Preview=1",
        "WP.PREVIEW[x]=1",
        "a=1 Wp_preview=1",
    ] {
        let exact = TextPattern::Exact("wp_preview".into());
        assert!(matches(exact, None, line), "{line}");
        let prefix = TextPattern::Prefix("wp_".into());
        assert!(matches(prefix, None, line), "{line}");
    }
    let underscored = || TextPattern::Prefix("wp_preview_".into());
    for line in [
        "wp_preview =1",
        "wp.preview.=1",
        "wp_preview[=1",
        "wp_preview[x=1",
    ] {
        assert!(matches(underscored(), None, line), "{line}");
    }
    for line in [
        "wp=1",
        "wp[preview]=1",
        "wp-preview=1",
        "wp%preview=1",
        "a=wp_preview",
        "WP_previews=1",
        "=wp_preview",
    ] {
        let exact = TextPattern::Exact("wp_preview".into());
        assert!(!matches(exact, None, line), "{line}");
    }
}

/// As Jetty and ASP.NET read names. A value is compared as it is.
#[test]
fn case_does_not_count_in_the_name_of_a_cookie() {
    let exact = || TextPattern::Exact("JSESSIONID".into());
    let prefix = || TextPattern::Prefix("wp_É".into());
    for (name, value, line, expected) in [
        (exact(), None, "jsessionid=1", true),
        (exact(), None, "a=1; JSessionId=1", true),
        (exact(), None, "jsessionid2=1", false),
        (exact(), Some("^a$"), "jsessionid=a", true),
        (exact(), Some("^a$"), "jsessionid=A", false),
        (prefix(), None, "WP_Éa=1", true),
        (prefix(), None, "WP_éa=1", false),
        (prefix(), None, "WP_=1", false),
    ] {
        assert_eq!(matches(name, value, line), expected, "{line}");
    }
    let wanted = [NamePattern {
        name: exact(),
        value: None,
    }];
    let sent = fields(&[
        ("cookie", "jsessionid=1"),
        ("set-cookie", "JSessionID=1; Path=/"),
    ]);
    assert!(sets_any_cookie(&wanted, &sent));
    assert!(!any_cookie_is(&wanted, &sent));
}

/// As Python's `str.strip`, JavaScript's `trim` and their kin read them, in UTF-8 or in Latin-1.
#[test]
fn a_cookie_matches_without_the_white_space_that_unicode_has() {
    let whole = Regex::new("^session$").expect("valid");
    for line in [
        &b"\xa0session=1"[..],
        b"\x85session=1",
        b"session\xa0=1",
        b"a=1;\xa0 \xa0session\x85\t=1",
        b"\xc2\xa0session=1",
        b"\xc2\x85session=1",
        b"a=1; session\xe3\x80\x80=1",
        b"\xe2\x80\x89session\xe2\x80\xa8=1",
        b"\xef\xbb\xbfsession=1",
        b"\xffsession=1",
    ] {
        for name in [
            TextPattern::Exact("session".into()),
            TextPattern::Prefix("sess".into()),
            TextPattern::Regex(whole.clone()),
        ] {
            assert!(matches(name, None, line), "{}", line.escape_ascii());
        }
    }
    let named = |name: &str| TextPattern::Exact(name.into());
    for line in ["é=1", "\u{a0}é=1", "é\u{2003} =1"] {
        assert!(matches(named("é"), None, line), "{line}");
    }
    for line in ["ses\u{a0}sion=1", "a=\u{a0}session", "sessio\u{a0}n"] {
        assert!(!matches(named("session"), None, line), "{line}");
    }
}

/// As `SimpleCookie` of Python 3.11, and others that take a comma or a closing quotation mark for an end.
#[test]
fn a_cookie_matches_that_follows_within_another() {
    for line in [
        "a=1 session=2",
        "a=1\tsession=2",
        "a=1  b=2 session=3",
        "a=1 session =2",
        "a=1 session \t = 2",
        "a=\"1 2\" session=3",
        "a=\"1\\\" 2\" session=3",
        "a=\"1; b=2\" session=3",
        "a=Mon, 01-Jan-2030 00:00:00 GMT session=2",
        "a=1 session=\"2 3\"",
        "a=1; secure session=2",
        "$Version session=2",
        "$Version,session=2",
        "a= 1 session=2",
        "a= session=2",
        "a=1,session=2",
        "a=1, session=2",
        "a=\"1\"session=2",
        "a=1 \u{a0}session=2",
        "b; a=1 session=2;c",
    ] {
        let exact = || TextPattern::Exact("session".into());
        assert!(matches(exact(), None, line), "{line}");
        assert!(matches(TextPattern::Prefix("sess".into()), None, line));
        assert!(!matches(exact(), Some("."), line), "nobody knows: {line}");
    }
    for line in [
        "a=1 session",
        "a=session=2",
        "a=1 b=session",
        "a=1session=2",
        "a=1 =session",
        "a b=1 2",
    ] {
        let exact = TextPattern::Exact("session".into());
        assert!(!matches(exact, None, line), "{line}");
    }
}

#[test]
fn a_value_matches_as_it_is_written_and_as_it_is_read() {
    for (line, expected) in [
        ("staff=1", true),
        ("staff=%31", true),
        ("staff=\"1\"", true),
        ("staff=\"%31\"", true),
        ("staff= 1", true),
        ("staff=\u{a0}1", true),
        ("staff=1\u{3000}", true),
        ("staff=1 2", true),
        ("staff=1\tb=2", true),
        ("staff=1, 2", true),
        ("staff=\"1\" 2", true),
        ("staff=\"1\"2", true),
        ("staff=\"\\061\"", true),
        ("staff=\"\\1\"", true),
        ("staff=\"\\1\\\"\"", false),
        ("staff=2 1", false),
        ("staff=12", false),
        ("staff=1.0", false),
        ("staff=2", false),
        ("staff", false),
        ("staff=%2531", false),
    ] {
        let exact = TextPattern::Exact("staff".into());
        assert_eq!(matches(exact, Some("^1$"), line), expected, "{line}");
    }
}

/// A name or a value that only some applications read so is none.
#[test]
fn a_cookie_is_one_as_it_is_written() {
    let wanted = [NamePattern {
        name: TextPattern::Exact("wp_beta".into()),
        value: Some(Regex::new("^1$").expect("valid")),
    }];
    for (line, expected) in [
        ("wp_beta=1", true),
        ("a=2;wp_beta=1;b", true),
        ("wp_beta=2", false),
        ("wp_beta", false),
        ("wp_beta=%31", false),
        ("wp_beta=\"1\"", false),
        ("wp_beta= 1", false),
        ("wp_beta=1 2", false),
        ("wp.beta=1", false),
        ("Wp_beta=1", false),
        ("a=2 wp_beta=1", false),
        ("a=\u{a0}wp_beta=1", false),
    ] {
        let sent = fields(&[("cookie", line)]);
        assert_eq!(any_cookie_is(&wanted, &sent), expected, "{line}");
    }
    let with_any_value = wanted.map(|wanted| NamePattern {
        value: None,
        ..wanted
    });
    for (line, expected) in [
        ("wp_beta=", true),
        ("wp_beta", false),
        ("a=1; wp_beta ", false),
    ] {
        let sent = fields(&[("cookie", line)]);
        assert_eq!(any_cookie_is(&with_any_value, &sent), expected, "{line}");
        assert!(any_cookie_matches(&with_any_value, &sent), "{line}");
    }
}

proptest! {
    /// Whatever else is in the line, cookies as browsers write them are found by their own names.
    #[test]
    fn any_line(line: Vec<u8>, name in "[a-z_]{1,9}", value in "[a-z0-9]{0,9}") {
        let line = [&line[..], format!("; {name}={value}").as_bytes()].concat();
        let last = cookies(&line).last();
        prop_assert_eq!(last.map(|last| (last.name(), last.value)), Some((name.as_bytes(), value.as_bytes())));
        prop_assert!(last.is_some_and(|last| !last.may_pass_for(&name)));
        for cookie in cookies(&line) {
            let _ = (cookie.may_pass_for(&name), cookie.values());
        }
    }

    #[test]
    fn who_asks_again_hears_the_same(line in "[ab._ ,\"\\\\é%5+=;\\[]{0,30}", name in "[ab_]{1,2}", begins: bool) {
        let name = if begins { TextPattern::Prefix(name) } else { TextPattern::Exact(name) };
        matches(name.clone(), None, &line);
        matches(name, Some("^a"), &line);
    }
}
