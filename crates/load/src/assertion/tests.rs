//! Assertions as they are written, and their verdicts on a result.

use super::Assertion;
use crate::{
    figures::{About, Target},
    process::Used,
    run::Measured,
    tally::Tally,
};
use proptest::prelude::*;
use std::time::Duration;

/// A hundred answers of 1 to 100 ms, one of them an error, in two seconds. Three of four come from a cache.
fn target() -> Target {
    with_left(&[])
}

/// The same, with requests that had waited for these milliseconds at the end.
fn with_left(waits: &[u64]) -> Target {
    let mut tally = Tally::default();
    for number in 1..=100_u64 {
        let answer = crate::http1::Answer {
            status: if number == 100 { 500 } else { 200 },
            cached: if number % 4 == 0 {
                crate::cached::Cached::Miss
            } else {
                crate::cached::Cached::Hit
            },
            ..Default::default()
        };
        tally.answer(&answer, Duration::from_millis(number));
    }
    let waits = waits.iter().copied().map(Duration::from_millis);
    waits.clone().for_each(|wait| tally.left.record(wait));
    let measured = Measured {
        unanswered: tally.left.count(),
        oldest: waits.max().unwrap_or_default(),
        tally,
        took: Duration::from_secs(2),
        used: Some(Used {
            cpu: Duration::from_millis(10),
            memory: 64 << 20,
            in_ticks: false,
            processes: 1,
        }),
        ..Measured::default()
    };
    let about = About {
        name: "it".to_owned(),
        url: "http://it/".to_owned(),
        urls: 1,
        most_rate: None,
        http: "1.1",
        keep_alive: true,
        warm_up_requests: 0,
        watched: None,
    };
    Target::new(about, &measured, Vec::new())
}

#[test]
fn what_had_no_answer_at_the_end_counts_with_the_time_it_waited() {
    let judge = |waits: &[u64], text: &str| {
        let asserted = Assertion::parse(text).expect("an assertion");
        asserted.judge(&with_left(waits))
    };
    for (waits, text, holds) in [
        (&[5, 20][..], "p99<100ms", true),
        (&[150, 160], "p99<100ms", false),
        (&[150, 160], "p50<60ms", true),
        (&[150], "max<100ms", false),
        (&[150; 50], "mean<60ms", false),
        (&[150; 50], "p99>120ms", false),
        // A request that hung for most of the run may hang for ever.
        (&[1900], "p50<60ms", false),
        (&[1900], "errors<=1", false),
        (&[1900], "requests>=100", true),
        (&[1900], "p50>40ms", true),
        (&[900], "errors<=1", true),
    ] {
        let verdict = judge(waits, text);
        assert_eq!(verdict.holds, holds, "{waits:?} {text}: {}", verdict.found);
    }
    let said = judge(&[1900], "errors<1").found;
    assert_eq!(
        said,
        "not known: 1 requests had no answer at the end, the oldest after 1900 ms"
    );
}

#[test]
fn what_holds() {
    let target = target();
    for (text, holds) in [
        ("p50<51ms", true),
        ("p50 < 49ms", false),
        ("p99<=0.1s", true),
        ("p99.9>98000us", true),
        ("max<100ms", true),
        ("mean>=49ms", true),
        ("errors<=1", true),
        ("errors<1%", false),
        ("errors<=1%", true),
        ("hits>=75%", true),
        ("hits>75%", false),
        ("stale<1%", true),
        ("rate>49/s", true),
        ("rate>50", false),
        ("requests>=100", true),
        ("cpu<=100us", true),
        ("memory<65MiB", true),
        ("memory<64MB", false),
    ] {
        let verdict = Assertion::parse(text).unwrap().judge(&target);
        assert_eq!(verdict.holds, holds, "{verdict}");
    }
    let verdict = Assertion::parse("p50<49ms").unwrap().judge(&target);
    assert!(
        verdict
            .to_string()
            .starts_with("p50<49ms does not hold for it: 50.0"),
        "{verdict}"
    );
}

#[test]
fn what_was_not_measured_holds_nothing() {
    let measured = Measured::default();
    let about = About {
        name: String::new(),
        url: String::new(),
        urls: 0,
        most_rate: None,
        http: "2",
        keep_alive: true,
        warm_up_requests: 0,
        watched: None,
    };
    let target = Target::new(about, &measured, Vec::new());
    for text in ["p99<1s", "hits>0%", "errors<1%", "cpu<1s", "memory<1GiB"] {
        let verdict = Assertion::parse(text).unwrap().judge(&target);
        assert!(!verdict.holds, "{verdict}");
        assert!(verdict.found == "not measured", "{verdict}");
    }
}

#[test]
fn what_is_no_assertion() {
    for (text, told) in [
        ("p99", "lacks one of"),
        ("p98<1ms", "no figure 'p98'"),
        ("p99<50", "needs a unit"),
        ("p99<ms", "not a value"),
        ("p99=<5ms", "no figure"),
        ("errors<x%", "not a value"),
        ("rate>-1", "not a value"),
        ("rate>1e400", "not a value"),
        ("memory<5", "needs a unit"),
    ] {
        let wrong = Assertion::parse(text).unwrap_err().to_string();
        assert!(wrong.contains(told), "{text}: {wrong}");
    }
}

proptest! {
    #[test]
    fn anything_is_read(text in "(p99|p50|errors|rate|memory|[a-z%.]{0,3})[<>=]{0,3}[0-9.]{0,6}(ms|s|%|MiB|\\PC)?") {
        if let Ok(assertion) = Assertion::parse(&text) {
            let verdict = assertion.judge(&target());
            prop_assert_eq!(verdict.text, text);
        }
    }
}
