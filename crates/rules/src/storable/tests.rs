use super::*;
use crate::time::Time;
use http::HeaderValue;
use std::time::Duration;

mod demands;
mod post;
mod properties;

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
fn a_site_default_is_permission_enough() {
    let mut site = SITE;
    site.freshness.default_lifetime = Some(Duration::from_secs(5));
    for status in [200, 302, 500] {
        assert!(exchange("GET", &[], status, &[], &site).is_ok(), "{status}");
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
fn reasons_that_lie_in_one_request() {
    for (reason, is_of_it) in [
        (NotStorable::NoStoreRequest, true),
        (NotStorable::Authorization, true),
        (NotStorable::SetCookie, true),
        (NotStorable::Private, false),
        (NotStorable::NoStore, false),
        (NotStorable::NoFreshness, false),
    ] {
        assert_eq!(reason.is_of_this_request(), is_of_it, "{reason}");
    }
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
        (NotStorable::Connection, "connection"),
        (NotStorable::NoFreshness, "no-freshness"),
        (NotStorable::EventStream, "event-stream"),
    ] {
        assert_eq!(reason.to_string(), token);
    }
}
