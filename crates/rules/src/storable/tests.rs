use super::*;
use crate::time::Time;
use http::HeaderValue;
use proptest::{prelude::*, sample::select};
use std::time::Duration;

const NOW: Time = Time::from_secs(784_111_777);
static CDN: [HeaderName; 1] = [HeaderName::from_static("cdn-cache-control")];
const TARGET: &str = "http://example.org/a/b?q=1";
const SITE: Site<'static> = Site {
    freshness: freshness::Site {
        default_lifetime: None,
        override_lifetime: None,
        longest_lifetime: None,
        stale_while_revalidate: None,
        stale_if_error: None,
        heuristic: true,
    },
    set_cookie: SetCookie::Refuse,
    targets: &CDN,
};

type Lines = &'static [(&'static str, &'static str)];

fn fields(lines: Lines) -> HeaderMap {
    lines
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        })
        .collect()
}

fn exchange(
    method: &str,
    request: Lines,
    status: u16,
    response: Lines,
    site: &Site<'_>,
) -> Result<Storable, NotStorable> {
    let request = fields(request);
    judge(
        &Exchange {
            method: &method.parse().unwrap(),
            request: &request,
            request_directives: &directives::request(&request),
            target: TARGET,
            status: StatusCode::from_u16(status).unwrap(),
            response: &fields(response),
            request_time: NOW,
            response_time: NOW,
        },
        site,
    )
}

/// A `GET` without fields.
fn get(status: u16, response: Lines) -> Result<(), NotStorable> {
    exchange("GET", &[], status, response, &SITE).map(|_| ())
}

const fn forced() -> Site<'static> {
    Site {
        freshness: freshness::Site {
            override_lifetime: Some(Duration::from_mins(1)),
            ..SITE.freshness
        },
        ..SITE
    }
}

const FRESH: Lines = &[("cache-control", "max-age=60")];

#[test]
fn any_final_status_with_explicit_freshness() {
    for status in 200..1000 {
        let expected = match status {
            // RFC 9111 section 3.3: needs Content-Range; a 304 freshens, it is not stored.
            206 | 304 | 416 => Err(NotStorable::Status),
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
    const CC: &str = "cache-control";
    let rows: &[(u16, Lines, Result<(), NotStorable>)] = &[
        (500, &[(CC, "max-age=60")], Ok(())),
        (500, &[(CC, "s-maxage=60")], Ok(())),
        (500, &[("expires", "Mon, 07 Nov 1994 08:49:37 GMT")], Ok(())),
        (500, &[("cdn-cache-control", "max-age=60")], Ok(())),
        (500, &[(CC, "public"), TAG], Ok(())),
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
        // Stale from the first moment, but a validator can make use of it.
        (500, &[("expires", "0"), TAG], Ok(())),
        (500, &[(CC, "max-age=0"), TAG], Ok(())),
        // Neither lifetime, nor stale window, nor validator.
        (200, &[], Err(NotStorable::NoFreshness)),
        (200, &[(CC, "public")], Err(NotStorable::NoFreshness)),
        (200, &[(CC, "max-age=0")], Err(NotStorable::NoFreshness)),
        (200, &[(CC, "max-age=x")], Err(NotStorable::NoFreshness)),
        (200, &[("expires", "0")], Err(NotStorable::NoFreshness)),
        (200, &[(CC, "max-age=0, stale-while-revalidate=5")], Ok(())),
        (200, &[(CC, "max-age=0, stale-if-error=5")], Ok(())),
        (
            200,
            &[(CC, "max-age=0, stale-if-error=5, must-revalidate")],
            Err(NotStorable::NoFreshness),
        ),
        // A targeted field hides Cache-Control and Expires (RFC 9213 section 2.2).
        (
            500,
            &[("cdn-cache-control", "none"), (CC, "max-age=60"), TAG],
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

#[test]
fn a_site_default_is_permission_enough() {
    let mut site = SITE;
    site.freshness.default_lifetime = Some(Duration::from_secs(5));
    for status in [200, 302, 500] {
        assert!(exchange("GET", &[], status, &[], &site).is_ok(), "{status}");
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
        // Not stored with the response in any case.
        (&[COOKIE, (CC, "max-age=60, no-cache=\"set-cookie\"")], true),
        (&[COOKIE, (CC, "max-age=60, private=\"set-cookie\"")], true),
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
fn a_forced_lifetime_overrules_the_origin_and_nothing_else() {
    const CC: &str = "cache-control";
    let force = |request: Lines, status, response: Lines| {
        exchange("GET", request, status, response, &forced()).map(|_| ())
    };
    for response in [
        &[],
        &[(CC, "no-store")],
        &[(CC, "private")],
        &[(CC, "no-cache")],
    ] as [Lines; 4]
    {
        assert_eq!(force(&[], 302, response), Ok(()), "{response:?}");
    }
    assert_eq!(
        force(&[], 200, &[("vary", "*")]),
        Err(NotStorable::VaryStar)
    );
    assert_eq!(
        force(&[], 200, &[("set-cookie", "a=b")]),
        Err(NotStorable::SetCookie)
    );
    assert_eq!(
        force(&[(CC, "no-store")], 200, FRESH),
        Err(NotStorable::NoStoreRequest)
    );
    assert_eq!(force(&[], 304, FRESH), Err(NotStorable::Status));
}

#[test]
fn methods() {
    for method in [
        "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "QUERY", "get", "FOO",
    ] {
        let judged = exchange(method, &[], 200, FRESH, &SITE);
        assert_eq!(judged, Err(NotStorable::Method), "{method}");
    }
}

#[test]
fn post_rfc_9110_section_9_3_3() {
    let post = |status, response: &HeaderMap| {
        let judged = judge(
            &Exchange {
                method: &Method::POST,
                request: &HeaderMap::new(),
                request_directives: &RequestDirectives::default(),
                target: TARGET,
                status: StatusCode::from_u16(status).unwrap(),
                response,
                request_time: NOW,
                response_time: NOW,
            },
            &SITE,
        );
        judged.is_ok()
    };
    let located = |location: &str| {
        let mut response = fields(FRESH);
        response.insert("content-location", HeaderValue::from_str(location).unwrap());
        response
    };
    for (location, same) in [
        (TARGET, true),
        ("HTTP://EXAMPLE.org/a/b?q=1", true),
        ("//example.org/a/b?q=1", true),
        ("/a/b?q=1", true),
        ("b?q=1", true),
        ("?q=1", true),
        ("", true),
        ("/a/b", false),
        ("/a/b?q=2", false),
        ("/A/b?q=1", false),
        ("b", false),
        ("?", false),
        ("https://example.org/a/b?q=1", false),
        ("http://example.org:81/a/b?q=1", false),
        ("http://other.org/a/b?q=1", false),
        ("//other.org/a/b?q=1", false),
        ("http://example.org", false),
        ("../a/b?q=1", false),
        ("//", false),
    ] {
        assert_eq!(post(200, &located(location)), same, "{location}");
    }
    assert!(post(201, &located(TARGET)));
    for status in [204, 205, 206, 301, 404, 500] {
        assert!(!post(status, &located(TARGET)), "{status}");
    }
    assert!(!post(200, &fields(FRESH)));
    let mut implicit = located(TARGET);
    implicit.remove("cache-control");
    implicit.insert(
        "last-modified",
        HeaderValue::from_static("Sun, 06 Nov 1983 08:49:37 GMT"),
    );
    assert!(!post(200, &implicit));
    let mut twice = located(TARGET);
    twice.append("content-location", HeaderValue::from_static(TARGET));
    assert!(!post(200, &twice));
}

#[test]
fn parts_are_storable_where_they_can_be_placed() {
    const CC: (&str, &str) = ("cache-control", "max-age=60");
    let rows: &[(Lines, bool)] = &[
        (&[CC, ("content-range", "bytes 0-4/10")], true),
        (&[CC, ("content-range", "bytes 0-4/*")], true),
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
    let conditional = exchange("GET", &[("if-match", "\"a\"")], 412, FRESH, &SITE);
    assert_eq!(conditional, Err(NotStorable::Status));
}

#[test]
fn reasons_have_tokens() {
    for (reason, token) in [
        (NotStorable::Method, "method"),
        (NotStorable::Status, "status"),
        (NotStorable::NoStoreRequest, "no-store-request"),
        (NotStorable::NoStore, "no-store"),
        (NotStorable::Private, "private"),
        (NotStorable::Authorization, "authorization"),
        (NotStorable::MustUnderstand, "must-understand"),
        (NotStorable::SetCookie, "set-cookie"),
        (NotStorable::VaryStar, "vary-star"),
        (NotStorable::TooManyTags, "too-many-tags"),
        (NotStorable::NoFreshness, "no-freshness"),
    ] {
        assert_eq!(reason.to_string(), token);
    }
}

/// Names and values that the judgement looks at, and any others.
fn any_fields() -> impl Strategy<Value = HeaderMap> {
    let names = select(vec![
        "age",
        "authorization",
        "cache-control",
        "cdn-cache-control",
        "content-location",
        "content-range",
        "content-type",
        "date",
        "etag",
        "expires",
        "last-modified",
        "pragma",
        "set-cookie",
        "vary",
    ]);
    let values = prop_oneof![
        proptest::collection::vec(32u8..=255, 0..30),
        "(no-store|private|public|max-age|s-maxage)[=, \"0-9a-z-]{0,20}"
            .prop_map(String::into_bytes),
        "(bytes )?[0-9]{0,4}[-/*][0-9]{0,4}/?[0-9]{0,4}".prop_map(String::into_bytes),
        "[A-Z][a-z]{2}, [0-3][0-9] Nov 19[0-9]{2} 08:49:37 GMT".prop_map(String::into_bytes),
    ];
    proptest::collection::vec((names, values), 0..8).prop_map(|lines| {
        let mut fields = HeaderMap::new();
        for (name, value) in lines {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                fields.append(HeaderName::from_static(name), value);
            }
        }
        fields
    })
}

proptest! {
    #[test]
    fn no_exchange_panics_or_stores_what_is_forbidden(
        request in any_fields(),
        response in any_fields(),
        status in 100u16..1000,
        post in any::<bool>(),
        times in any::<(u64, u64)>(),
    ) {
        let asked = directives::request(&request);
        let judged = judge(
            &Exchange {
                method: if post { &Method::POST } else { &Method::GET },
                request: &request,
                request_directives: &asked,
                target: TARGET,
                status: StatusCode::from_u16(status).unwrap(),
                response: &response,
                request_time: Time::from_millis(times.0),
                response_time: Time::from_millis(times.1),
            },
            &SITE,
        );
        let (said, _) = directives::response(&response, &CDN);
        if judged.is_ok() {
            prop_assert!(status >= 200 && status != 304);
            prop_assert!(!asked.no_store && (!said.no_store || said.must_understand));
            prop_assert!(!said.private.is_whole());
            let is_shared = said.public || said.must_revalidate || said.s_maxage.is_some();
            prop_assert!(is_shared || !request.contains_key("authorization"));
        }
    }
}
