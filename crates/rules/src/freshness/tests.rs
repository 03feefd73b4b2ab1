#![expect(
    clippy::too_many_lines,
    reason = "tables are as long as they have rows"
)]

use super::*;
use crate::directives;
use http::{HeaderName, HeaderValue};
use proptest::prelude::*;

/// When responses are received in these tests: 6 November 1994, 08:49:37.
const NOW: Time = Time::from_secs(784_111_777);
const CDN: HeaderName = HeaderName::from_static("cdn-cache-control");
const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

fn fields(lines: &[(&'static str, String)]) -> HeaderMap {
    lines
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            )
        })
        .collect()
}

/// `Cache-Control` alone.
fn says(line: &str) -> HeaderMap {
    fields(&[("cache-control", line.to_owned())])
}

/// The date so many seconds after [`NOW`].
fn date(offset: i64) -> String {
    Time::from_secs(NOW.as_secs().saturating_add_signed(offset)).to_http()
}

fn judge_as(status: u16, fields: &HeaderMap, site: &Site, request_time: Time) -> Facts {
    let (directives, source) = directives::response(fields, &[CDN]);
    facts(
        StatusCode::from_u16(status).unwrap(),
        fields,
        &directives,
        source != directives::Source::CacheControl,
        site,
        request_time,
        NOW,
    )
}

fn judge(fields: &HeaderMap, site: &Site) -> Facts {
    judge_as(200, fields, site, NOW)
}

/// Source and seconds of a response under a site without a say that uses the heuristic.
fn lifetime(fields: &HeaderMap) -> (Source, u64) {
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
    assert_eq!(lifetime(&fields(&all)), (Source::Targeted, 1));
    assert_eq!(lifetime(&fields(&all[1..])), (Source::SMaxAge, 2));
    for (value, seconds) in [("7", 7), ("0", 0), ("-1", 0), ("7 ", 7), ("", 0)] {
        let mut proxied = fields(&all[1..]);
        proxied.insert("x-reverse-proxy-ttl", HeaderValue::from_str(value).unwrap());
        assert_eq!(lifetime(&proxied), (Source::ReverseProxyTtl, seconds));
    }
    let mut only_max_age = fields(&all[1..]);
    only_max_age.insert("cache-control", HeaderValue::from_static("max-age=3"));
    assert_eq!(lifetime(&only_max_age), (Source::MaxAge, 3));
    assert_eq!(lifetime(&fields(&all[2..])), (Source::Expires, 4));
    assert_eq!(lifetime(&fields(&all[3..])), (Source::Heuristic, 5));
    assert_eq!(lifetime(&HeaderMap::new()), (Source::None, 0));

    let site = Site {
        default_lifetime: Some(Duration::from_millis(500)),
        heuristic: true,
        ..Site::default()
    };
    let default = judge(&fields(&all[3..]), &site);
    assert_eq!(
        (default.source, default.lifetime_ms),
        (Source::Default, 500)
    );
    assert_eq!(judge(&fields(&all[2..]), &site).source, Source::Expires);
    let site = Site {
        override_lifetime: Some(Duration::from_secs(9)),
        ..site
    };
    let forced = judge(&fields(&all), &site);
    assert_eq!(
        (forced.source, forced.lifetime_ms),
        (Source::Override, 9000)
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
    assert_eq!((facts.source, facts.lifetime_ms), (Source::Default, 7000));
    assert!(!facts.must_revalidate);
    let both = fields(&[("cdn-cache-control", "max-age=1, s-maxage=5".to_owned())]);
    assert_eq!(lifetime(&both), (Source::Targeted, 5));
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
            (Source::Expires, seconds),
            "{lines:?}"
        );
    }
    // Section 5.3: with max-age, even a malformed one, Expires MUST be ignored.
    let both = fields(&[
        ("expires", date(100)),
        ("cache-control", "max-age=x".to_owned()),
    ]);
    assert_eq!(lifetime(&both), (Source::MaxAge, 0));
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
    let future = fields(&[("last-modified", date(1000))]);
    assert_eq!(lifetime(&future), (Source::None, 0));
    let invalid = fields(&[("last-modified", "yesterday".to_owned())]);
    assert_eq!(lifetime(&invalid), (Source::None, 0));
    assert_eq!(
        judge(&modified(1000), &Site::default()).source,
        Source::None
    );
    // Section 4.2.2: MUST NOT where explicit expiration is present.
    let mut explicit = modified(1000);
    explicit.insert("expires", HeaderValue::from_static("0"));
    assert_eq!(lifetime(&explicit), (Source::Expires, 0));
    // What forbids reuse without validation does not change the lifetime.
    let mut no_cache = modified(1000);
    no_cache.insert("cache-control", HeaderValue::from_static("no-cache"));
    assert_eq!(lifetime(&no_cache), (Source::Heuristic, 100));
}

#[test]
fn the_initial_age_of_rfc_9111_section_4_2_3() {
    let age = |value: &str| vec![("age", value.to_owned())];
    let before = |ms: u64| Time::from_millis(NOW.as_millis() - ms);
    for (lines, request_time, age_ms) in [
        (vec![], NOW, 0),
        // corrected_age_value = age_value + response_delay
        (age("30"), NOW, 30_000),
        (age("30"), before(1500), 31_500),
        (vec![], before(1500), 1500),
        // apparent_age = max(0, response_time - date_value)
        (vec![("date", date(-10))], NOW, 10_000),
        (
            vec![("date", date(-10)), ("age", "30".to_owned())],
            NOW,
            30_000,
        ),
        (
            vec![("date", date(-60)), ("age", "30".to_owned())],
            NOW,
            60_000,
        ),
        (vec![("date", date(60))], NOW, 0),
        (vec![("date", "today".to_owned())], NOW, 0),
        // A Date inside the exchange adds nothing to the delay.
        (vec![("date", date(-2))], before(1500), 1500),
        (vec![("date", date(-3))], before(1500), 3000),
        // Section 5.1: the first member counts; an invalid one means no Age.
        (age("7, 5"), NOW, 7000),
        (age(", 7, 5"), NOW, 7000),
        (
            vec![("age", "7".to_owned()), ("age", "5".to_owned())],
            NOW,
            7000,
        ),
        (age("abc, 5"), NOW, 0),
        (age("-7"), NOW, 0),
        (age("7.5"), NOW, 0),
        (age("7;foo"), NOW, 0),
        (age("\"7\""), NOW, 0),
        (age(""), NOW, 0),
        // Section 1.2.2: what overflows is 2^31.
        (age("99999999999999999999"), NOW, (1 << 31) * 1000),
        // A clock that was set back in between.
        (vec![], NOW.plus(Duration::from_secs(5)), 0),
    ] {
        let facts = judge_as(200, &fields(&lines), &Site::default(), request_time);
        assert_eq!(facts.initial_age_ms, age_ms, "{lines:?}");
    }
}

#[test]
fn fresh_is_lifetime_greater_than_age() {
    let facts = judge(
        &fields(&[
            ("cache-control", "max-age=60".to_owned()),
            ("age", "20".to_owned()),
        ]),
        &Site::default(),
    );
    let after = |ms| NOW.plus(Duration::from_millis(ms));
    let ms = Duration::from_millis;
    assert_eq!(facts.age(NOW), ms(20_000));
    assert_eq!(facts.remaining(NOW), Some(ms(40_000)));
    assert_eq!(facts.remaining(after(39_999)), Some(ms(1)));
    assert_eq!(facts.remaining(after(40_000)), None);
    assert_eq!(facts.staleness(after(39_999)), Duration::ZERO);
    assert_eq!(facts.staleness(after(41_000)), ms(1000));
    // A clock that was set back does not make it younger than it was.
    assert_eq!(facts.age(Time::from_secs(0)), ms(20_000));
}

#[test]
fn what_forbids_stale_answers() {
    let site = Site {
        stale_while_revalidate: Some(5),
        stale_if_error: Some(6),
        ..Site::default()
    };
    // Cache-Control, must_revalidate, no_cache, stale_while_revalidate, stale_if_error
    for (line, must_revalidate, no_cache, while_revalidate, if_error) in [
        ("max-age=1", false, false, Some(5), Some(6)),
        (
            "max-age=1, stale-while-revalidate=7",
            false,
            false,
            Some(7),
            Some(6),
        ),
        (
            "max-age=1, stale-if-error=0",
            false,
            false,
            Some(5),
            Some(0),
        ),
        (
            "max-age=1, stale-if-error=x",
            false,
            false,
            Some(5),
            Some(6),
        ),
        ("max-age=1, must-revalidate", true, false, None, None),
        ("max-age=1, proxy-revalidate", true, false, None, None),
        ("s-maxage=1", true, false, None, None),
        ("s-maxage=1, stale-if-error=0", true, false, None, None),
        ("s-maxage=1, stale-if-error=x", true, false, None, None),
        (
            "s-maxage=1, stale-if-error=7",
            false,
            false,
            Some(5),
            Some(7),
        ),
        (
            "s-maxage=1, stale-while-revalidate=7",
            false,
            false,
            Some(7),
            Some(6),
        ),
        // RFC 9111 section 5.2.2.2: in all circumstances, a cache MUST NOT ignore must-revalidate.
        (
            "max-age=1, must-revalidate, stale-if-error=7",
            true,
            false,
            None,
            None,
        ),
        (
            "s-maxage=1, proxy-revalidate, stale-while-revalidate=7",
            true,
            false,
            None,
            None,
        ),
        (
            "max-age=1, no-cache, stale-if-error=7",
            false,
            true,
            None,
            None,
        ),
        (
            "max-age=1, no-cache=\"set-cookie\"",
            false,
            false,
            Some(5),
            Some(6),
        ),
    ] {
        let facts = judge(&says(line), &site);
        let found = (
            facts.must_revalidate,
            facts.no_cache,
            facts.stale_while_revalidate,
            facts.stale_if_error,
        );
        assert_eq!(
            found,
            (must_revalidate, no_cache, while_revalidate, if_error),
            "{line}"
        );
    }
}

#[test]
fn a_forced_lifetime_overrules_the_origin() {
    let site = Site {
        override_lifetime: Some(Duration::from_mins(1)),
        stale_while_revalidate: Some(5),
        ..Site::default()
    };
    let facts = judge(&says("no-cache, must-revalidate, stale-if-error=7"), &site);
    assert!(!facts.no_cache && !facts.must_revalidate);
    assert_eq!(
        (facts.stale_while_revalidate, facts.stale_if_error),
        (Some(5), Some(7))
    );
}

proptest! {
    #[test]
    fn age_only_grows_and_fresh_and_stale_are_exclusive(
        age in any::<u64>(),
        max_age in any::<u64>(),
        first in any::<u64>(),
        second in any::<u64>(),
        request_time in any::<u64>(),
    ) {
        let response = fields(&[
            ("age", age.to_string()),
            ("cache-control", format!("max-age={max_age}")),
        ]);
        let facts = judge_as(200, &response, &Site::default(), Time::from_millis(request_time));
        let (early, late) = (Time::from_millis(first.min(second)), Time::from_millis(first.max(second)));
        prop_assert!(facts.age(early) <= facts.age(late));
        for now in [early, late] {
            let fresh = facts.remaining(now).is_some();
            prop_assert_eq!(fresh, facts.age(now) < Duration::from_millis(facts.lifetime_ms));
            prop_assert!(!fresh || facts.staleness(now).is_zero());
        }
    }
}
