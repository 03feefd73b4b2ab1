//! Where a lifetime comes from (RFC 9111 sections 4.2.1 and 4.2.2).

use super::*;

const HOUR: u64 = 3600;

const DAY: u64 = 24 * HOUR;

/// The source and the seconds of a response's lifetime, for a site that uses the heuristic and sets nothing else.
fn lifetime(fields: &HeaderMap) -> (LifetimeSource, u64) {
    let site = Site {
        heuristic: true,
        ..Site::default()
    };
    let facts = judge(fields, &site);
    (facts.source, facts.lifetime_ms / 1000)
}

#[test]
fn the_order_of_rfc_9111_section_4_2_1() {
    let all = [
        ("cdn-cache-control", "max-age=1".to_owned()),
        ("cache-control", "s-maxage=2, max-age=3".to_owned()),
        ("expires", date(4)),
        ("last-modified", date(-50)),
    ];
    assert_eq!(lifetime(&fields(&all)), (LifetimeSource::Targeted, 1));
    assert_eq!(lifetime(&fields(&all[1..])), (LifetimeSource::SMaxAge, 2));
    for (value, seconds) in [("7", 7), ("0", 0), ("-1", 0), ("7 ", 7), ("", 0)] {
        let mut proxied = fields(&all[1..]);
        proxied.insert("x-reverse-proxy-ttl", HeaderValue::from_str(value).unwrap());
        assert_eq!(
            lifetime(&proxied),
            (LifetimeSource::ReverseProxyTtl, seconds)
        );
    }
    let mut only_max_age = fields(&all[1..]);
    only_max_age.insert("cache-control", HeaderValue::from_static("max-age=3"));
    assert_eq!(lifetime(&only_max_age), (LifetimeSource::MaxAge, 3));
    assert_eq!(lifetime(&fields(&all[2..])), (LifetimeSource::Expires, 4));
    assert_eq!(lifetime(&fields(&all[3..])), (LifetimeSource::Heuristic, 5));
    assert_eq!(lifetime(&HeaderMap::new()), (LifetimeSource::None, 0));

    let site = Site {
        default_lifetime: Some(Duration::from_millis(500)),
        heuristic: true,
        ..Site::default()
    };
    let default = judge(&fields(&all[3..]), &site);
    assert_eq!(
        (default.source, default.lifetime_ms),
        (LifetimeSource::Default, 500)
    );
    assert_eq!(
        judge(&fields(&all[2..]), &site).source,
        LifetimeSource::Expires
    );
    let site = Site {
        override_lifetime: Some(Duration::from_secs(9)),
        ..site
    };
    let forced = judge(&fields(&all), &site);
    assert_eq!(
        (forced.source, forced.lifetime_ms),
        (LifetimeSource::Override, 9000)
    );
}

#[test]
fn nobody_gives_more_than_the_longest_lifetime() {
    let site = Site {
        longest_lifetime: Some(Duration::from_secs(5)),
        stale_while_revalidate: Some(60),
        stale_if_error: Some(60),
        ..Site::default()
    };
    let given = |seconds| Some(Duration::from_secs(seconds));
    for (line, default_lifetime, override_lifetime, expected) in [
        ("max-age=3600, stale-while-revalidate=60", None, None, 5),
        ("s-maxage=3600", None, None, 5),
        ("max-age=3", given(3600), None, 3),
        ("public", given(3600), None, 5),
        ("public", given(3), None, 3),
        ("no-store", None, given(3600), 5),
        ("max-age=3600", None, given(0), 0),
        ("public", None, None, 0),
    ] {
        let site = Site {
            default_lifetime,
            override_lifetime,
            ..site
        };
        let facts = judge(&says(line), &site);
        assert_eq!(facts.lifetime_ms, expected * 1000, "{line} {site:?}");
        assert_eq!(facts.stale_while_revalidate, None, "{line} {site:?}");
    }
    assert_eq!(judge(&says("max-age=9"), &site).stale_if_error, Some(60));
}

#[test]
fn a_targeted_field_hides_cache_control_and_expires() {
    let site = Site {
        default_lifetime: Some(Duration::from_secs(7)),
        ..Site::default()
    };
    let response = fields(&[
        ("cdn-cache-control", "none".to_owned()),
        ("cache-control", "s-maxage=2, must-revalidate".to_owned()),
        ("expires", date(4)),
    ]);
    let facts = judge(&response, &site);
    assert_eq!(
        (facts.source, facts.lifetime_ms),
        (LifetimeSource::Default, 7000)
    );
    assert!(!facts.must_revalidate);
    let both = fields(&[("cdn-cache-control", "max-age=1, s-maxage=5".to_owned())]);
    assert_eq!(lifetime(&both), (LifetimeSource::Targeted, 5));
}

#[test]
fn expires_minus_date() {
    for (lines, seconds) in [
        (vec![("expires", date(100))], 100),
        (vec![("expires", date(100)), ("date", date(40))], 60),
        (vec![("expires", date(100)), ("date", date(-40))], 140),
        // RFC 9110 section 6.6.1: without a valid Date the time of receipt stands for it.
        (
            vec![("expires", date(100)), ("date", "today".to_owned())],
            100,
        ),
        (vec![("expires", date(-100))], 0),
        (vec![("expires", date(0))], 0),
        // RFC 9111 section 5.3: invalid dates, especially "0", have expired already.
        (vec![("expires", "0".to_owned())], 0),
        (vec![("expires", "-1".to_owned())], 0),
        (vec![("expires", String::new())], 0),
        (vec![("expires", date(100).replace("GMT", "UTC"))], 0),
        // Section 4.2.1: more than one value: the first, or stale.
        (vec![("expires", date(100)), ("expires", date(100))], 100),
        (vec![("expires", date(100)), ("expires", date(200))], 0),
        (
            vec![("expires", format!("{}, {}", date(100), date(100)))],
            0,
        ),
    ] {
        assert_eq!(
            lifetime(&fields(&lines)),
            (LifetimeSource::Expires, seconds),
            "{lines:?}"
        );
    }
    // Section 5.3: with max-age, even a malformed one, Expires MUST be ignored.
    let both = fields(&[
        ("expires", date(100)),
        ("cache-control", "max-age=x".to_owned()),
    ]);
    assert_eq!(lifetime(&both), (LifetimeSource::MaxAge, 0));
}

#[test]
fn the_heuristic_of_rfc_9111_section_4_2_2() {
    let site = Site {
        heuristic: true,
        ..Site::default()
    };
    let modified = |ago: u64| fields(&[("last-modified", date(-ago.cast_signed()))]);
    let seconds =
        |status, fields: &HeaderMap| judge_as(status, fields, &site, NOW).lifetime_ms / 1000;
    assert_eq!(seconds(200, &modified(10 * HOUR)), HOUR);
    assert_eq!(seconds(200, &modified(1000 * DAY)), 100 * DAY);
    for status in [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501] {
        assert_eq!(seconds(status, &modified(1000)), 100, "{status}");
    }
    for status in [
        201, 202, 302, 303, 307, 400, 401, 403, 429, 500, 502, 503, 504, 299, 599,
    ] {
        assert_eq!(seconds(status, &modified(1000)), 0, "{status}");
        // Section 5.2.2.9: `public` makes it heuristically cacheable.
        let mut public = modified(1000);
        public.insert("cache-control", HeaderValue::from_static("public"));
        assert_eq!(seconds(status, &public), 100, "{status}");
    }
    // The time until a `Date` in the future has not passed.
    let mut ahead = modified(1000);
    ahead.insert("date", HeaderValue::from_str(&date(1000)).unwrap());
    assert_eq!(lifetime(&ahead), (LifetimeSource::Heuristic, 100));
    let future = fields(&[("last-modified", date(1000))]);
    assert_eq!(lifetime(&future), (LifetimeSource::None, 0));
    let invalid = fields(&[("last-modified", "yesterday".to_owned())]);
    assert_eq!(lifetime(&invalid), (LifetimeSource::None, 0));
    assert_eq!(
        judge(&modified(1000), &Site::default()).source,
        LifetimeSource::None
    );
    // Section 4.2.2: MUST NOT where explicit expiration is present.
    let mut explicit = modified(1000);
    explicit.insert("expires", HeaderValue::from_static("0"));
    assert_eq!(lifetime(&explicit), (LifetimeSource::Expires, 0));
    // A directive that forbids reuse without validation does not change the lifetime.
    let mut no_cache = modified(1000);
    no_cache.insert("cache-control", HeaderValue::from_static("no-cache"));
    assert_eq!(lifetime(&no_cache), (LifetimeSource::Heuristic, 100));
}

/// A moment that nginx is told is the same for every clock: neither `Age` nor a `Date` that lags, nor the time that the
/// exchange took, comes off what is left until then. A number of seconds counts from when the response was made.
#[test]
fn until_a_moment_all_of_the_time_is_left() {
    let before = |seconds| Time::from_secs(NOW.as_secs() - seconds);
    let moment = |offset: u64| format!("@{}", NOW.as_secs() + offset);
    for (value, age, lag, took, left) in [
        (moment(20), 0, 0, 0, Some(20)),
        (moment(20), 30, 0, 0, Some(20)),
        (moment(20), 0, 60, 0, Some(20)),
        (moment(20), 0, 0, 25, Some(20)),
        (moment(20), 0, -60, 0, Some(20)),
        (moment(0), 30, 60, 25, None),
        ("20".to_owned(), 5, 0, 0, Some(15)),
        ("20".to_owned(), 30, 0, 0, None),
    ] {
        let lines = fields(&[
            ("x-accel-expires", value.clone()),
            ("age", age.to_string()),
            ("date", date(-lag)),
        ]);
        let facts = judge_as(200, &lines, &Site::default(), before(took));
        let remaining = facts.remaining(NOW).map(|left| left.as_secs());
        assert_eq!(remaining, left, "{value} {age} {lag} {took}");
    }
    // The site's bound is one of the whole lifetime.
    let site = Site {
        longest_lifetime: Some(Duration::from_secs(40)),
        ..Site::default()
    };
    let lines = [("x-accel-expires", moment(20)), ("age", "30".to_owned())];
    let facts = judge(&fields(&lines), &site);
    assert_eq!(facts.remaining(NOW), Some(Duration::from_secs(10)));
}

/// A lifetime that the site gives counts from receipt, however old the answer is; a lifetime of zero stays zero.
#[test]
fn the_sites_lifetime_counts_from_receipt() {
    let given = |seconds| Some(Duration::from_secs(seconds));
    let old = |line: &str| {
        fields(&[
            ("age", "100".to_owned()),
            ("cache-control", line.to_owned()),
        ])
    };
    for (line, default_lifetime, override_lifetime, left) in [
        ("public", given(5), None, Some(5)),
        ("public", given(0), None, None),
        ("max-age=3", None, given(5), Some(5)),
        ("max-age=300", None, given(0), None),
        // The origin's own lifetime counts from when the response was made.
        ("max-age=90", given(5), None, None),
        ("max-age=110", given(5), None, Some(10)),
    ] {
        let site = Site {
            default_lifetime,
            override_lifetime,
            ..Site::default()
        };
        let facts = judge(&old(line), &site);
        let remaining = facts.remaining(NOW).map(|left| left.as_secs());
        assert_eq!(remaining, left, "{line} {site:?}");
    }
}
