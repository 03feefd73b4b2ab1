//! How a 304 changes a stored response.

use super::*;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, SET_COOKIE};

/// RFC 9213 section 2.2: "MUST ignore the Cache-Control". Each row has the targeted field of the stored response, that
/// of the update, and whether the fields that the update's `Cache-Control` names are taken over.
#[test]
fn cache_control_names_no_fields_where_a_targeted_field_governs() {
    let targets = [HeaderName::from_static("cdn-cache-control")];
    for (before, after, taken) in [
        (None, None, false),
        (None, Some("max-age=60"), true),
        (Some("max-age=60"), None, true),
        (Some("max-age=60"), Some("max-age=90"), true),
        (None, Some("max-age=60, private=\"x-a\""), false),
        // A value that is not a dictionary does not count.
        (Some("max-age=60"), Some("\"open"), false),
    ] {
        let with = |targeted: Option<&str>, lines: &[(&str, &str)]| {
            let mut all = fields(lines);
            if let Some(value) = targeted {
                let value = HeaderValue::from_str(value).unwrap();
                all.insert(&targets[0], value);
            }
            all
        };
        let mut stored = with(before, &[("x-a", "old")]);
        let update = [("cache-control", "no-cache=\"x-a\""), ("x-a", "new")];
        freshen(&mut stored, &with(after, &update), &targets);
        let value = if taken { "new" } else { "old" };
        assert_eq!(stored.get("x-a").unwrap(), value, "{before:?} {after:?}");
    }
}

/// RFC 9111 section 3.2: "the cache MUST add each header field in the provided response to the stored response, replacing
/// field values that are already present, with the following exceptions".
#[test]
fn freshening_replaces_what_the_update_carries() {
    let mut stored = fields(&[
        ("cache-control", "max-age=1"),
        ("etag", r#""a""#),
        ("content-type", "text/plain"),
        ("content-length", "10"),
        ("content-encoding", "gzip"),
        ("x-many", "one"),
        ("x-many", "two"),
        ("x-kept", "kept"),
        ("x-secret", "old"),
        ("age", "7"),
    ]);
    let update = fields(&[
        ("cache-control", "max-age=9, private=\"x-secret, vary\""),
        ("vary", "x-new"),
        ("date", LATE),
        ("content-type", "text/html"),
        ("content-length", "0"),
        ("content-encoding", "br"),
        ("content-range", "bytes 0-1/2"),
        ("x-many", "three"),
        ("x-new", "a"),
        ("x-new", "b"),
        ("x-secret", "new"),
        ("connection", "x-hop"),
        ("x-hop", "x"),
        ("keep-alive", "x"),
        ("transfer-encoding", "chunked"),
        ("proxy-authenticate", "x"),
    ]);
    freshen(&mut stored, &update, &[]);
    let expected = fields(&[
        ("cache-control", "max-age=9, private=\"x-secret, vary\""),
        ("vary", "x-new"),
        ("date", LATE),
        ("etag", r#""a""#),
        ("content-type", "text/html"),
        ("content-length", "10"),
        ("content-encoding", "gzip"),
        ("x-many", "three"),
        ("x-new", "a"),
        ("x-new", "b"),
        ("x-kept", "kept"),
        ("x-secret", "old"),
    ]);
    assert_eq!(stored, expected);
}

/// RFC 9111 section 4.2.3: "since the stored response was last validated by the origin server".
#[test]
fn freshening_forgets_the_earlier_journey() {
    let journey = [("date", EARLY), ("age", "7"), ("via", "1.1 larder")];
    let mut stored = fields(&journey);
    freshen(&mut stored, &fields(&[]), &[]);
    assert_eq!(stored, fields(&[]));
    freshen(&mut stored, &fields(&journey), &[]);
    assert_eq!(stored, fields(&journey));
}

#[test]
fn what_a_cache_must_know_of_a_304_is_told_apart_from_the_rest() {
    let cdn = HeaderName::from_static("x-our-cdn");
    let known = [
        ("cache-control", "max-age=60"),
        ("expires", "0"),
        ("vary", "cookie"),
        ("cdn-cache-control", "max-age=60"),
        ("surrogate-control", "max-age=60"),
        ("x-our-cdn", "max-age=60"),
        ("etag", "\"a\""),
        ("last-modified", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ("surrogate-key", "a b"),
        ("cache-groups", "\"a\""),
        ("date", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ("age", "1"),
        ("via", "1.1 a"),
    ];
    let others = [
        ("set-cookie", "id=1"),
        ("x-user", "a"),
        ("content-security-policy", "a"),
    ];
    let update = fields(&[&known[..], &others].concat());
    assert_eq!(for_caches(&update, &[cdn]), fields(&known));
}

#[test]
fn freshening_takes_nothing_from_vary() {
    for (stored, update, fresh) in [
        (&["cookie"][..], &[][..], &["cookie"][..]),
        (&[], &["cookie"], &["cookie"]),
        (&["cookie, Accept"], &["Accept"], &["Accept", "cookie"]),
        (&["a, b", "c"], &["B"], &["B", "a, c"]),
        (&["a"], &["a, b"], &["a, b"]),
        (&["a"], &[""], &["", "a"]),
        (&["a"], &["*"], &["*"]),
    ] {
        let vary = |lines: &[&'static str]| {
            fields(&lines.iter().map(|line| ("vary", *line)).collect::<Vec<_>>())
        };
        let mut fields = vary(stored);
        freshen(&mut fields, &vary(update), &[]);
        assert_eq!(fields, vary(fresh), "{stored:?} {update:?}");
    }
}

fn some_fields() -> impl Strategy<Value = HeaderMap> {
    let names = vec![
        "etag",
        "age",
        "date",
        "connection",
        "content-length",
        "content-type",
        "set-cookie",
        "vary",
        "x-a",
        "x-b",
        "cache-control",
    ];
    let values = vec!["\"a\"", "1", "x-a", "private=\"x-b\"", "max-age=1", ""];
    let line = (prop::sample::select(names), prop::sample::select(values));
    prop::collection::vec(line, 0..8).prop_map(|lines| fields(&lines))
}

proptest! {
    #[test]
    fn freshening_twice_is_freshening_once(stored in some_fields(), update in some_fields()) {
        let mut once = stored;
        freshen(&mut once, &update, &[]);
        let mut twice = once.clone();
        freshen(&mut twice, &update, &[]);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn freshening_takes_every_line_or_none(stored in some_fields(), update in some_fields()) {
        let mut fresh = stored.clone();
        freshen(&mut fresh, &update, &[]);
        let lines = |of: &HeaderMap, name: &HeaderName| of.get_all(name).iter().cloned().collect::<Vec<_>>();
        for name in [SET_COOKIE, CONTENT_TYPE, CACHE_CONTROL, ETAG] {
            let expected = if update.contains_key(&name) { &update } else { &stored };
            prop_assert_eq!(lines(&fresh, &name), lines(expected, &name));
        }
        prop_assert_eq!(lines(&fresh, &CONTENT_LENGTH), lines(&stored, &CONTENT_LENGTH));
    }
}
