//! The verdict of a request's conditions (RFC 9110 section 13).

use super::*;

/// RFC 9110 sections 13.1.1 to 13.1.4.
#[test]
fn each_condition_alone() {
    use Verdict::{Failed, NotModified, Proceed};
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
        // "MUST ignore ... if the received field value is not a valid HTTP-date, the field value has more than one
        // member".
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
    use Verdict::{Failed, NotModified, Proceed};
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
        (Method::GET, Verdict::Failed),
        (Method::HEAD, Verdict::Failed),
        (Method::POST, Verdict::Proceed),
        (Method::OPTIONS, Verdict::Proceed),
    ] {
        let verdict = judge(&method, &conditions, &representation(), NOW);
        assert_eq!(verdict, expected, "{method}");
    }
}

#[test]
fn a_representation_without_validators() {
    use Verdict::{Failed, NotModified, Proceed};
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
        (&b"x"[..], "x", Verdict::NotModified),
        (b"x", r#""x""#, Verdict::Proceed),
        (b"\"x", "\"x", Verdict::Proceed),
        (b"*", r#""x""#, Verdict::Proceed),
        (br#"W/"x""#, r#""x""#, Verdict::NotModified),
    ] {
        assert_eq!(
            judged(&[(IF_NONE_MATCH, value)], &with(etag)),
            expected,
            "{value}"
        );
    }
}

proptest! {
    /// A 304 is sent only to a client that named the tag, a time, or `*`.
    #[test]
    fn a_tag_list_means_its_members(tags in prop::collection::vec("(W/)?\"[a-c]\"", 1..5)) {
        let found = tags.iter().any(|tag| tag.trim_start_matches("W/") == r#""a""#);
        let representation = Representation { etag: Some(br#""a""#), ..representation() };
        let verdict = judged(&[(IF_NONE_MATCH, &tags.join(" ,"))], &representation);
        prop_assert_eq!(verdict == Verdict::NotModified, found);
        let strong = tags.iter().any(|tag| tag == r#""a""#);
        let verdict = judged(&[(IF_MATCH, &tags.join(","))], &representation);
        prop_assert_eq!(verdict == Verdict::Proceed, strong);
    }
}
