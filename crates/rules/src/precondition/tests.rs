use super::*;
use http::HeaderValue;
use proptest::prelude::*;
use std::time::Duration;

mod verdict;

/// `Last-Modified` in the tests; `Date` is a day later unless a test says otherwise.
const MODIFIED: &str = "Tue, 15 Nov 1994 12:45:26 GMT";
const EARLIER: &str = "Tue, 15 Nov 1994 12:45:25 GMT";
const LATER: &str = "Tue, 15 Nov 1994 12:45:27 GMT";
const NOW: Time = Time::from_secs(800_000_000);

fn modified() -> Time {
    Time::parse(MODIFIED.as_bytes(), NOW).unwrap()
}

fn representation() -> Representation<'static> {
    Representation {
        etag: Some(br#""x""#),
        last_modified: Some(MODIFIED.as_bytes()),
        date: Some(modified().plus(Duration::from_hours(24))),
    }
}

fn request(lines: &[(HeaderName, &str)]) -> HeaderMap {
    let lines = lines.iter();
    lines
        .map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()))
        .collect()
}

fn judged(lines: &[(HeaderName, &str)], representation: &Representation<'_>) -> Verdict {
    judge(&Method::GET, &request(lines), representation, NOW)
}

/// RFC 9110 sections 13.1.5 and 8.8.2.2.
#[test]
fn if_range() {
    let strong = representation();
    let same_second = Representation {
        date: Some(modified().plus(Duration::from_millis(999))),
        ..strong
    };
    let weak = Representation {
        etag: Some(br#"W/"x""#),
        ..strong
    };
    for (values, representation, expected) in [
        (&[][..], strong, true),
        (&[r#""x""#], strong, true),
        (&[r#""a""#], strong, false),
        (&[r#"W/"x""#], strong, false),
        (&[r#"W/"x""#], weak, false),
        (&[r#""x", "y""#], strong, false),
        (&[r#""x""#, r#""x""#], strong, false),
        (&["x"], strong, false),
        (&["*"], strong, false),
        (&[""], strong, false),
        // "the If-Range comparison is by exact match".
        (&[MODIFIED], strong, true),
        (&["Tuesday, 15-Nov-94 12:45:26 GMT"], strong, true),
        (&[EARLIER], strong, false),
        (&[LATER], strong, false),
        // "If the HTTP-date validator provided is not a strong validator ..., the condition is false."
        (&[MODIFIED], same_second, false),
    ] {
        let lines: Vec<_> = values.iter().map(|value| (IF_RANGE, *value)).collect();
        let holds = if_range_holds(&request(&lines), &representation, NOW);
        assert_eq!(holds, expected, "{values:?}");
    }
}

#[test]
fn any_finds_each_field() {
    assert!(!super::any(&HeaderMap::new()));
    assert!(!super::any(&request(&[(CONTENT_TYPE, "a/b")])));
    for name in [
        IF_MATCH,
        IF_NONE_MATCH,
        IF_MODIFIED_SINCE,
        IF_UNMODIFIED_SINCE,
        IF_RANGE,
    ] {
        assert!(super::any(&request(&[(name, "x")])));
    }
}

/// RFC 9110 section 15.4.5.
#[test]
fn a_304_keeps_what_guides_caches() {
    let kept = [
        "content-location",
        "date",
        "etag",
        "vary",
        "cache-control",
        "expires",
        "set-cookie",
        "age",
    ];
    let gone = [
        "content-type",
        "content-length",
        "content-encoding",
        "content-language",
        "content-range",
        "last-modified",
        "content-digest",
        "content-md5",
        "repr-digest",
        "digest",
    ];
    let mut fields: HeaderMap = kept
        .iter()
        .chain(&gone)
        .map(|name| (HeaderName::from_static(name), HeaderValue::from_static("x")))
        .collect();
    trim_not_modified(&mut fields);
    let mut left: Vec<&str> = fields.keys().map(HeaderName::as_str).collect();
    left.sort_unstable();
    let mut expected = kept;
    expected.sort_unstable();
    assert_eq!(left, expected);

    // "Last-Modified might be useful if the response does not have an ETag field".
    let mut fields = request(&[(LAST_MODIFIED, MODIFIED), (CONTENT_LENGTH, "5")]);
    trim_not_modified(&mut fields);
    assert_eq!(fields, request(&[(LAST_MODIFIED, MODIFIED)]));
}

proptest! {
    #[test]
    fn any_value_is_judged(value in "[ -~]{0,30}", etag in "[ -~]{0,8}") {
        let representation = Representation { etag: Some(etag.as_bytes()), ..representation() };
        for name in [IF_MATCH, IF_NONE_MATCH, IF_MODIFIED_SINCE, IF_UNMODIFIED_SINCE, IF_RANGE] {
            let lines = request(&[(name, &value)]);
            let _ = judge(&Method::GET, &lines, &representation, NOW);
            let _ = if_range_holds(&lines, &representation, NOW);
        }
    }
}
