use super::*;
use http::{Method, StatusCode, Version};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Instant,
};

fn stale(detail: Detail) -> Outcome {
    Outcome {
        detail: Some(detail),
        ..Outcome::hit(-1)
    }
}

fn on_failure() -> Outcome {
    Outcome {
        detail: Some(Detail::StaleOnFailure(Failing::Status(
            StatusCode::SERVICE_UNAVAILABLE,
        ))),
        ..answered(ForwardReason::Stale, 503)
    }
}

fn answered(why: ForwardReason, status: u16) -> Outcome {
    Outcome {
        handled: Handled::Forwarded {
            why,
            status: Some(status),
            stored: true,
            collapsed: false,
        },
        ..Outcome::forwarded(why)
    }
}

/// The values of nginx's `$upstream_cache_status`, and `NONE` if nginx writes nothing.
#[test]
fn each_outcome_in_the_words_of_nginx() {
    for (outcome, word) in [
        (Outcome::hit(5), "HIT"),
        (
            stale(Detail::Stale(StaleReason::WhileRevalidate)),
            "UPDATING",
        ),
        (stale(Detail::Stale(StaleReason::MaxStale)), "STALE"),
        (on_failure(), "STALE"),
        (
            Outcome {
                detail: Some(Detail::FreshOnFailure(Failing::Status(
                    StatusCode::SERVICE_UNAVAILABLE,
                ))),
                ..answered(ForwardReason::Request, 503)
            },
            "HIT",
        ),
        (Outcome::forwarded(ForwardReason::Bypass), "BYPASS"),
        (Outcome::forwarded(ForwardReason::Method), "BYPASS"),
        (Outcome::forwarded(ForwardReason::Stale), "EXPIRED"),
        (Outcome::forwarded(ForwardReason::Request), "EXPIRED"),
        (Outcome::forwarded(ForwardReason::UriMiss), "MISS"),
        (Outcome::forwarded(ForwardReason::VaryMiss), "MISS"),
        (Outcome::forwarded(ForwardReason::Miss), "MISS"),
        (Outcome::forwarded(ForwardReason::Partial), "MISS"),
        (answered(ForwardReason::Stale, 200), "EXPIRED"),
        (answered(ForwardReason::Stale, 304), "REVALIDATED"),
        (answered(ForwardReason::VaryMiss, 304), "REVALIDATED"),
        // The client's own condition: there is no stored response to confirm.
        (answered(ForwardReason::UriMiss, 304), "MISS"),
        (answered(ForwardReason::Bypass, 304), "BYPASS"),
        (Outcome::failed(Failure::OnlyIfCached), "NONE"),
    ] {
        assert_eq!(outcome.nginx_word(), word, "{outcome:?}");
    }
}

fn read<const N: usize>(counters: &[AtomicU64; N]) -> [u64; N] {
    std::array::from_fn(|index| counters[index].load(Relaxed))
}

#[test]
fn every_answer_is_counted_once_by_kind_and_once_by_status() {
    let counters = Counters::default();
    counters.count(&Outcome::hit(5), StatusCode::OK);
    counters.count(&stale(Detail::Stale(StaleReason::MaxStale)), StatusCode::OK);
    counters.count(&on_failure(), StatusCode::NOT_FOUND);
    counters.count(&Outcome::failed(Failure::Loop), StatusCode::LOOP_DETECTED);
    for why in FORWARDS {
        counters.count(&answered(why, 304), StatusCode::MOVED_PERMANENTLY);
    }
    assert_eq!(read(&counters.hits), [1, 1, 1]);
    assert_eq!(read(&counters.forwarded), [1; FORWARDS.len()]);
    assert_eq!(read(&counters.statuses), [0, 2, 8, 1, 1]);
    let rest = [&counters.own, &counters.collapsed];
    assert_eq!(rest.map(|counter| counter.load(Relaxed)), [1, 0]);
}

/// A 304 stores nothing, and confirms something only if that was asked.
#[test]
fn what_a_fetch_brought_is_counted_as_stored_or_confirmed() {
    for (why, status, stored, expected) in [
        (ForwardReason::UriMiss, Some(200), true, [1, 0]),
        (ForwardReason::Stale, Some(200), true, [1, 0]),
        (ForwardReason::UriMiss, Some(200), false, [0, 0]),
        (ForwardReason::Stale, Some(304), true, [0, 1]),
        (ForwardReason::VaryMiss, Some(304), true, [0, 1]),
        (ForwardReason::UriMiss, Some(304), true, [0, 0]),
        (ForwardReason::UriMiss, None, false, [0, 0]),
    ] {
        let counters = Counters::default();
        counters.brought(why, status, stored);
        let brought = [&counters.stored, &counters.validated];
        let brought = brought.map(|counter| counter.load(Relaxed));
        assert_eq!(brought, expected, "{why:?} {status:?}");
    }
}

#[test]
fn a_record_that_the_log_does_not_take_is_counted_as_lost() {
    let (log, lines) = log_queue(1, 0);
    let counters = Arc::new(Counters::default());
    for _ in 0..3 {
        let mut ending = Ending::new(record(), Instant::now(), log.clone(), counters.clone());
        ending.sent(7);
        ending.sent(5);
    }
    let bytes: Vec<_> = lines.queued().map(|record| record.bytes).collect();
    assert_eq!(bytes, [12]);
    assert_eq!(counters.log_lost.load(Relaxed), 2);
}

/// Long texts are bounded by their length, and a short one has its place beside them.
#[test]
fn a_queue_takes_no_more_text_than_it_is_given_room_for() {
    let of = |length: usize| Record {
        text: Excerpt::new(&"x".repeat(length), "a.example", None, None),
        ..record()
    };
    let (log, lines) = log_queue(10, 4_000);
    for round in 0..2 {
        assert_eq!(log.send(of(3_000)), Ok(()), "{round}");
        assert_eq!(log.send(of(3_000)), Err(NotQueued::Full), "{round}");
        assert_eq!(log.send(of(2_000)), Ok(()), "{round}");
        assert_eq!(log.send(of(400)), Ok(()), "{round}");
        assert_eq!(lines.queued().count(), 3, "{round}");
    }
    for round in 0..2 {
        for _ in 0..10 {
            assert_eq!(log.send(of(800)), Ok(()), "{round}");
        }
        // What has no place takes no room.
        assert_eq!(log.send(of(800)), Err(NotQueued::Full), "{round}");
        assert_eq!(lines.queued().count(), 10, "{round}");
    }
    drop(lines);
    assert_eq!(log.send(of(3_000)), Err(NotQueued::Closed));
}

fn record() -> Record {
    Record {
        client: None,
        method: Method::GET,
        text: Excerpt::new("/", "a.example", None, None),
        version: Version::HTTP_11,
        status: StatusCode::OK,
        cache: "HIT",
        detail: None,
        origin_time: None,
        at_ms: 0,
        took: Duration::ZERO,
        bytes: 0,
    }
}
