//! Tags of forms, as they are sent and as they come back.

use super::*;

fn with(name: header::HeaderName, value: &str) -> HeaderMap {
    let mut fields = HeaderMap::new();
    fields.insert(name, HeaderValue::from_str(value).unwrap());
    fields
}

#[test]
fn the_tag_of_a_form_is_understood_again() {
    let all = Accepted::read(&request(&["gzip, br"]));
    let hash = "0123456789abcdef";
    for (listed, accepted, expected) in [
        (
            "\"v1-larder-br-0123456789abcdef\"",
            all,
            Some("\"v1-larder-br-0123456789abcdef\""),
        ),
        ("W/\"v1-larder-br\"", all, Some("W/\"v1-larder-br\"")),
        (
            "\"v0-larder-br\", W/\"v1-larder-gzip\"",
            all,
            Some("W/\"v1-larder-gzip\""),
        ),
        (
            "W/\"v1-larder-identity\"",
            all,
            Some("W/\"v1-larder-identity\""),
        ),
        ("W/\"v1-larder-zstd\"", all, None),
        ("W/\"v1-larder-br\"", Accepted::NONE, None),
        ("\"v2-larder-br\"", all, None),
        ("\"v1-larder-br-xyz\"", all, None),
        // Not a hash: too short, no digits, more behind it.
        ("\"v1-larder-br-0123456789abcde\"", all, None),
        ("\"v1-larder-br-0123456789abcdeg\"", all, None),
        ("\"v1-larder-br-0123456789abcdef-x\"", all, None),
        // The origin's own tag goes out as the origin writes it.
        ("W/\"v1\"", all, Some("\"v1\"")),
        ("\"v1\"", all, Some("\"v1\"")),
        ("\"v0\"", all, None),
        ("*", all, None),
        ("\"v1-larder-\"", all, None),
    ] {
        let request = with(header::IF_NONE_MATCH, listed);
        let found = understood(&request, b"\"v1\"", true, accepted);
        assert_eq!(
            found.as_ref().map(|value| value.to_str().unwrap()),
            expected,
            "{listed} {hash}"
        );
    }
}

/// The origin's own tag names what the client would not get: bytes in a coding that it refuses, or uncoded bytes if it
/// refuses identity.
#[test]
fn the_own_tag_is_of_no_use_to_who_does_not_take_what_it_stands_for() {
    let all = Accepted::read(&request(&["gzip, br"]));
    for (listed, expected) in [
        ("\"v1\"", None),
        ("\"v1\", W/\"v1-larder-br\"", Some("W/\"v1-larder-br\"")),
    ] {
        let request = with(header::IF_NONE_MATCH, listed);
        let found = understood(&request, b"\"v1\"", false, all);
        let found = found.as_ref().map(|value| value.to_str().unwrap());
        assert_eq!(found, expected, "{listed}");
    }
}

#[test]
fn the_origin_gets_its_own_tags_back() {
    let all = Accepted::read(&request(&["gzip, br"]));
    for (listed, expected) in [
        ("\"v1-larder-br-0123456789abcdef\"", "\"v1\""),
        (
            "W/\"v1-larder-br\", \"v1-larder-gzip-0123456789abcdef\", \"v2\"",
            "W/\"v1\", \"v1\", \"v2\"",
        ),
        // A form is strong by its hash and its own strength, and its origin's tag is so too.
        ("\"v1-larder-br\"", "W/\"v1\""),
        ("W/\"v1-larder-br-0123456789abcdef\"", "W/\"v1\""),
        ("\"v1-larder-odd\"", "\"v1-larder-odd\""),
        ("\"v1\"", "\"v1\""),
        ("*", "*"),
    ] {
        for name in [header::IF_NONE_MATCH, header::IF_MATCH] {
            let mut fields = with(name.clone(), listed);
            for_origin(&mut fields, &Method::GET, || all);
            assert_eq!(fields[name], expected, "{listed}");
        }
    }
    let mut fields = with(header::IF_RANGE, "\"v1-larder-br-0123456789abcdef\"");
    fields.insert(header::RANGE, HeaderValue::from_static("bytes=0-5"));
    assert_eq!(range_form(&fields), Some(Some(Coding::Brotli)));
    for_origin(&mut fields, &Method::GET, || all);
    assert!(fields.is_empty(), "an origin has no bytes of a form");
    let mut fields = with(header::IF_RANGE, "\"v1-larder-odd\"");
    fields.insert(header::RANGE, HeaderValue::from_static("bytes=0-5"));
    for_origin(&mut fields, &Method::GET, || all);
    assert_eq!(fields.len(), 2, "this is no form's tag");
    for (listed, is_form) in [
        ("\"v1-larder-br-0123456789abcdef\"", true),
        ("\"v0\", \"v1-larder-br-0123456789abcdef\"", true),
        ("\"v1\"", false),
        ("\"v1-larder-\"", false),
    ] {
        let mut fields = with(header::IF_MATCH, listed);
        fields.insert(header::RANGE, HeaderValue::from_static("bytes=0-5"));
        assert_eq!(matches_form(&fields), is_form, "{listed}");
        for_origin(&mut fields, &Method::GET, || all);
        assert_eq!(fields.contains_key(header::RANGE), !is_form, "{listed}");
    }
}

#[test]
fn a_date_or_a_tag_may_be_the_condition_of_a_range() {
    let now = crate::time::Time::from_secs(1_800_000_000);
    for (value, dated) in [
        ("Sun, 06 Nov 1994 08:49:37 GMT", true),
        ("\"v1\"", false),
        ("soon", false),
    ] {
        let request = with(header::IF_RANGE, value);
        assert_eq!(is_dated_range(&request, now), dated, "{value}");
    }
    assert!(!is_dated_range(&HeaderMap::new(), now));
}

/// RFC 9110 sections 13.1.1 and 13.1.2: a condition is about what the client would get.
#[test]
fn what_the_client_would_not_get_is_not_told_as_the_origins_own() {
    let listed =
        "W/\"v1-larder-br\", \"v1-larder-gzip-0123456789abcdef\", W/\"v1-larder-identity\"";
    for (accepted, method, expected) in [
        ("gzip", Method::GET, "W/\"v1-larder-br\", \"v1\", W/\"v1\""),
        (
            "identity",
            Method::HEAD,
            "W/\"v1-larder-br\", \"v1-larder-gzip-0123456789abcdef\", W/\"v1\"",
        ),
        (
            "br, identity;q=0",
            Method::GET,
            "W/\"v1\", \"v1-larder-gzip-0123456789abcdef\", W/\"v1-larder-identity\"",
        ),
        // What was read in any coding may be written back.
        ("identity", Method::PUT, "W/\"v1\", \"v1\""),
    ] {
        let accepted = Accepted::read(&request(&[accepted]));
        for name in [header::IF_NONE_MATCH, header::IF_MATCH] {
            let mut fields = with(name.clone(), listed);
            for_origin(&mut fields, &method, || accepted);
            assert_eq!(fields[name], expected, "{method}");
        }
    }
}

proptest! {
    /// A tag that goes out in a form comes back unchanged.
    #[test]
    fn tags_come_back(inner in "[!#-~]{0,12}", coding in prop::sample::select(&Coding::ALL[..]), hash: u64, weak: bool) {
        let tag = format!("{}\"{inner}\"", if weak { "W/" } else { "" });
        let made = FormProvenance::Whole { length: 1, hash };
        let form = described(&tag, Some(coding), made)[header::ETAG].clone();
        let mut back = HeaderMap::new();
        back.insert(header::IF_MATCH, form.clone());
        for_origin(&mut back, &Method::PUT, || Accepted::NONE);
        prop_assert_eq!(&back[header::IF_MATCH], &tag);
        back.insert(header::IF_NONE_MATCH, form.clone());
        let accepted = Accepted::read(&request(&[coding.token()]));
        prop_assert_eq!(understood(&back, tag.as_bytes(), false, accepted), Some(form));
    }
}
