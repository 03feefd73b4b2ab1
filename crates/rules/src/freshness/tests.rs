#![expect(
    clippy::too_many_lines,
    reason = "tables are as long as they have rows"
)]

use super::*;
use crate::directives;
use http::{HeaderName, HeaderValue};
use proptest::prelude::*;

mod lifetime;
mod said_apart;

/// When responses are received in these tests: 6 November 1994, 08:49:37.
const NOW: Time = Time::from_secs(784_111_777);
const CDN: HeaderName = HeaderName::from_static("cdn-cache-control");
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

/// The date this many seconds after [`NOW`].
fn date(offset: i64) -> String {
    Time::from_secs(NOW.as_secs().saturating_add_signed(offset)).to_http()
}

fn judge_as(status: u16, fields: &HeaderMap, site: &Site, request_time: Time) -> Facts {
    let said = directives::response(fields, &[CDN]);
    facts(
        StatusCode::from_u16(status).unwrap(),
        fields,
        &said,
        site,
        request_time,
        NOW,
    )
}

fn judge(fields: &HeaderMap, site: &Site) -> Facts {
    judge_as(200, fields, site, NOW)
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
        // A `Date` that may have been made during the exchange adds nothing to the delay.
        (vec![("date", date(-1))], NOW, 0),
        (vec![("date", date(-2))], NOW, 2000),
        (vec![("date", date(-3))], before(1500), 1500),
        (vec![("date", date(-4))], before(1500), 4000),
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
        // The clock was set back in between.
        (vec![], NOW.plus(Duration::from_secs(5)), 0),
    ] {
        let facts = judge_as(200, &fields(&lines), &Site::default(), request_time);
        assert_eq!(facts.initial_age_ms, age_ms, "{lines:?}");
    }
}

/// Where the time of receipt stands for `Date` (RFC 9110 section 6.6.1), it is not the origin's.
#[test]
fn a_date_is_the_origins_if_it_gave_one() {
    let received = Time::from_millis(NOW.as_millis() + 250);
    for (lines, expected) in [
        (vec![("date", date(0))], Some(NOW)),
        (
            vec![("date", date(-60))],
            Some(Time::from_secs(NOW.as_secs() - 60)),
        ),
        (vec![("date", "today".to_owned())], None),
        (vec![], None),
    ] {
        let (fields, site) = (fields(&lines), Site::default());
        let said = directives::response(&fields, &[]);
        let facts = facts(StatusCode::OK, &fields, &said, &site, received, received);
        assert_eq!(facts.date_of_origin(), expected, "{lines:?}");
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
    assert_eq!(facts.staleness(Time::from_secs(0)), Duration::MAX);
}

/// A response does not become younger when the clock is set back, and not fresh for longer than the clock is set back or
/// its lifetime lasts. A row: the lifetime in seconds, how far the clock stands before receipt, and what is left.
#[test]
fn what_was_received_in_the_future_is_fresh_only_if_its_lifetime_is_longer() {
    for (lifetime, before, left) in [
        (1, 0, Some(1)),
        (1, 1, None),
        (1, 30, None),
        (31, 30, Some(1)),
        (600, 60, Some(540)),
        (600, 61, None),
    ] {
        let facts = judge(&says(&format!("max-age={lifetime}")), &Site::default());
        let now = Time::from_secs(NOW.as_secs() - before);
        let row = format!("{lifetime} {before}");
        assert_eq!(facts.age(now), Duration::from_secs(before), "{row}");
        let remaining = facts.remaining(now).map(|left| left.as_secs());
        assert_eq!(remaining, left, "{row}");
    }
}

/// The clock was ahead at receipt, and comes to that time once more.
#[test]
fn what_is_of_unknown_age_is_not_young_again_later() {
    let of_site = Site {
        stale_while_revalidate: Some(5),
        stale_if_error: Some(6),
        ..Site::default()
    };
    // Cache-Control, and what is left of the window for failures
    for (line, window) in [
        ("max-age=60", Some(6)),
        ("max-age=60, stale-while-revalidate=9", Some(6)),
        ("max-age=60, stale-if-error=9", None),
        ("max-age=60, must-revalidate", None),
        ("s-maxage=60", None),
        ("s-maxage=60, stale-if-error=9", None),
    ] {
        let facts = judge(&says(line), &of_site);
        let before = |seconds| Time::from_secs(NOW.as_secs() - seconds);
        assert_eq!(facts.with_age_unknown(before(60)), None, "{line}");
        let noted = facts.with_age_unknown(before(3600)).expect("it is ahead");
        for now in [
            before(3600),
            before(60),
            NOW,
            NOW.plus(Duration::from_secs(59)),
        ] {
            assert_eq!(noted.remaining(now), None, "{line}");
            assert_eq!(noted.staleness(now), now.since(before(3600)), "{line}");
            assert!(noted.age(now).as_secs() >= 60, "{line}");
            assert_eq!(noted.with_age_unknown(now), None, "{line}");
            assert_eq!(noted.softly_purged(now), noted, "{line}");
        }
        assert_eq!(noted.stale_while_revalidate, None, "{line}");
        assert_eq!(noted.stale_if_error, window, "{line}");
        assert_eq!(noted.must_revalidate, facts.must_revalidate, "{line}");
        assert_eq!(facts.softly_purged(before(3600)), noted, "{line}");
    }
    let never = judge(&says("max-age=0"), &of_site).with_age_unknown(Time::from_secs(0));
    assert_eq!(never.map(|facts| facts.lifetime_ms), Some(0));
}

#[test]
fn what_a_soft_purge_ended_is_never_fresh_again() {
    for (line, window) in [
        ("max-age=60", 0),
        ("max-age=60, stale-while-revalidate=7", 7),
    ] {
        let facts = Facts {
            source: LifetimeSource::SoftPurge,
            lifetime_ms: 50_000,
            ..judge(&says(line), &Site::default())
        };
        // Also when the clock was set back, so that the age is below the lifetime again.
        for after in [0, 49, 50, 60] {
            let now = NOW.plus(Duration::from_secs(after));
            assert_eq!(facts.remaining(now), None, "{line}: {after}");
            let staleness = Duration::from_secs(after.saturating_sub(50));
            assert_eq!(facts.staleness(now), staleness, "{line}: {after}");
        }
        assert_eq!(facts.longest_window(), Duration::from_secs(window));
    }
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
        ("s-maxage=1, stale-if-error=0", true, false, None, Some(0)),
        ("s-maxage=1, stale-if-error=x", true, false, None, None),
        ("s-maxage=1, stale-if-error=7", true, false, None, Some(7)),
        (
            "s-maxage=1, stale-while-revalidate=7",
            true,
            false,
            Some(7),
            None,
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

/// Only the origin knows who may get the events of a stream again.
#[test]
fn the_sites_windows_are_not_for_event_streams() {
    let site = Site {
        stale_while_revalidate: Some(5),
        stale_if_error: Some(6),
        ..Site::default()
    };
    for (kind, line, windows) in [
        ("text/event-stream", "max-age=1", (None, None)),
        ("Text/Event-Stream;x=y", "max-age=1", (None, None)),
        (
            "text/event-stream",
            "max-age=1, stale-while-revalidate=7",
            (Some(7), None),
        ),
        ("text/plain", "max-age=1", (Some(5), Some(6))),
    ] {
        let mut fields = says(line);
        fields.insert("content-type", HeaderValue::from_static(kind));
        let facts = judge(&fields, &site);
        let found = (facts.stale_while_revalidate, facts.stale_if_error);
        assert_eq!(found, windows, "{kind}: {line}");
        // Nor is the one for an origin that cannot be reached, or a client's `max-stale`.
        assert_eq!(facts.must_revalidate, kind != "text/plain", "{kind}");
    }
}

/// The typical page that says nothing about caching is one user's: the site's windows must not show it to others.
#[test]
fn the_sites_windows_lengthen_a_lifetime_and_create_none() {
    let site = Site {
        stale_while_revalidate: Some(5),
        stale_if_error: Some(6),
        ..Site::default()
    };
    for (line, windows) in [
        ("public", (None, None)),
        ("max-age=0", (None, None)),
        ("max-age=0, stale-while-revalidate=7", (Some(7), None)),
        ("max-age=1", (Some(5), Some(6))),
    ] {
        let facts = judge(&says(line), &site);
        let found = (facts.stale_while_revalidate, facts.stale_if_error);
        assert_eq!(found, windows, "{line}");
    }
}

#[test]
fn what_is_always_validated() {
    for (line, expected) in [
        ("max-age=1", false),
        ("max-age=0", true),
        ("max-age=0, stale-while-revalidate=7", false),
        ("max-age=0, stale-if-error=7", true),
        ("no-cache, max-age=1", true),
        ("no-cache=\"set-cookie\", max-age=1", false),
    ] {
        let facts = judge(&says(line), &Site::default());
        assert_eq!(facts.is_always_validated(), expected, "{line}");
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
    assert!(facts.limits_stale);
    // The site's window, where it gives one, replaces the origin's, and with it the limit (RFC 5861 section 4).
    for (line, if_error, expected) in [
        (
            "stale-while-revalidate=0, stale-if-error=0",
            Some(6),
            (Some(5), Some(6), false),
        ),
        (
            "stale-while-revalidate=9, stale-if-error=9",
            Some(6),
            (Some(5), Some(6), false),
        ),
        ("stale-if-error=0", None, (Some(5), Some(0), true)),
        ("max-age=1", Some(6), (Some(5), Some(6), false)),
    ] {
        let both = Site {
            stale_if_error: if_error,
            ..site
        };
        let facts = judge(&says(line), &both);
        let found = (
            facts.stale_while_revalidate,
            facts.stale_if_error,
            facts.limits_stale,
        );
        assert_eq!(found, expected, "{line}");
    }
    // What `s-maxage` implies does not count either (RFC 9111 section 5.2.2.10).
    let facts = judge(&says("s-maxage=1"), &site);
    assert!(!facts.must_revalidate);
    assert_eq!(facts.stale_while_revalidate, Some(5));
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

#[test]
fn the_sites_own_lifetime_counts_from_the_answer() {
    let asked = Time::from_secs(NOW.as_secs() - 3);
    let ttl = Some(Duration::from_secs(1));
    let default = Site {
        default_lifetime: ttl,
        ..Site::default()
    };
    let forced = Site {
        override_lifetime: ttl,
        ..Site::default()
    };
    let left = |fields: &HeaderMap, site: &Site| judge_as(200, fields, site, asked).remaining(NOW);
    for site in [default, forced] {
        let slow = left(&fields(&[("date", date(-3))]), &site);
        assert_eq!(slow, ttl, "as long as the application took");
        let undated = left(&HeaderMap::new(), &site);
        assert_eq!(undated, ttl);
        let old = left(&fields(&[("age", "5".to_owned())]), &site);
        assert_eq!(
            old, ttl,
            "what other caches say of its age is told, and no more"
        );
        let behind = left(&fields(&[("date", date(-3600))]), &site);
        assert_eq!(behind, ttl, "the application's clock is an hour behind");
    }
    // No lifetime is none, however old the answer is: it was never fresh.
    let never = Site {
        override_lifetime: Some(Duration::ZERO),
        ..Site::default()
    };
    let old = judge(&fields(&[("age", "5".to_owned())]), &never);
    assert_eq!(old.lifetime_ms, 0);
    assert_eq!(
        left(&says("max-age=1"), &default),
        None,
        "9111 section 4.2.3"
    );
}

/// RFC 5861: what the origin says about its own error counts; the site stores an error only for a moment, to spare the
/// origin.
#[test]
fn the_sites_windows_are_not_for_failures() {
    let site = Site {
        default_lifetime: Some(Duration::from_secs(1)),
        stale_while_revalidate: Some(5),
        stale_if_error: Some(6),
        ..Site::default()
    };
    let windows = |status, fields: &HeaderMap| {
        let facts = judge_as(status, fields, &site, NOW);
        (facts.stale_while_revalidate, facts.stale_if_error)
    };
    let none = HeaderMap::new();
    let own = says("max-age=1, stale-while-revalidate=7, stale-if-error=8");
    for status in [200, 404, 501] {
        assert_eq!(windows(status, &none), (Some(5), Some(6)), "{status}");
        assert_eq!(windows(status, &own), (Some(7), Some(8)), "{status}");
    }
    for status in [500, 502, 503, 504] {
        assert_eq!(windows(status, &none), (None, None), "{status}");
        assert_eq!(windows(status, &own), (Some(7), None), "{status}");
    }
}
