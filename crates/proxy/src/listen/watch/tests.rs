use super::{Order, Patience, Reading, Stage, Verdict, Watch, Worker};
use crate::{
    listen::{config::Limits, counters::Counters},
    sample::WakeFlag,
};
use std::{sync::Arc, task::Waker, time::Duration};

/// Limits in whole steps, each different.
fn patience() -> Patience {
    let steps = |n: u64| Duration::from_millis(500 * n);
    let limits = Limits {
        head_time: steps(10),
        idle_time: steps(20),
        body_time: steps(30),
        write_time: steps(40),
        handshake_time: steps(50),
        linger_time: steps(5),
        ..Limits::default()
    };
    Patience::new(&limits, steps(1))
}

/// The clock's judgements when this many steps have passed without an event: the last one within the limit and the
/// first beyond it.
fn turns(watch: &Watch, limit: u32) -> (Verdict, Verdict) {
    let patience = patience();
    let now = watch.worker.now();
    // A limit of n steps takes effect at n + 2: the step in which it began is not whole, and "over" means more than the
    // limit.
    (
        watch.judge(now + limit + 1, &patience),
        watch.judge(now + limit + 2, &patience),
    )
}

fn watch(stage: Stage) -> Arc<Watch> {
    let worker = Worker::new(Arc::new(Counters::default()), None);
    let watch = Watch::new(worker);
    watch.enter(stage);
    watch
}

#[test]
fn who_says_nothing_has_but_a_moment_when_a_stop_has_begun() {
    let watch = watch(Stage::Silent);
    watch.tell(Order::Drain);
    assert_eq!(
        turns(&watch, 0),
        (Verdict::Fine, Verdict::Idle(Order::Close))
    );
}

#[test]
fn each_stage_has_its_limit() {
    for (stage, limit, verdict) in [
        (Stage::Handshake, 50, Verdict::Slow(Order::Close)),
        (Stage::Silent, 20, Verdict::Idle(Order::Close)),
        (Stage::Http1, 20, Verdict::Idle(Order::Close)),
        (Stage::Http2, 20, Verdict::Idle(Order::Drain)),
        (Stage::Linger, 5, Verdict::Idle(Order::Close)),
    ] {
        assert_eq!(
            turns(&watch(stage), limit),
            (Verdict::Fine, verdict),
            "{stage:?}"
        );
    }
    let tunnel = watch(Stage::Tunnel);
    assert_eq!(tunnel.judge(1_000_000, &patience()), Verdict::Fine);
    let (_, goodbye) = turns(&watch(Stage::Http2), 20 + 6);
    assert_eq!(
        goodbye,
        Verdict::Idle(Order::Close),
        "a GOAWAY without effect"
    );
}

/// The first answer ends the connection, and until then the request has as long as a head.
#[test]
fn a_connection_that_may_not_rest_has_time_for_its_first_request() {
    let limits = Limits {
        head_time: Duration::from_secs(5),
        idle_time: Duration::ZERO,
        ..Limits::default()
    };
    let patience = Patience::new(&limits, Duration::from_millis(500));
    for stage in [Stage::Silent, Stage::Http1] {
        let watch = watch(stage);
        let now = watch.worker.now();
        assert_eq!(watch.judge(now + 11, &patience), Verdict::Fine, "{stage:?}");
        let idle = Verdict::Idle(Order::Close);
        assert_eq!(watch.judge(now + 12, &patience), idle, "{stage:?}");
    }
}

#[test]
fn a_head_begins_once() {
    let watch = watch(Stage::Http1);
    assert_eq!(watch.read(), Reading::HeadBegins);
    for _ in 0..5 {
        watch.worker.step();
        assert_eq!(watch.read(), Reading::HeadGoesOn);
    }
    // Five of its ten steps are gone: a trickle of bytes does not buy time.
    assert_eq!(
        turns(&watch, 5),
        (Verdict::Fine, Verdict::Slow(Order::Timeout))
    );
    watch.request_begins();
    assert_eq!(watch.read(), Reading::Other);
    watch.request_ends();
    assert_eq!(
        turns(&watch, 20),
        (Verdict::Fine, Verdict::Idle(Order::Close))
    );
    assert_eq!(watch.read(), Reading::HeadBegins);
}

#[test]
fn a_head_that_came_early_has_its_time_from_the_answer_on() {
    let watch = watch(Stage::Http1);
    watch.read();
    watch.request_begins();
    assert_eq!(watch.read(), Reading::Other, "half of the next one");
    watch.awaits_head();
    assert_eq!(watch.judge(1_000_000, &patience()), Verdict::Fine);
    watch.request_ends();
    for _ in 0..5 {
        watch.awaits_head();
        watch.worker.step();
    }
    assert_eq!(
        turns(&watch, 5),
        (Verdict::Fine, Verdict::Slow(Order::Timeout))
    );
}

#[test]
fn a_request_in_flight_has_no_limit_of_its_own() {
    let watch = watch(Stage::Http1);
    watch.request_begins();
    assert_eq!(watch.judge(1_000_000, &patience()), Verdict::Fine);
    let since = watch.await_body(Waker::noop());
    assert_eq!(
        turns(&watch, 30),
        (Verdict::Fine, Verdict::Slow(Order::Timeout))
    );
    watch.body_came(since);
    assert_eq!(watch.judge(1_000_000, &patience()), Verdict::Fine);
    watch.owe_body(true);
    assert_eq!(
        turns(&watch, 40),
        (Verdict::Fine, Verdict::Slow(Order::Close))
    );
    watch.owe_body(false);
    watch.blocked();
    assert_eq!(
        turns(&watch, 40),
        (Verdict::Fine, Verdict::Slow(Order::Close))
    );
    watch.wrote();
    assert_eq!(watch.judge(1_000_000, &patience()), Verdict::Fine);
}

#[test]
fn over_http2_each_body_has_its_own_time_whatever_else_comes() {
    let watch = watch(Stage::Http2);
    watch.request_begins();
    let first = Arc::new(WakeFlag::default());
    let since = watch.await_body(&Waker::from(first.clone()));
    let mut later = None;
    for step in 0..40 {
        let now = watch.worker.now();
        assert_eq!(watch.judge(now, &patience()), Verdict::Fine);
        let is_late = step > 31;
        assert_eq!(
            (watch.is_late(since), first.was_woken()),
            (is_late, is_late),
            "{step}"
        );
        watch.worker.step();
        // A ping, and a piece of another body.
        watch.read();
        let quick = watch.await_body(Waker::noop());
        watch.body_came(quick);
        if step == 20 {
            later = Some(watch.await_body(Waker::noop()));
        }
    }
    assert!(
        later.is_some_and(|since| !watch.is_late(since)),
        "it has its own time"
    );
    watch.body_came(since);
    assert_eq!(watch.judge(watch.worker.now(), &patience()), Verdict::Fine);
}

#[test]
fn over_http2_each_piece_of_an_answer_is_taken_in_its_own_time_whatever_else_goes() {
    let watch = watch(Stage::Http2);
    watch.request_begins();
    let task = Arc::new(WakeFlag::default());
    let given = watch.pieces.begin(1, Some(&Waker::from(task.clone())));
    for step in 0..50 {
        let now = watch.worker.now();
        assert_eq!(watch.judge(now, &patience()), Verdict::Fine);
        let is_late = step > 41;
        assert_eq!(
            (watch.pieces.is_late(given), task.was_woken()),
            (is_late, is_late),
            "{step}"
        );
        watch.worker.step();
        // The answer to a ping, and a piece of another answer.
        watch.wrote();
        let quick = watch.pieces.begin(watch.worker.now(), Some(Waker::noop()));
        assert!(!watch.pieces.is_late(quick));
        watch.pieces.end(quick);
    }
}

#[test]
fn the_most_severe_order_stands() {
    let watch = watch(Stage::Http1);
    for (told, order) in [
        (Order::Drain, Order::Drain),
        (Order::Serve, Order::Drain),
        (Order::Close, Order::Close),
        (Order::Timeout, Order::Close),
    ] {
        watch.tell(told);
        assert_eq!(watch.order(), order);
    }
}

#[test]
fn the_clock_wraps() {
    let watch = watch(Stage::Http1);
    watch
        .worker
        .tick
        .store(u32::MAX - 1, std::sync::atomic::Ordering::Relaxed);
    watch.enter(Stage::Http1);
    assert_eq!(watch.worker.step(), u32::MAX);
    assert_eq!(watch.worker.step(), 1);
    let patience = patience();
    assert_eq!(watch.judge(5, &patience), Verdict::Fine);
    assert_eq!(watch.judge(25, &patience), Verdict::Idle(Order::Close));
}
