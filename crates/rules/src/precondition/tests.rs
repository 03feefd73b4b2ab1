use super::*;
use http::HeaderValue;
use proptest::prelude::*;

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

fn judged(lines: &[(HeaderName, &str)], representation: &Representation<'_>) -> Outcome {
    judge(&Method::GET, &request(lines), representation, NOW)
}

/// RFC 9110 sections 13.1.1 to 13.1.4.
#[test]
fn each_condition_alone() {
    use Outcome::{Failed, NotModified, Proceed};
    for (name, value, expected) in [
        (IF_NONE_MATCH, r#""x""#, NotModified),
        (IF_NONE_MATCH, r#"W/"x""#, NotModified),
        (IF_NONE_MATCH, r#""a", "x""#, NotModified),
        (IF_NONE_MATCH, "*", NotModified),
        (IF_NONE_MATCH, r#""a""#, Proceed),
        (IF_NONE_MATCH, "x", Proceed),
        (IF_NONE_MATCH, r#"*, "x""#, Proceed),
        (IF_NONE_MATCH, "", Proceed),
        (IF_MODIFIED_SINCE, MODIFIED, NotModified),
        (IF_MODIFIED_SINCE, LATER, NotModified),
        (IF_MODIFIED_SINCE, EARLIER, Proceed),
        (
            IF_MODIFIED_SINCE,
            "Tuesday, 15-Nov-94 12:45:26 GMT",
            NotModified,
        ),
        (IF_MODIFIED_SINCE, "Tue Nov 15 12:45:26 1994", NotModified),
        // "MUST ignore ... if the received field value is not a valid HTTP-date, the field value has more than one member".
        (IF_MODIFIED_SINCE, "yesterday", Proceed),
        (
            IF_MODIFIED_SINCE,
            "Tue, 15 Nov 1994 12:45:26 GMT, Tue, 15 Nov 1994 12:45:26 GMT",
            Proceed,
        ),
        (IF_MATCH, r#""x""#, Proceed),
        (IF_MATCH, "*", Proceed),
        (IF_MATCH, r#""a", "x""#, Proceed),
        (IF_MATCH, r#""a""#, Failed),
        // "An origin server MUST use the strong comparison function".
        (IF_MATCH, r#"W/"x""#, Failed),
        (IF_UNMODIFIED_SINCE, MODIFIED, Proceed),
        (IF_UNMODIFIED_SINCE, LATER, Proceed),
        (IF_UNMODIFIED_SINCE, EARLIER, Failed),
        (IF_UNMODIFIED_SINCE, "yesterday", Proceed),
    ] {
        assert_eq!(
            judged(&[(name.clone(), value)], &representation()),
            expected,
            "{name}: {value}"
        );
    }
}

/// RFC 9110 section 13.2.2.
#[test]
fn precedence() {
    use Outcome::{Failed, NotModified, Proceed};
    let miss = (IF_NONE_MATCH, r#""a""#);
    for (lines, expected) in [
        // "MUST ignore If-Modified-Since if the request contains an If-None-Match header field".
        (&[miss.clone(), (IF_MODIFIED_SINCE, LATER)][..], Proceed),
        (
            &[(IF_NONE_MATCH, r#""x""#), (IF_MODIFIED_SINCE, EARLIER)],
            NotModified,
        ),
        // Several lines are one list.
        (&[miss.clone(), (IF_NONE_MATCH, r#""x""#)], NotModified),
        (
            &[(IF_MODIFIED_SINCE, LATER), (IF_MODIFIED_SINCE, LATER)],
            Proceed,
        ),
        // "MUST ignore If-Unmodified-Since if the request contains an If-Match header field".
        (
            &[(IF_MATCH, r#""x""#), (IF_UNMODIFIED_SINCE, EARLIER)],
            Proceed,
        ),
        // Steps 1 and 2 come before 3 and 4.
        (&[(IF_MATCH, r#""a""#), (IF_NONE_MATCH, r#""x""#)], Failed),
        (
            &[(IF_UNMODIFIED_SINCE, EARLIER), (IF_MODIFIED_SINCE, LATER)],
            Failed,
        ),
        (
            &[(IF_MATCH, r#""x""#), (IF_NONE_MATCH, r#""x""#)],
            NotModified,
        ),
        (&[], Proceed),
    ] {
        assert_eq!(judged(lines, &representation()), expected, "{lines:?}");
    }
}

#[test]
fn only_get_and_head_are_judged() {
    let conditions = request(&[(IF_NONE_MATCH, "*"), (IF_MATCH, r#""a""#)]);
    for (method, expected) in [
        (Method::GET, Outcome::Failed),
        (Method::HEAD, Outcome::Failed),
        (Method::POST, Outcome::Proceed),
        (Method::OPTIONS, Outcome::Proceed),
    ] {
        let outcome = judge(&method, &conditions, &representation(), NOW);
        assert_eq!(outcome, expected, "{method}");
    }
}

#[test]
fn a_representation_without_validators() {
    use Outcome::{Failed, NotModified, Proceed};
    let bare = Representation {
        etag: None,
        last_modified: None,
        date: Some(modified().plus(Duration::from_millis(999))),
    };
    for (name, value, expected) in [
        (IF_NONE_MATCH, r#""x""#, Proceed),
        (IF_NONE_MATCH, "*", NotModified),
        (IF_MATCH, r#""x""#, Failed),
        (IF_MATCH, "*", Proceed),
        // RFC 9111 section 4.3.2: "a cache SHOULD use the stored response's Date field value".
        (IF_MODIFIED_SINCE, MODIFIED, NotModified),
        (IF_MODIFIED_SINCE, EARLIER, Proceed),
        // "MUST ignore ... if the resource does not have a modification date available".
        (IF_UNMODIFIED_SINCE, EARLIER, Proceed),
    ] {
        assert_eq!(
            judged(&[(name.clone(), value)], &bare),
            expected,
            "{name}: {value}"
        );
    }
    let unreadable = Representation {
        last_modified: Some(b"soon"),
        ..bare
    };
    assert_eq!(judged(&[(IF_MODIFIED_SINCE, LATER)], &unreadable), Proceed);
}

#[test]
fn tags_of_the_origin_that_are_no_tags() {
    let with = |etag| Representation {
        etag: Some(etag),
        ..representation()
    };
    for (etag, value, expected) in [
        (&b"x"[..], "x", Outcome::NotModified),
        (b"x", r#""x""#, Outcome::Proceed),
        (b"\"x", "\"x", Outcome::Proceed),
        (b"*", r#""x""#, Outcome::Proceed),
        (br#"W/"x""#, r#""x""#, Outcome::NotModified),
    ] {
        assert_eq!(
            judged(&[(IF_NONE_MATCH, value)], &with(etag)),
            expected,
            "{value}"
        );
    }
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

    /// A 304 is only sent to a client that named the tag, a time, or `*`.
    #[test]
    fn a_tag_list_means_its_members(tags in prop::collection::vec("(W/)?\"[a-c]\"", 1..5)) {
        let found = tags.iter().any(|tag| tag.trim_start_matches("W/") == r#""a""#);
        let representation = Representation { etag: Some(br#""a""#), ..representation() };
        let outcome = judged(&[(IF_NONE_MATCH, &tags.join(" ,"))], &representation);
        prop_assert_eq!(outcome == Outcome::NotModified, found);
        let strong = tags.iter().any(|tag| tag == r#""a""#);
        let outcome = judged(&[(IF_MATCH, &tags.join(","))], &representation);
        prop_assert_eq!(outcome == Outcome::Proceed, strong);
    }
}
