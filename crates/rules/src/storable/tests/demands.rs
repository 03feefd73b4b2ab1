//! The demands of RFC 9111 section 3, and what each lets through.

#![expect(
    clippy::too_many_lines,
    reason = "tables are as long as they have rows"
)]

use super::*;

#[test]
fn any_final_status_with_explicit_freshness() {
    for status in 200..1000 {
        let expected = match status {
            // RFC 9111 section 3.3: needs Content-Range; a 304 freshens, it is not stored. RFC 6585 sections 3 to 6 for
            // the statuses from 428 on.
            206 | 304 | 416 | 426 | 428 | 429 | 431 | 511 => Err(NotStorable::Status),
            _ => Ok(()),
        };
        assert_eq!(get(status, FRESH), expected, "{status}");
    }
    for status in [100, 101, 102, 103, 199] {
        assert_eq!(get(status, FRESH), Err(NotStorable::Status), "{status}");
    }
}

#[test]
fn at_least_one_of_rfc_9111_section_3() {
    const TAG: (&str, &str) = ("etag", "\"a\"");
    const EVENTS: (&str, &str) = ("content-type", "text/event-stream");
    const CC: &str = "cache-control";
    let rows: &[(u16, Lines, Result<(), NotStorable>)] = &[
        (500, &[(CC, "max-age=60")], Ok(())),
        (500, &[(CC, "s-maxage=60")], Ok(())),
        (500, &[("expires", "Mon, 07 Nov 1994 08:49:37 GMT")], Ok(())),
        (500, &[("cdn-cache-control", "max-age=60")], Ok(())),
        (501, &[(CC, "public"), TAG], Ok(())),
        (200, &[TAG], Ok(())),
        (
            200,
            &[("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")],
            Ok(()),
        ),
        (500, &[TAG], Err(NotStorable::NoFreshness)),
        (302, &[TAG], Err(NotStorable::NoFreshness)),
        (
            302,
            &[(CC, "stale-while-revalidate=60"), TAG],
            Err(NotStorable::NoFreshness),
        ),
        (302, &[(CC, "public"), TAG], Ok(())),
        // Stale from the first moment, but useful to validate.
        (501, &[("expires", "0"), TAG], Ok(())),
        (501, &[(CC, "max-age=0"), TAG], Ok(())),
        // Neither lifetime, nor stale window, nor validator.
        (200, &[], Err(NotStorable::NoFreshness)),
        (200, &[(CC, "public")], Err(NotStorable::NoFreshness)),
        (200, &[(CC, "max-age=0")], Err(NotStorable::NoFreshness)),
        (200, &[(CC, "max-age=x")], Err(NotStorable::NoFreshness)),
        (200, &[("expires", "0")], Err(NotStorable::NoFreshness)),
        (
            200,
            &[(CC, "stale-while-revalidate=0, stale-if-error=0")],
            Err(NotStorable::NoFreshness),
        ),
        (200, &[(CC, "max-age=0, stale-while-revalidate=5")], Ok(())),
        (200, &[(CC, "max-age=0, stale-if-error=5")], Ok(())),
        (
            200,
            &[(CC, "max-age=0, stale-if-error=5, must-revalidate")],
            Err(NotStorable::NoFreshness),
        ),
        // The next event stream is another, whatever its validator.
        (200, &[EVENTS, TAG], Err(NotStorable::EventStream)),
        (
            200,
            &[EVENTS, (CC, "max-age=0"), TAG],
            Err(NotStorable::EventStream),
        ),
        (200, &[EVENTS, (CC, "max-age=1")], Ok(())),
        // A targeted field hides Cache-Control and Expires (RFC 9213 section 2.2).
        (
            500,
            &[("cdn-cache-control", "none"), (CC, "max-age=60"), TAG],
            Err(NotStorable::NoFreshness),
        ),
        (
            302,
            &[
                ("cdn-cache-control", "none"),
                ("expires", "Mon, 07 Nov 1994 08:49:37 GMT"),
                TAG,
            ],
            Err(NotStorable::NoFreshness),
        ),
        (
            200,
            &[("cdn-cache-control", "max-age=60"), (CC, "no-store")],
            Ok(()),
        ),
        (
            200,
            &[("cdn-cache-control", "no-store"), (CC, "max-age=60")],
            Err(NotStorable::NoStore),
        ),
    ];
    for (status, response, expected) in rows {
        assert_eq!(get(*status, response), *expected, "{status} {response:?}");
    }
}

/// RFC 5861 section 4: a failure that answers nobody must not replace a response that could stand in for it.
#[test]
fn a_failure_is_stored_where_it_may_be_sent_again() {
    const TAG: (&str, &str) = ("etag", "\"a\"");
    const CC: &str = "cache-control";
    let rows: &[(Lines, Result<(), NotStorable>)] = &[
        (&[(CC, "max-age=1"), TAG], Ok(())),
        (&[(CC, "max-age=0, stale-while-revalidate=5"), TAG], Ok(())),
        (
            &[(CC, "max-age=0, stale-if-error=5"), TAG],
            Err(NotStorable::NoFreshness),
        ),
        (&[(CC, "max-age=0"), TAG], Err(NotStorable::NoFreshness)),
        (
            &[(CC, "max-age=1, no-cache"), TAG],
            Err(NotStorable::NoFreshness),
        ),
        (&[(CC, "public"), TAG], Err(NotStorable::NoFreshness)),
    ];
    for status in [500, 502, 503, 504] {
        for (response, expected) in rows {
            assert_eq!(get(status, response), *expected, "{status} {response:?}");
        }
    }
}

#[test]
fn prohibitions() {
    const CC: &str = "cache-control";
    let rows: &[(u16, Lines, Result<(), NotStorable>)] = &[
        (
            200,
            &[(CC, "no-store, max-age=60")],
            Err(NotStorable::NoStore),
        ),
        (
            200,
            &[(CC, "private, max-age=60")],
            Err(NotStorable::Private),
        ),
        (
            200,
            &[(CC, "private, public, max-age=60")],
            Err(NotStorable::Private),
        ),
        // RFC 9111 section 5.2.2.7: the remainder may be stored.
        (200, &[(CC, "private=\"x-user\", max-age=60")], Ok(())),
        // Section 5.2.2.3: no-store is ignored where the status is understood.
        (
            200,
            &[(CC, "no-store, must-understand, max-age=60")],
            Ok(()),
        ),
        (
            299,
            &[(CC, "no-store, must-understand, max-age=60")],
            Err(NotStorable::MustUnderstand),
        ),
        (
            299,
            &[(CC, "must-understand, max-age=60")],
            Err(NotStorable::MustUnderstand),
        ),
        // Section 5.2.2.4.
        (
            200,
            &[(CC, "no-cache, max-age=60"), ("etag", "\"a\"")],
            Ok(()),
        ),
        (
            200,
            &[(CC, "no-cache, max-age=60")],
            Err(NotStorable::NoFreshness),
        ),
        (200, &[(CC, "no-cache=\"x-user\", max-age=60")], Ok(())),
        // Section 4.1.
        (
            200,
            &[(CC, "max-age=60"), ("vary", "accept, *")],
            Err(NotStorable::VaryStar),
        ),
        (200, &[(CC, "max-age=60"), ("vary", "accept")], Ok(())),
        // RFC 9110 section 7.6.1: what `Connection` names is for its recipient alone.
        (
            200,
            &[(CC, "max-age=60"), ("connection", "cache-control")],
            Err(NotStorable::Connection),
        ),
        (200, &[(CC, "max-age=60"), ("connection", "close")], Ok(())),
    ];
    for (status, response, expected) in rows {
        assert_eq!(get(*status, response), *expected, "{status} {response:?}");
    }
    // Section 5.2.1.5.
    let asked = exchange("GET", &[("cache-control", "no-store")], 200, FRESH, &SITE);
    assert_eq!(asked, Err(NotStorable::NoStoreRequest));
}

#[test]
fn authorization_rfc_9111_section_3_5() {
    const CC: &str = "cache-control";
    let authorized = |response: Lines, site: &Site<'_>| {
        exchange("GET", &[("authorization", "Basic x")], 200, response, site).map(|_| ())
    };
    let rows: &[(Lines, bool, bool)] = &[
        // response, storable, storable under a forced lifetime
        (FRESH, false, false),
        (&[(CC, "max-age=60, public")], true, true),
        (&[(CC, "max-age=60, must-revalidate")], true, false),
        (&[(CC, "s-maxage=60")], true, false),
        (&[(CC, "max-age=60, proxy-revalidate")], false, false),
        (&[(CC, "public=x, max-age=60")], false, false),
        (&[("cdn-cache-control", "max-age=60, public")], true, true),
        (
            &[("cdn-cache-control", "max-age=60"), (CC, "public")],
            false,
            false,
        ),
    ];
    for (response, plainly, when_forced) in rows {
        let expected = |allowed: bool| allowed.then_some(()).ok_or(NotStorable::Authorization);
        assert_eq!(
            authorized(response, &SITE),
            expected(*plainly),
            "{response:?}"
        );
        assert_eq!(
            authorized(response, &forced()),
            expected(*when_forced),
            "forced: {response:?}"
        );
    }
}

#[test]
fn cookies() {
    const CC: &str = "cache-control";
    const COOKIE: (&str, &str) = ("set-cookie", "a=b");
    let rows: &[(Lines, bool)] = &[
        (&[COOKIE, (CC, "max-age=60")], false),
        (&[COOKIE, (CC, "max-age=60, public")], true),
        (&[COOKIE, (CC, "s-maxage=60")], true),
        (&[COOKIE, ("cdn-cache-control", "max-age=60")], true),
        // The field is not stored with the response in any case.
        (&[COOKIE, (CC, "max-age=60, no-cache=\"set-cookie\"")], true),
        (&[COOKIE, (CC, "max-age=60, private=\"set-cookie\"")], true),
        (
            &[
                COOKIE,
                (CC, "no-cache=\"set-cookie\", no-cache"),
                ("etag", "\"a\""),
            ],
            true,
        ),
        (&[COOKIE, (CC, "max-age=60, private=\"x-user\"")], false),
        (&[COOKIE, (CC, "max-age=60, no-cache=\"x-user\"")], false),
    ];
    for (response, meant) in rows {
        let with = |set_cookie| {
            let judged = exchange("GET", &[], 200, response, &Site { set_cookie, ..SITE });
            judged.map(|storable| storable.strip_set_cookie)
        };
        let refused = if *meant {
            Ok(false)
        } else {
            Err(NotStorable::SetCookie)
        };
        assert_eq!(with(SetCookie::Refuse), refused, "{response:?}");
        assert_eq!(with(SetCookie::Strip), Ok(true), "{response:?}");
        assert_eq!(with(SetCookie::Store), Ok(false), "{response:?}");
    }
}

#[test]
fn parts_are_storable_where_they_can_be_placed() {
    const CC: (&str, &str) = ("cache-control", "max-age=60");
    let rows: &[(Lines, bool)] = &[
        (&[CC, ("content-range", "bytes 0-4/10")], true),
        (&[CC, ("content-range", "bytes 0-4/*")], true),
        (
            &[
                CC,
                ("content-range", "bytes 0-4/10"),
                ("content-type", "multipart/mixed; boundary=x"),
            ],
            true,
        ),
        (&[CC], false),
        (&[CC, ("content-range", "bytes 4-0/10")], false),
        (&[CC, ("content-range", "lines 0-4/10")], false),
        (
            &[
                CC,
                ("content-range", "bytes 0-4/10"),
                ("content-range", "bytes 0-4/10"),
            ],
            false,
        ),
        (
            &[
                CC,
                ("content-range", "bytes 0-4/10"),
                ("content-type", "Multipart/Byteranges; boundary=x"),
            ],
            false,
        ),
    ];
    for (response, storable) in rows {
        assert_eq!(get(206, response).is_ok(), *storable, "{response:?}");
    }
}

/// The request's condition is no part of the key: other clients would get its failure.
#[test]
fn a_failed_condition_is_the_requests_own() {
    let conditions: [Lines; 2] = [
        &[("if-match", "\"a\"")],
        &[("if-unmodified-since", "Sun, 06 Nov 1994 08:49:37 GMT")],
    ];
    for condition in conditions {
        let judged = exchange("GET", condition, 412, FRESH, &SITE);
        assert_eq!(judged, Err(NotStorable::Status), "{condition:?}");
    }
}

/// A purge by a name that was left out would miss the response.
#[test]
fn what_not_all_of_its_names_could_purge() {
    let names = |name, value: String| {
        let lines = vec![("cache-control", "max-age=60"), (name, &*value.leak())];
        get(200, lines.leak())
    };
    for (length, expected) in [(9, Ok(())), (100_000, Err(NotStorable::TooManyTags))] {
        let long = "x".repeat(length);
        assert_eq!(names("cache-tag", long.clone()), expected);
        assert_eq!(names("cache-groups", format!("\"{long}\"")), expected);
    }
}

/// RFC 9111 section 5.2.2.3: the statuses whose caching-related behaviour is implemented, which are those of RFC 9110
/// section 15.
#[test]
fn statuses_that_are_understood() {
    const SAYS: Lines = &[("cache-control", "must-understand, max-age=60")];
    let understood = [
        200..=205,
        300..=303,
        305..=305,
        307..=308,
        400..=415,
        417..=417,
        421..=422,
        426..=426,
        500..=505,
    ];
    for status in 200..600 {
        let is_understood = understood.iter().any(|range| range.contains(&status));
        match get(status, SAYS) {
            Ok(()) => assert!(is_understood, "{status}"),
            Err(NotStorable::MustUnderstand) => assert!(!is_understood, "{status}"),
            // These are never stored in this form, or are refused for another reason.
            Err(NotStorable::Status) => {
                assert!(
                    [206, 304, 416, 426, 428, 429, 431, 511].contains(&status),
                    "{status}"
                );
            }
            Err(why) => panic!("{status}: {why}"),
        }
    }
}
