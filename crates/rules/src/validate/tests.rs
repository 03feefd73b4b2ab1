use super::*;
use http::StatusCode;
use proptest::prelude::*;
use std::time::Duration;

mod freshen;

const EARLY: &str = "Tue, 15 Nov 1994 12:45:26 GMT";
const LATE: &str = "Wed, 16 Nov 1994 12:45:26 GMT";

fn fields(lines: &[(&str, &str)]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for (name, value) in lines {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        fields.append(name, HeaderValue::from_str(value).unwrap());
    }
    fields
}

/// Makes candidates from their fields, each received a second before the previous one.
fn candidates(stored: &[HeaderMap]) -> Vec<Validators<'_>> {
    let dates = (1..=800_000_000).rev().map(Time::from_secs);
    let pairs = stored.iter().zip(dates);
    pairs.map(|(one, date)| Validators::of(one, date)).collect()
}

#[test]
fn conditions_of_clients_go() {
    let mut request = fields(&[
        ("if-match", "*"),
        ("if-none-match", "*"),
        ("if-modified-since", EARLY),
        ("if-unmodified-since", EARLY),
        ("if-range", EARLY),
        ("range", "bytes=0-1"),
        ("accept", "*/*"),
    ]);
    remove_conditions(&mut request);
    assert_eq!(request, fields(&[("accept", "*/*")]));
}

/// RFC 9111 section 4.3.1.
#[test]
fn the_conditional_request() {
    let both = fields(&[("etag", r#""a""#), ("last-modified", EARLY)]);
    let other = fields(&[("etag", r#"W/"b""#), ("last-modified", LATE)]);
    let dated = fields(&[("last-modified", EARLY)]);
    let bare = fields(&[]);
    let broken = fields(&[("etag", "\"open"), ("last-modified", "soon")]);
    let star = fields(&[("etag", "*")]);
    for (stored, tags, date) in [
        // "MUST send the relevant entity tags", "SHOULD send the Last-Modified value".
        (vec![both.clone()], Some(r#""a""#), Some(EARLY)),
        (
            vec![other.clone(), both.clone()],
            Some(r#"W/"b", "a""#),
            Some(LATE),
        ),
        (
            vec![both.clone(), both.clone()],
            Some(r#""a""#),
            Some(EARLY),
        ),
        (vec![dated.clone()], None, Some(EARLY)),
        // Beside a tag the date would be ignored (RFC 9110 section 13.1.3).
        (vec![dated, both.clone()], None, Some(EARLY)),
        // The date is the chosen response's, or none.
        (vec![bare.clone(), both], Some(r#""a""#), None),
        (vec![bare], None, None),
        (vec![broken], None, None),
        // A tag that would mean any representation.
        (vec![star], None, None),
        (vec![], None, None),
    ] {
        let mut request = fields(&[("if-none-match", "*"), ("if-modified-since", LATE)]);
        condition(&mut request, &candidates(&stored));
        let value = |name| request.get(name).and_then(|value| value.to_str().ok());
        assert_eq!(value(IF_NONE_MATCH), tags, "{stored:?}");
        assert_eq!(value(IF_MODIFIED_SINCE), date, "{stored:?}");
    }
}

#[test]
fn the_list_of_tags_is_bounded_but_has_the_first() {
    let long = format!("\"{}\"", "x".repeat(LONGEST_LIST));
    let stored = [fields(&[("etag", &long)]), fields(&[("etag", r#""b""#)])];
    let mut request = HeaderMap::new();
    condition(&mut request, &candidates(&stored));
    assert_eq!(request.get(IF_NONE_MATCH).unwrap(), &long);
}

/// RFC 9111 section 4.3.4.
#[test]
fn which_stored_responses_a_304_selects() {
    let strong = fields(&[("etag", r#""a""#), ("last-modified", EARLY)]);
    let weak = fields(&[("etag", r#"W/"a""#), ("last-modified", EARLY)]);
    let other = fields(&[("etag", r#""b""#), ("last-modified", EARLY)]);
    let dated = fields(&[("last-modified", EARLY)]);
    let bare = fields(&[]);
    for (answer, stored, expected) in [
        // "All the stored responses in the initial set with one of those same strong validators".
        (&strong, vec![&other, &strong, &strong], &[1, 2][..]),
        // "MUST NOT use the new response to update any stored responses".
        (&strong, vec![&other], &[]),
        (&strong, vec![&weak], &[]),
        // The date is one of its validators; the answer to a request with it brings a tag for the first time.
        (&strong, vec![&dated], &[0]),
        (&strong, vec![&dated, &dated], &[0]),
        (&strong, vec![&dated, &other], &[]),
        (&strong, vec![&bare], &[]),
        // "the most recent of those matching stored responses": after the chosen one they stand in that order.
        (&weak, vec![&other, &strong, &weak], &[1]),
        (&weak, vec![&other], &[]),
        (&weak, vec![&dated], &[0]),
        (&dated, vec![&dated, &dated], &[0]),
        (&dated, vec![&other, &strong], &[0]),
        (&dated, vec![&bare], &[]),
        // "does not include any form of validator ... and there is only one stored response".
        (&bare, vec![&bare], &[0]),
        (&bare, vec![&strong], &[0]),
        (&bare, vec![&strong, &other], &[]),
        (&strong, vec![], &[]),
    ] {
        let stored: Vec<HeaderMap> = stored.into_iter().cloned().collect();
        assert_eq!(
            selected(answer, &candidates(&stored)),
            expected,
            "{answer:?} {stored:?}"
        );
    }
    // A response that has only a date is asked about alone: no other can be meant.
    let both = [dated.clone(), strong.clone()];
    for answer in [&bare, &dated, &strong] {
        let all = candidates(&both);
        let found = selected(answer, askable(&all));
        assert_eq!(found, [0], "{answer:?}");
    }
    let unequal = fields(&[("last-modified", LATE)]);
    // A date in the same second as its response is weak.
    let now = Time::parse(EARLY.as_bytes(), Time::from_secs(800_000_000)).unwrap();
    for (date, is_strong) in [(now, false), (now.plus(Duration::from_secs(1)), true)] {
        let found = selected(&strong, &[Validators::of(&dated, date)]);
        assert_eq!(!found.is_empty(), is_strong);
    }
    let renamed = fields(&[("etag", r#""a""#), ("last-modified", LATE)]);
    for answer in [unequal, renamed] {
        assert!(selected(&answer, &candidates(std::slice::from_ref(&dated))).is_empty());
    }
    let garbled = fields(&[("etag", "\"open")]);
    assert!(selected(&garbled, &candidates(&[strong])).is_empty());
}

/// RFC 9111 section 4.3.4: "those that could have been chosen for that request". Each row has the 304, the candidates,
/// each with whether it matches the request, and which of them are meant.
#[test]
fn of_variants_that_do_not_match_strong_tags_alone_count() {
    let strong = fields(&[("etag", r#""a""#), ("last-modified", EARLY)]);
    let weak = fields(&[("etag", r#"W/"a""#), ("last-modified", EARLY)]);
    let other = fields(&[("etag", r#""b""#)]);
    let dated = fields(&[("last-modified", EARLY)]);
    let bare = fields(&[]);
    let a = Some(r#""a""#);
    for (answer, stored, expected, offered) in [
        (&strong, vec![(&strong, false)], &[0][..], a),
        (
            &strong,
            vec![(&other, true), (&strong, false)],
            &[1],
            Some(r#""b", "a""#),
        ),
        // "MUST NOT use the new response to update any stored responses": the content of one is enough.
        (&strong, vec![(&strong, false), (&strong, false)], &[0], a),
        (&strong, vec![(&strong, false), (&strong, true)], &[1], a),
        (&weak, vec![(&weak, false)], &[], None),
        (&weak, vec![(&strong, false)], &[], a),
        (
            &weak,
            vec![(&weak, false), (&weak, true)],
            &[1],
            Some(r#"W/"a""#),
        ),
        (
            &weak,
            vec![(&weak, true), (&weak, false)],
            &[0],
            Some(r#"W/"a""#),
        ),
        (&dated, vec![(&dated, false)], &[], None),
        (&dated, vec![(&dated, false), (&dated, true)], &[1], None),
        (&bare, vec![(&strong, false)], &[], a),
        (&bare, vec![(&other, true)], &[0], Some(r#""b""#)),
    ] {
        let (maps, matches): (Vec<HeaderMap>, Vec<bool>) = stored
            .into_iter()
            .map(|(fields, matches)| (fields.clone(), matches))
            .unzip();
        let mut all = candidates(&maps);
        for (one, matches) in all.iter_mut().zip(matches) {
            one.matches = matches;
        }
        assert_eq!(selected(answer, &all), expected, "{answer:?} {all:?}");
        let mut request = HeaderMap::new();
        condition(&mut request, &all);
        let tags = request.get(IF_NONE_MATCH).map(HeaderValue::as_bytes);
        assert_eq!(tags, offered.map(str::as_bytes), "{all:?}");
        for one in all.iter().filter(|one| !one.matches) {
            assert_eq!(one.has_any(), one.tag().is_some(), "{one:?}");
        }
    }
}

#[test]
fn dates_are_the_same_however_they_are_written() {
    let stored = fields(&[("last-modified", EARLY)]);
    let answer = fields(&[("last-modified", "Tuesday, 15-Nov-94 12:45:26 GMT")]);
    assert_eq!(selected(&answer, &candidates(&[stored])), [0]);
}

/// RFC 9111 section 4.3.5. Each row has the HEAD's fields, the stored fields and length, and the result.
#[test]
fn what_a_head_says() {
    use HeadSays::{Disqualify, Freshen, Nothing};
    const TAG: (&str, &str) = ("etag", "\"a\"");
    const DATED: (&str, &str) = ("last-modified", EARLY);
    const LONG: (&str, &str) = ("last-modified", "Sat, 01 Mar 2025 00:00:00 GMT");
    const SHORT: (&str, &str) = ("last-modified", "Saturday, 01-Mar-25 00:00:00 GMT");
    const FIVE: (&str, &str) = ("content-length", "5");
    const GZIP: (&str, &str) = ("content-encoding", "gzip");
    let now = Time::from_secs(1_800_000_000);
    let (full, bare) = (&[TAG, DATED][..], &[][..]);
    for (head, stored, length, expected) in [
        (&[TAG][..], full, None, Freshen),
        (&[TAG, DATED, FIVE], full, Some(5), Freshen),
        (&[FIVE], bare, Some(5), Freshen),
        (&[("etag", "\"b\"")], full, None, Disqualify),
        (&[("etag", "W/\"a\"")], full, None, Disqualify),
        (&[TAG, ("last-modified", LATE)], full, None, Disqualify),
        (&[TAG, FIVE], full, Some(6), Disqualify),
        (&[TAG], bare, None, Disqualify),
        (&[("etag", "\"open")], full, None, Disqualify),
        (&[("etag", "\"open")], bare, None, Disqualify),
        (
            &[("last-modified", "soon")],
            &[("last-modified", "soon")],
            None,
            Freshen,
        ),
        (&[DATED], bare, None, Disqualify),
        (&[], full, Some(5), Nothing),
        (&[SHORT], &[LONG], None, Freshen),
        (&[FIVE], full, None, Nothing),
        (&[TAG, GZIP], full, None, Nothing),
        (&[("etag", "W/\"a\""), GZIP], full, None, Nothing),
    ] {
        let says = |status| head_says(status, &fields(head), &fields(stored), length, now);
        assert_eq!(says(StatusCode::OK), expected, "{head:?}");
        assert_eq!(says(StatusCode::NOT_FOUND), Nothing, "{head:?}");
        assert_eq!(says(StatusCode::NOT_MODIFIED), Nothing, "{head:?}");
    }
}

/// RFC 9110 section 8.8.3.2: strong comparison.
#[test]
fn only_strong_tags_show_the_same_content() {
    for (head, stored, expected) in [
        (Some("\"a\""), Some("\"a\""), true),
        (Some("\"a\""), Some("\"b\""), false),
        (Some("W/\"a\""), Some("W/\"a\""), false),
        (Some("\"a\""), None, false),
        (None, None, false),
    ] {
        let with = |tag: Option<&str>| {
            let tag = tag.map(|tag| ("etag", tag));
            fields(&[&[("last-modified", EARLY)], tag.as_slice()].concat())
        };
        let found = is_same_content(&with(head), &with(stored));
        assert_eq!(found, expected, "{head:?} {stored:?}");
    }
}

#[test]
fn what_a_request_can_name() {
    for (lines, matches, expected) in [
        (&[("etag", "\"a\"")][..], true, true),
        (&[("etag", "\"a\"")], false, true),
        (&[("etag", "W/\"a\"")], true, true),
        (&[("etag", "W/\"a\"")], false, false),
        (&[("last-modified", EARLY)], true, true),
        (&[("last-modified", EARLY)], false, false),
        (&[], true, false),
    ] {
        let stored = fields(lines);
        let of = Validators::of(&stored, Time::from_secs(1));
        let has_any = Validators { matches, ..of }.has_any();
        assert_eq!(has_any, expected, "{lines:?} {matches}");
    }
}

proptest! {
    #[test]
    fn a_304_selects_nothing_it_does_not_name(tags in prop::collection::vec("(W/)?\"[ab]\"", 1..5), answer in "(W/)?\"[ab]\"") {
        let stored: Vec<HeaderMap> = tags.iter().map(|tag| fields(&[("etag", tag)])).collect();
        for index in selected(&fields(&[("etag", &answer)]), &candidates(&stored)) {
            prop_assert_eq!(tags[index].trim_start_matches("W/"), answer.trim_start_matches("W/"));
        }
    }
}
