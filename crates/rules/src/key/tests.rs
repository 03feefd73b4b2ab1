use super::*;
use proptest::prelude::*;

#[expect(clippy::ptr_arg, reason = "whether it is borrowed is the question")]
fn is_borrowed(text: &Cow<'_, str>) -> bool {
    matches!(text, Cow::Borrowed(_))
}

/// RFC 3986 section 6.2.2.2: "percent-encoded octets ... that corresponds to an unreserved character ... should be
/// normalized by decoding"; section 6.2.2.1: "should be normalized to use uppercase letters for the digits A-F".
#[test]
fn only_spellings_of_the_same_byte_are_joined() {
    for (written, expected) in [
        ("/%7Euser", "/~user"),
        ("/%41%62%30%2D%2e%5F", "/Ab0-._"),
        ("/a%2fb", "/a%2Fb"),
        ("/%e2%82%ac", "/%E2%82%AC"),
        ("/a%2Fb%20c", "/a%2Fb%20c"),
        ("/a/./b/../c//d", "/a/./b/../c//d"),
        ("/%2e%2e/x", "/../x"),
        ("/A/b", "/A/b"),
        ("q=%26&r=+", "q=%26&r=+"),
        ("/%", "/%"),
        ("/%4", "/%4"),
        ("/%zz%41", "/%zzA"),
        ("/é%41", "/%C3%A9A"),
        ("/caf%c3%a9", "/caf%C3%A9"),
        ("/%é%", "/%%C3%A9%"),
        ("/<a>?\"`%41", "/%3Ca%3E?%22%60A"),
        // Decoded bytes must not complete a bare percent sign.
        ("/%%341", "/%%341"),
        ("/%4%31", "/%4%31"),
        ("/%%34%31", "/%%341"),
        ("%41=1", "A=1"),
        ("/%%7A", "/%z"),
        ("/%%2D%41", "/%-%41"),
        ("/%25%34%31", "/%2541"),
    ] {
        assert_eq!(normalize(written), expected, "{written}");
    }
}

#[test]
fn nothing_to_do_is_borrowed() {
    for part in ["/a/b", "", "/%20%2F", "/%", "a=1&b=2"] {
        assert!(is_borrowed(&normalize(part)), "{part}");
    }
}

/// RFC 9110 section 4.2.3: scheme and host are case-insensitive, the default port is the same as none.
#[test]
fn hosts_have_one_spelling() {
    for (authority, scheme, expected) in [
        ("a.example", "http", Some("a.example")),
        ("A.Example", "http", Some("a.example")),
        ("a.example:80", "http", Some("a.example")),
        ("a.example:0080", "HTTP", Some("a.example")),
        ("a.example:", "http", Some("a.example")),
        ("a.example:443", "https", Some("a.example")),
        ("a.example:80", "https", Some("a.example:80")),
        ("a.example:08080", "http", Some("a.example:8080")),
        ("a.example:0", "http", Some("a.example:0")),
        ("a.example:00", "http", Some("a.example:0")),
        ("a.example.", "http", Some("a.example")),
        ("A.example.:8080", "http", Some("a.example:8080")),
        ("a.example.:8080", "http", Some("a.example:8080")),
        ("a.example:443", "http", Some("a.example:443")),
        ("a!b;c.example", "http", Some("a!b;c.example")),
        ("a.example,b.example", "http", None),
        ("127.0.0.1:8080", "http", Some("127.0.0.1:8080")),
        ("[::1]", "http", Some("[::1]")),
        ("[0:0::0001]:80", "http", Some("[::1]")),
        ("[2001:DB8::1]:8443", "https", Some("[2001:db8::1]:8443")),
        ("a_b.example", "http", Some("a_b.example")),
        ("", "http", None),
        (".", "http", None),
        ("a..", "http", None),
        (":80", "http", None),
        ("user@a.example", "http", None),
        ("a b", "http", None),
        ("a\t", "http", None),
        ("a\0", "http", None),
        ("a/b", "http", None),
        ("a?b", "http", None),
        ("a%41", "http", None),
        ("é.example", "http", None),
        ("a:65536", "http", None),
        ("a:+80", "http", None),
        ("a:b", "http", None),
        ("a:80:80", "http", None),
        ("[::1", "http", None),
        ("[]", "http", None),
        ("[::1]x", "http", None),
        ("[fe80::1%25eth0]", "http", None),
        ("[1.2.3.4]", "http", None),
        ("::1", "http", None),
    ] {
        let host = normalize_host(authority, scheme);
        assert_eq!(host.as_deref(), expected, "{authority}");
        if expected == Some(authority) {
            assert!(host.as_ref().is_some_and(is_borrowed), "{authority}");
        }
    }
}

fn patterns(written: &[&str]) -> Vec<ParamPattern> {
    written.iter().copied().map(ParamPattern::parse).collect()
}

/// URL Standard section 5.1.
#[test]
fn names_as_an_application_reads_them() {
    for (coded, plain) in [
        ("a%5B%5d+b", "a[] b"),
        ("%", "%"),
        ("%4", "%4"),
        ("%4g%g4%zb+", "%4g%g4%zb "),
        ("%%41", "%A"),
    ] {
        let read: Vec<_> = decoded(coded.as_bytes()).collect();
        assert_eq!(read, plain.as_bytes(), "{coded}");
    }
}

#[test]
fn queries_as_chosen() {
    use QueryChoice::{All, Except, None as Nothing, Only};
    let only = |written| Only(patterns(written));
    let except = |written| Except(patterns(written));
    for (query, choice, sort, expected) in [
        (None, All, true, None),
        (Some(""), All, false, Some("")),
        (Some("b=1&a=2"), All, false, Some("b=1&a=2")),
        (Some("b=1&a=2"), All, true, Some("a=2&b=1")),
        (Some("b=2&a=x&b=1&a"), All, true, Some("a=x&a&b=2&b=1")),
        (Some("a=1"), Nothing, false, None),
        (Some("a=1&b=2&ab=3"), only(&["a"]), false, Some("a=1")),
        (Some("a=1&b=2&ab=3"), only(&["a*"]), false, Some("a=1&ab=3")),
        (Some("b=2"), only(&["a"]), false, None),
        (Some("a=1&b=2"), except(&["a"]), false, Some("b=2")),
        (Some("a=1&a=2"), except(&["a"]), false, None),
        (Some("c=1&a=2&b"), except(&["a"]), true, Some("b&c=1")),
        (Some("A=1"), except(&["a"]), false, Some("A=1")),
        (Some("a&=x&&b=1"), except(&["b"]), false, Some("a&=x&")),
        (Some("x=utm_a"), except(&["utm_*"]), false, Some("x=utm_a")),
        // Names are compared as applications read them.
        (Some("p[]=1&x"), only(&["p[]"]), false, Some("p[]=1")),
        (
            Some("p%5B%5D=1&x"),
            only(&["p[]"]),
            false,
            Some("p%5B%5D=1"),
        ),
        (Some("p[]=1&x"), only(&["p%5b%5d"]), false, Some("p[]=1")),
        (
            Some("a+b&a%20b=1&ab&a%2Bb"),
            only(&["a b"]),
            false,
            Some("a+b&a%20b=1"),
        ),
        (Some("a+b&a%2Bb"), only(&["a%2Bb"]), false, Some("a%2Bb")),
        (Some("f%5Ba%5D&f[b]&f"), except(&["f[*"]), false, Some("f")),
        (Some("a%&a%2&a"), only(&["a%"]), false, Some("a%")),
        (Some("%g1&x"), only(&["%g1"]), false, Some("%g1")),
        (Some("%zb+&x"), only(&["%zb "]), false, Some("%zb+")),
        (Some("q&%zz+"), only(&["q"]), false, Some("q")),
    ] {
        let chosen = choose_query(query, &choice, sort);
        assert_eq!(chosen.as_deref(), expected, "{query:?} {choice:?}");
        if query == expected {
            assert!(chosen.as_ref().is_none_or(is_borrowed), "{query:?}");
        }
    }
}

#[test]
fn tracking_parameters_go_and_others_stay() {
    let choice = QueryChoice::Except(tracking());
    let query = "id=7&utm_source=x&fbclid=1&gclid=2&_ga=3&page=2&msclkid=4&utm=5";
    let kept = choose_query(Some(query), &choice, false);
    assert_eq!(kept.as_deref(), Some("id=7&page=2&utm=5"));
}

/// Each byte that a part means, and whether it is literal: not if a URI has it only in encoded form, or if it is the
/// value of a triplet and not unreserved.
fn meaning(part: &str) -> Vec<(u8, bool)> {
    let bytes = part.as_bytes();
    let mut found = Vec::new();
    let mut index = 0;
    while let Some(&byte) = bytes.get(index) {
        let encoded = (byte == b'%').then(|| triplet(bytes, index)).flatten();
        let literal = !is_encoded_only(byte) && encoded.is_none_or(is_unreserved);
        found.push((encoded.unwrap_or(byte), literal));
        index += if encoded.is_some() { 3 } else { 1 };
    }
    found
}

proptest! {
    #[test]
    fn normalizing_twice_is_normalizing_once(part in "(%|%3[0-9]|%4[1-9]|%[67][1-9]|%e9|%2F|[0-9a-fA-Fg/é<\"`.~-]){0,8}") {
        let once = normalize(&part);
        let twice = normalize(&once);
        prop_assert!(is_borrowed(&twice), "{once} {twice}");
        prop_assert_eq!(meaning(&part), meaning(&once));
    }

    #[test]
    fn any_text_is_normalized(part: String) {
        prop_assert_eq!(meaning(&part), meaning(&normalize(&part)));
    }

    #[test]
    fn every_spelling_of_a_byte_has_one_normal_form(byte: u8) {
        let (upper, lower) = (format!("/%{byte:02X}"), format!("/%{byte:02x}"));
        prop_assert_eq!(normalize(&upper), normalize(&lower));
        if is_unreserved(byte) {
            prop_assert_eq!(normalize(&upper), format!("/{}", char::from(byte)));
        }
    }

    #[test]
    fn a_normal_host_is_its_own_normal_form(authority in "[a-zA-Z0-9.:\\[\\]@%-]{0,24}") {
        if let Some(host) = normalize_host(&authority, "http") {
            let again = normalize_host(&host, "http");
            prop_assert!(again.as_ref().is_some_and(is_borrowed), "{host}");
            prop_assert_eq!(again.as_deref(), Some(&*host));
        }
    }

    #[test]
    fn normalizing_makes_no_delimiter(part in "(%2F|%3[fF]|%23|%26|%[0-7][0-9a-f]|[a-z]){0,8}") {
        prop_assert!(!normalize(&part).contains(['/', '?', '#', '&', '=', ' ']));
    }

    #[test]
    fn sorting_keeps_parameters_and_the_order_of_repeated_names(
        params in prop::collection::vec("[abc](=[0-9])?", 1..8),
    ) {
        let query = params.join("&");
        let sorted = choose_query(Some(&query), &QueryChoice::All, true).unwrap();
        for first in ["a", "b", "c"] {
            let of = |text: &str| -> Vec<String> {
                text.split('&').filter(|one| one.starts_with(first)).map(str::to_owned).collect()
            };
            prop_assert_eq!(of(&query), of(&sorted));
        }
        let again = choose_query(Some(&sorted), &QueryChoice::All, true);
        prop_assert!(again.as_ref().is_some_and(is_borrowed));
    }

    #[test]
    fn only_and_except_share_out_every_parameter(
        params in prop::collection::vec("[abu](tm_)?[a-c]?=[0-9]", 1..8),
    ) {
        let query = params.join("&");
        let chosen = patterns(&["utm_*", "a"]);
        let count = |choice: QueryChoice| {
            choose_query(Some(&query), &choice, false).map_or(0, |left| left.split('&').count())
        };
        let both = count(QueryChoice::Only(chosen.clone())) + count(QueryChoice::Except(chosen));
        prop_assert_eq!(both, params.len());
    }
}
