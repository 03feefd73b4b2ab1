//! Responses to `POST` (RFC 9110 section 9.3.3).

use super::*;

/// Whether the response to a `POST` to [`TARGET`] is stored.
fn is_stored(status: u16, response: &HeaderMap) -> bool {
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
}

/// An explicitly fresh response with this `Content-Location`.
fn located(location: &str) -> HeaderMap {
    let mut response = fields(FRESH);
    response.insert("content-location", HeaderValue::from_str(location).unwrap());
    response
}

#[test]
fn the_location_is_the_target_however_it_is_written() {
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
        ("../a/b?q=1", true),
        ("./b?q=1", true),
        ("http://example.org:80/a/b?q=1", true),
        ("/%61/b?q=%31", true),
        ("/a%2Fb?q=1", false),
        ("/a/b?q=1&", false),
        ("//", false),
    ] {
        assert_eq!(is_stored(200, &located(location)), same, "{location}");
    }
}

#[test]
fn post_rfc_9110_section_9_3_3() {
    assert!(is_stored(201, &located(TARGET)));
    for status in [204, 205, 206, 301, 404, 500] {
        assert!(!is_stored(status, &located(TARGET)), "{status}");
    }
    assert!(!is_stored(200, &fields(FRESH)));
    let mut implicit = located(TARGET);
    implicit.remove("cache-control");
    implicit.insert(
        "last-modified",
        HeaderValue::from_static("Sun, 06 Nov 1983 08:49:37 GMT"),
    );
    assert!(!is_stored(200, &implicit));
    let mut twice = located(TARGET);
    twice.append("content-location", HeaderValue::from_static(TARGET));
    assert!(!is_stored(200, &twice));
}
