use super::*;
use crate::{directives, freshness::LifetimeSource};
use http::{HeaderMap, HeaderValue};

const RECEIVED: Time = Time::from_secs(1_000_000);
const OBEYS: Site = Site {
    client_may_force: true,
    unreachable: 50,
};
const IGNORES: Site = Site {
    client_may_force: false,
    unreachable: 50,
};
/// Fresh for 60 seconds; no windows, nothing forbidden.
const PLAIN: Facts = Facts {
    response_time: RECEIVED,
    date: RECEIVED,
    initial_age_ms: 0,
    lifetime_ms: 60_000,
    source: LifetimeSource::MaxAge,
    stale_while_revalidate: None,
    stale_if_error: None,
    no_cache: false,
    must_revalidate: false,
    immutable: false,
    limits_stale: false,
    is_failure: false,
    is_weakly_known: false,
};
const WINDOWS: Facts = Facts {
    stale_while_revalidate: Some(10),
    stale_if_error: Some(20),
    ..PLAIN
};
const STRICT: Facts = Facts {
    must_revalidate: true,
    ..PLAIN
};
const IMMUTABLE: Facts = Facts {
    immutable: true,
    ..PLAIN
};
const NO_CACHE: Facts = Facts {
    no_cache: true,
    ..PLAIN
};

/// Without a lifetime: the response is kept to be validated, and may be one user's.
const NEVER: Facts = Facts {
    lifetime_ms: 0,
    source: LifetimeSource::None,
    ..PLAIN
};

fn asks(line: &'static str) -> RequestDirectives {
    let mut fields = HeaderMap::new();
    if !line.is_empty() {
        fields.insert("cache-control", HeaderValue::from_static(line));
    }
    directives::request(&fields)
}

fn after(seconds: u64) -> Time {
    RECEIVED.plus(Duration::from_secs(seconds))
}

fn fresh(seconds: u64) -> Verdict {
    Verdict::Fresh(Duration::from_secs(seconds))
}

const EXPIRED: Verdict = Verdict::Validate(ValidateReason::Expired);
const AGE: Verdict = Verdict::Validate(ValidateReason::RequestAge);
const FORCED: Verdict = Verdict::Validate(ValidateReason::RequestNoCache);
const OWN: Verdict = Verdict::Validate(ValidateReason::NoCache);
const WHILE: Verdict = Verdict::Stale(StaleReason::WhileRevalidate);
const ACCEPTED: Verdict = Verdict::Stale(StaleReason::MaxStale);

#[test]
fn verdicts() {
    // facts, request, seconds since receipt, verdict
    let rows = [
        (PLAIN, "", 0, fresh(60)),
        (PLAIN, "", 59, fresh(1)),
        // RFC 9111 section 4.2: response_is_fresh = (freshness_lifetime > current_age)
        (PLAIN, "", 60, EXPIRED),
        // Section 4: the stored response does not contain no-cache, unless it is validated.
        (NO_CACHE, "", 0, OWN),
        (NO_CACHE, "max-stale", 100, OWN),
        // Section 5.2.1.4.
        (PLAIN, "no-cache", 0, FORCED),
        (PLAIN, "no-cache, max-stale", 70, FORCED),
        // RFC 8246 section 2.1: skip validation unless there is a signal from the client, e.g. no-cache.
        (IMMUTABLE, "no-cache", 0, FORCED),
        (IMMUTABLE, "max-age=0", 1, fresh(59)),
        (IMMUTABLE, "max-age=0", 60, EXPIRED),
        (IMMUTABLE, "min-fresh=50", 20, AGE),
        // Section 5.2.1.1: an age less than or equal to the specified number of seconds.
        (PLAIN, "max-age=10", 10, fresh(50)),
        (PLAIN, "max-age=10", 11, AGE),
        (PLAIN, "max-age=0", 0, fresh(60)),
        (PLAIN, "max-age=0", 1, AGE),
        (PLAIN, "max-age=100", 70, EXPIRED),
        (PLAIN, "max-age=100, max-stale=20", 70, ACCEPTED),
        (PLAIN, "max-age=65, max-stale=20", 70, EXPIRED),
        // Section 5.2.1.3: still fresh for at least the specified number of seconds.
        (PLAIN, "min-fresh=20", 40, fresh(20)),
        (PLAIN, "min-fresh=20", 41, AGE),
        (WINDOWS, "min-fresh=0", 61, EXPIRED),
        // Section 5.2.1.2: exceeded by no more than the specified number of seconds.
        (PLAIN, "max-stale=10", 70, ACCEPTED),
        (PLAIN, "max-stale=10", 71, EXPIRED),
        (PLAIN, "max-stale", 1_000_000, ACCEPTED),
        (PLAIN, "max-stale=10", 30, fresh(30)),
        // Section 4.2.4: MUST NOT if it is prohibited by an explicit in-protocol directive.
        (STRICT, "", 59, fresh(1)),
        (STRICT, "max-stale", 60, EXPIRED),
        // The client cannot allow it: only the origin opens a window for a response that was never fresh.
        (NEVER, "", 0, EXPIRED),
        (NEVER, "max-stale", 1, EXPIRED),
        (NEVER, "max-stale=10", 1, EXPIRED),
        // RFC 5861 section 3.
        (WINDOWS, "", 59, fresh(1)),
        (WINDOWS, "", 60, WHILE),
        (WINDOWS, "", 70, WHILE),
        (WINDOWS, "", 71, EXPIRED),
        (WINDOWS, "max-stale=60", 70, WHILE),
        // A staler answer than the client accepts is none, also while a refresh could run.
        (WINDOWS, "max-stale=5", 65, WHILE),
        (WINDOWS, "max-stale=5", 66, EXPIRED),
        (WINDOWS, "max-stale", 66, WHILE),
        (WINDOWS, "max-stale=60", 71, ACCEPTED),
        // Section 5.2.1.1: without max-stale the client does not wish to receive a stale response.
        (WINDOWS, "max-age=100", 65, EXPIRED),
        (
            Facts {
                stale_while_revalidate: Some(0),
                ..PLAIN
            },
            "",
            60,
            EXPIRED,
        ),
    ];
    for (facts, request, seconds, expected) in rows {
        let verdict = judge(&facts, &asks(request), &OBEYS, after(seconds));
        assert_eq!(
            verdict, expected,
            "{request:?} after {seconds} s: {facts:?}"
        );
    }
}

/// RFC 5861 section 3: up to the number of seconds; a window of zero is shut.
#[test]
fn a_window_ends_with_its_last_moment() {
    for seconds in [1, 10] {
        let facts = Facts {
            stale_while_revalidate: Some(seconds),
            stale_if_error: Some(seconds),
            ..PLAIN
        };
        let last = after(60 + u64::from(seconds));
        let beyond = last.plus(Duration::from_millis(1));
        for (now, is_open) in [(last, true), (beyond, false)] {
            let verdict = judge(&facts, &asks(""), &OBEYS, now);
            assert_eq!(verdict, if is_open { WHILE } else { EXPIRED }, "{seconds}");
            let site = Site {
                unreachable: 0,
                ..OBEYS
            };
            for failure in [Failure::Status, Failure::Unreachable] {
                let sent = on_failure(&facts, &asks(""), &site, failure, now);
                assert_eq!(sent, is_open, "{seconds} {failure:?}");
            }
        }
    }
}

#[test]
fn what_was_received_before_the_clock_was_set_back_is_validated() {
    let before = |seconds: u64| Time::from_secs(RECEIVED.as_secs() - seconds);
    // A response that was past its lifetime when it came.
    let late = Facts {
        initial_age_ms: 65_000,
        ..WINDOWS
    };
    for (facts, request, seconds, expected) in [
        // The clocks of nodes may differ a little.
        (PLAIN, "", 59, fresh(1)),
        (PLAIN, "", 60, EXPIRED),
        (WINDOWS, "", 60, WHILE),
        (late, "", 5, WHILE),
        (late, "", 6, EXPIRED),
        (late, "max-stale=9", 5, EXPIRED),
        (PLAIN, "", 61, EXPIRED),
        (STRICT, "", 3600, EXPIRED),
        // Nobody knows how long the response has been stale.
        (WINDOWS, "", 61, EXPIRED),
        (late, "", 3600, EXPIRED),
        (PLAIN, "max-stale=4294967294", 61, EXPIRED),
        (PLAIN, "max-stale", 61, ACCEPTED),
    ] {
        let verdict = judge(&facts, &asks(request), &OBEYS, before(seconds));
        assert_eq!(
            verdict, expected,
            "{request:?} {seconds} s before: {facts:?}"
        );
    }
    for failure in [Failure::Status, Failure::Unreachable] {
        let may_be_sent =
            |facts: &Facts, seconds| on_failure(facts, &asks(""), &OBEYS, failure, before(seconds));
        assert!(may_be_sent(&late, 5));
        assert!(!may_be_sent(&WINDOWS, 61));
        assert!(!may_be_sent(&STRICT, 61));
    }
}

/// Once it is noted that the age is unknown, the site's windows count from then, and nobody else's are open.
#[test]
fn what_is_of_unknown_age_is_sent_in_the_site_s_windows_for_failures() {
    use Failure::{Status, Unreachable};
    let noted = |facts: Facts| {
        let now = Time::from_secs(RECEIVED.as_secs() - 3600);
        (facts.with_age_unknown(now).expect("it is ahead"), now)
    };
    let limited = Facts {
        limits_stale: true,
        ..WINDOWS
    };
    for (facts, request, seconds, failure, sent) in [
        (PLAIN, "", 0, Unreachable, true),
        (PLAIN, "", 50, Unreachable, true),
        (PLAIN, "", 51, Unreachable, false),
        (PLAIN, "", 3600, Unreachable, false),
        (PLAIN, "", 0, Status, false),
        (WINDOWS, "", 20, Status, true),
        (WINDOWS, "", 21, Status, false),
        (PLAIN, "stale-if-error=30", 0, Status, false),
        (limited, "", 0, Status, false),
        (limited, "", 0, Unreachable, false),
        (STRICT, "", 0, Unreachable, false),
        (NO_CACHE, "", 0, Unreachable, false),
        (NEVER, "", 0, Unreachable, false),
    ] {
        let (facts, noted) = noted(facts);
        let now = noted.plus(Duration::from_secs(seconds));
        let found = on_failure(&facts, &asks(request), &OBEYS, failure, now);
        assert_eq!(found, sent, "{failure:?} after {seconds} s: {facts:?}");
    }
    for (facts, request, expected) in [
        (WINDOWS, "", EXPIRED),
        (PLAIN, "max-stale=4294967294", EXPIRED),
        (PLAIN, "max-stale", ACCEPTED),
        (STRICT, "max-stale", EXPIRED),
        (NO_CACHE, "", OWN),
    ] {
        let (facts, now) = noted(facts);
        for now in [now, RECEIVED] {
            let verdict = judge(&facts, &asks(request), &OBEYS, now);
            assert_eq!(verdict, expected, "{request:?}: {facts:?}");
        }
    }
}

#[test]
fn a_site_may_ignore_what_clients_force() {
    for (facts, request, seconds, expected) in [
        (PLAIN, "no-cache", 0, fresh(60)),
        (PLAIN, "max-age=0", 30, fresh(30)),
        (PLAIN, "min-fresh=50", 30, fresh(30)),
        (WINDOWS, "max-age=0, min-fresh=5", 65, WHILE),
        (WINDOWS, "max-stale=4", 65, WHILE),
        (NO_CACHE, "", 0, OWN),
        // This asks nothing of the origin, so it still holds.
        (PLAIN, "max-stale=10", 65, ACCEPTED),
        (STRICT, "max-stale=10", 65, EXPIRED),
    ] {
        let verdict = judge(&facts, &asks(request), &IGNORES, after(seconds));
        assert_eq!(
            verdict, expected,
            "{request:?} after {seconds} s: {facts:?}"
        );
    }
}

#[test]
fn failures() {
    use Failure::{Status, Unreachable};
    for (facts, request, seconds, failure, sent) in [
        (PLAIN, "", 61, Status, false),
        // RFC 5861 section 4, in responses and requests.
        (WINDOWS, "", 80, Status, true),
        (WINDOWS, "", 81, Status, false),
        (WINDOWS, "", 80, Unreachable, true),
        (PLAIN, "stale-if-error=30", 90, Status, true),
        (PLAIN, "stale-if-error=30", 91, Status, false),
        (WINDOWS, "stale-if-error=5", 80, Status, true),
        // RFC 9111 section 4.2.4: disconnected.
        (PLAIN, "", 110, Unreachable, true),
        (PLAIN, "", 111, Unreachable, false),
        (PLAIN, "", 110, Status, false),
        // For a response that was never fresh, only the origin's own window counts.
        (NEVER, "", 1, Unreachable, false),
        (NEVER, "stale-if-error=30", 1, Unreachable, false),
        (NEVER, "stale-if-error=30", 1, Status, false),
        (
            Facts {
                stale_if_error: Some(5),
                ..NEVER
            },
            "",
            5,
            Status,
            true,
        ),
        // Never against must-revalidate or no-cache.
        (STRICT, "stale-if-error=30", 61, Unreachable, false),
        (STRICT, "", 61, Unreachable, false),
        (NO_CACHE, "stale-if-error=30", 0, Unreachable, false),
        (NO_CACHE, "", 61, Status, false),
        (NO_CACHE, "", 30, Status, false),
        // Still fresh: only the client's preference sent us to the origin.
        (PLAIN, "no-cache", 30, Status, true),
        (STRICT, "no-cache", 30, Unreachable, true),
    ] {
        let found = on_failure(&facts, &asks(request), &OBEYS, failure, after(seconds));
        assert_eq!(
            found, sent,
            "{failure:?}, {request:?} after {seconds} s: {facts:?}"
        );
    }
    let never = Site {
        unreachable: 0,
        ..OBEYS
    };
    assert!(!on_failure(
        &PLAIN,
        &asks(""),
        &never,
        Failure::Unreachable,
        after(60)
    ));
}

/// RFC 5861 section 4: the value is an upper limit, and an origin that cannot be reached has failed too.
#[test]
fn the_limit_that_the_origin_names_is_that_of_all_failures() {
    for limit in [0, 20] {
        let facts = Facts {
            stale_if_error: Some(limit),
            limits_stale: true,
            ..PLAIN
        };
        for failure in [Failure::Status, Failure::Unreachable] {
            let window = |asked| window_on_failure(&facts, &asks(asked), &OBEYS, failure);
            assert_eq!(window(""), limit, "{failure:?}");
            assert_eq!(window("stale-if-error=90"), 90, "the client's own risk");
        }
        let of_site = Facts {
            limits_stale: false,
            ..facts
        };
        let window = window_on_failure(&of_site, &asks(""), &OBEYS, Failure::Unreachable);
        assert_eq!(window, OBEYS.unreachable);
    }
}

#[test]
fn no_window_is_open_for_what_is_always_validated() {
    let facts = Facts {
        no_cache: true,
        ..WINDOWS
    };
    for failure in [Failure::Status, Failure::Unreachable] {
        let window = window_on_failure(&facts, &asks("stale-if-error=9"), &OBEYS, failure);
        assert_eq!(window, 0, "{failure:?}");
    }
}

#[test]
fn what_follows_from_a_reason() {
    assert!(StaleReason::WhileRevalidate.refreshes());
    assert!(!StaleReason::MaxStale.refreshes());
    // RFC 9211 section 2.2: `request` is for what was fresh, and not used because of the request.
    for (reason, is_the_clients, of_fresh) in [
        (ValidateReason::Expired, false, ForwardReason::Stale),
        (ValidateReason::NoCache, false, ForwardReason::Stale),
        (ValidateReason::RequestNoCache, true, ForwardReason::Request),
        (ValidateReason::RequestAge, true, ForwardReason::Request),
    ] {
        assert_eq!(reason.is_the_clients(), is_the_clients, "{reason}");
        assert_eq!(reason.forward_reason(true), of_fresh, "{reason}");
        assert_eq!(
            reason.forward_reason(false),
            ForwardReason::Stale,
            "{reason}"
        );
    }
}

#[test]
fn reasons_have_tokens() {
    assert_eq!(
        StaleReason::WhileRevalidate.to_string(),
        "stale-while-revalidate"
    );
    assert_eq!(StaleReason::MaxStale.to_string(), "max-stale");
    let tokens = [
        (ValidateReason::Expired, "expired"),
        (ValidateReason::NoCache, "no-cache"),
        (ValidateReason::RequestNoCache, "request-no-cache"),
        (ValidateReason::RequestAge, "request-age"),
    ];
    for (reason, token) in tokens {
        assert_eq!(reason.to_string(), token);
    }
}

/// RFC 5861 section 4: a stored error is no better than the new one.
#[test]
fn a_failure_hides_no_other() {
    let failed = Facts {
        is_failure: true,
        ..WINDOWS
    };
    for failure in [Failure::Status, Failure::Unreachable] {
        for seconds in [50, 61] {
            let sent = |facts| on_failure(facts, &asks(""), &OBEYS, failure, after(seconds));
            assert!(sent(&WINDOWS), "{seconds}");
            assert!(!sent(&failed), "{seconds}");
        }
        let window = window_on_failure(&failed, &asks("stale-if-error=9"), &OBEYS, failure);
        assert_eq!(window, 0);
    }
    for status in [500, 502, 503, 504] {
        let status = StatusCode::from_u16(status).unwrap();
        assert!(is_failure(status), "{status}");
    }
    assert!(!is_failure(StatusCode::NOT_IMPLEMENTED));
}
