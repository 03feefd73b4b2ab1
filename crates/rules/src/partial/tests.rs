use super::*;
use proptest::prelude::*;

fn span(first: u64, last: u64) -> Span {
    Span { first, last }
}

fn spans(parts: &[(u64, u64)]) -> Spans {
    let mut spans = Spans::default();
    for (first, last) in parts {
        spans.insert(span(*first, *last));
    }
    spans
}

#[test]
fn spans_join_where_they_touch() {
    for (parts, expected) in [
        (&[(0, 4), (5, 9)][..], &[(0, 9)][..]),
        (&[(5, 9), (0, 4)], &[(0, 9)]),
        (&[(0, 4), (6, 9)], &[(0, 4), (6, 9)]),
        (&[(0, 4), (6, 9), (5, 5)], &[(0, 9)]),
        (&[(0, 1), (4, 5), (8, 9), (0, 20)], &[(0, 20)]),
        (&[(3, 2)], &[]),
        (&[(u64::MAX, u64::MAX), (0, u64::MAX - 1)], &[(0, u64::MAX)]),
    ] {
        let held: Vec<_> = spans(parts)
            .iter()
            .map(|one| (one.first, one.last))
            .collect();
        assert_eq!(held, expected, "{parts:?}");
    }
}

#[test]
fn what_is_missing() {
    let held = spans(&[(0, 9), (20, 29)]);
    for (wanted, expected) in [
        ((0, 9), None),
        ((2, 5), None),
        ((0, 19), Some((10, 19))),
        ((5, 25), Some((10, 19))),
        ((15, 40), Some((15, 40))),
        ((15, 25), Some((15, 19))),
        ((40, 50), Some((40, 50))),
        ((0, 50), Some((10, 50))),
        ((9, 20), Some((10, 19))),
        ((9, 10), Some((10, 10))),
        ((19, 20), Some((19, 19))),
        ((30, 30), Some((30, 30))),
        ((22, 25), None),
        // Not a span.
        ((15, 12), None),
        ((40, 35), None),
    ] {
        let missing = held.missing(span(wanted.0, wanted.1));
        assert_eq!(
            missing.map(|one| (one.first, one.last)),
            expected,
            "{wanted:?}"
        );
    }
    assert_eq!(spans(&[(0, u64::MAX)]).missing(span(0, u64::MAX)), None);
}

#[test]
fn complete_is_every_byte() {
    assert!(spans(&[]).is_complete(0));
    assert!(!spans(&[]).is_complete(1));
    assert!(spans(&[(0, 9)]).is_complete(10));
    assert!(!spans(&[(0, 9)]).is_complete(11));
    assert!(!spans(&[(1, 9)]).is_complete(10));
}

/// RFC 9111 section 3.4: "if they all share the same strong validator".
#[test]
fn only_parts_with_the_same_strong_validator_are_combined() {
    let now = Time::from_secs(1_800_000_000);
    let with = |tag: &'static str| {
        let mut fields = HeaderMap::new();
        if !tag.is_empty() {
            fields.insert(http::header::ETAG, HeaderValue::from_static(tag));
        }
        fields.insert(
            http::header::LAST_MODIFIED,
            HeaderValue::from_static("Tue, 15 Nov 1994 12:45:26 GMT"),
        );
        fields
    };
    for (stored, new, expected) in [
        (r#""a""#, r#""a""#, true),
        (r#""a""#, r#""b""#, false),
        (r#"W/"a""#, r#"W/"a""#, false),
        (r#""a""#, r#"W/"a""#, false),
        ("a", "a", false),
        (r#""a""#, "", false),
        // Compared by their dates: see below.
        ("", "", true),
    ] {
        assert_eq!(
            combinable(&with(stored), &with(new), now),
            expected,
            "{stored} {new}"
        );
    }
    let coded = |coding: &str| {
        let mut fields = with("\"a\"");
        let value = http::HeaderValue::from_str(coding).expect("a value");
        fields.insert(http::header::CONTENT_ENCODING, value);
        fields
    };
    assert!(combinable(&coded("gzip"), &coded("gzip"), now));
    assert!(!combinable(&coded("gzip"), &coded("br"), now));
    assert!(!combinable(&with("\"a\""), &coded("br"), now));
}

/// RFC 9110 section 8.8.2.2: a `Last-Modified` is strong if `Date` is late enough. It stands in for a tag if there is
/// none.
#[test]
fn a_date_combines_parts_where_it_is_strong_and_there_is_no_tag() {
    let now = Time::from_secs(1_800_000_000);
    let with = |modified: u64, date: Option<u64>, tag: Option<&'static str>| {
        let mut fields = HeaderMap::new();
        let at = |secs| HeaderValue::try_from(Time::from_secs(secs).to_http()).expect("a date");
        fields.insert(http::header::LAST_MODIFIED, at(modified));
        if let Some(date) = date {
            fields.insert(http::header::DATE, at(date));
        }
        if let Some(tag) = tag {
            fields.insert(http::header::ETAG, HeaderValue::from_static(tag));
        }
        fields
    };
    let stored = with(1000, Some(1060), None);
    for (new, expected) in [
        (with(1000, Some(1060), None), true),
        (with(1000, Some(1059), None), false),
        (with(1000, Some(2000), None), true),
        (with(1000, Some(1000), None), false),
        // RFC 9110 section 6.6.1: the response came now.
        (with(1000, None, None), true),
        (with(1_800_000_000, None, None), false),
        (with(999, Some(1060), None), false),
        (with(1000, Some(1060), Some("\"a\"")), false),
        (with(1000, Some(1060), Some("W/\"a\"")), false),
    ] {
        assert_eq!(combinable(&stored, &new, now), expected, "{new:?}");
        assert_eq!(combinable(&new, &stored, now), expected, "{new:?}");
    }
    assert_eq!(
        strong_validator(&stored, now).as_ref(),
        stored.get(http::header::LAST_MODIFIED)
    );
    let tagged = with(1000, Some(1001), Some("\"a\""));
    assert_eq!(strong_validator(&tagged, now).expect("a tag"), "\"a\"");
    assert_eq!(
        strong_validator(&with(1000, Some(1001), Some("W/\"a\"")), now),
        None
    );
}

proptest! {
    #[test]
    fn spans_hold_the_bytes_put_in(parts in prop::collection::vec((0..60_u64, 0..8_u64), 0..10), first in 0..60_u64, more in 0..20_u64) {
        let parts: Vec<(u64, u64)> = parts.into_iter().map(|(first, more)| (first, first + more)).collect();
        let mut held = spans(&parts);
        let is_in = |byte: u64| parts.iter().any(|(first, last)| (*first..=*last).contains(&byte));
        for byte in 0..80 {
            prop_assert_eq!(held.contains(span(byte, byte)), is_in(byte));
        }
        let list: Vec<Span> = held.iter().collect();
        prop_assert!(list.windows(2).all(|pair| pair[0].last + 1 < pair[1].first));

        let wanted = span(first, first + more);
        match held.missing(wanted) {
            None => prop_assert!(held.contains(wanted)),
            Some(hole) => {
                prop_assert!(!is_in(hole.first) && !is_in(hole.last));
                prop_assert!(wanted.first <= hole.first && hole.last <= wanted.last);
                held.insert(hole);
                prop_assert!(held.contains(wanted));
            }
        }
    }
}
