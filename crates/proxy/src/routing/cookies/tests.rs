use super::*;
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

fn matches(name: TextPattern, value: Option<&str>, line: &str) -> bool {
    let value = value.map(|value| Regex::new(value).expect("valid"));
    let mut fields = HeaderMap::new();
    let line = HeaderValue::from_bytes(line.as_bytes()).expect("a line");
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
        "WP_preview=1",
        "=wp_preview",
    ] {
        let exact = TextPattern::Exact("wp_preview".into());
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
        ("staff=2", false),
        ("staff", false),
        ("staff=%2531", false),
    ] {
        let exact = TextPattern::Exact("staff".into());
        assert_eq!(matches(exact, Some("^1$"), line), expected, "{line}");
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
            let _ = (cookie.may_pass_for(&name), cookie.read());
        }
    }

    #[test]
    fn who_asks_again_hears_the_same(line in "[ab._ %5+=;\\[]{0,30}", name in "[ab_]{1,2}", begins: bool) {
        let name = if begins { TextPattern::Prefix(name) } else { TextPattern::Exact(name) };
        matches(name.clone(), None, &line);
        matches(name, Some("^a"), &line);
    }
}
