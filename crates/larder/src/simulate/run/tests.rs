//! Compares the results of following a part of the URLs with those of following all.

use super::*;
use crate::simulate::{Wanted, log::Format, log::Heed, urls};
use std::{fmt::Write as _, fs, sync::atomic::Ordering};

/// A log of 60,000 requests for some 10,000 URLs: some are requested often, and most seldom.
fn log() -> String {
    let (mut text, mut state) = (String::new(), 7_u64);
    for number in 0..60_000_u64 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        // Products of three numbers: some come often. Each of them has fifteen others beside it.
        let share = |from: u32| (state >> from) % 28;
        let page = (share(20) * share(30) * share(40)) * 16 + (state >> 60);
        let (minute, second) = (number / 60 / 60 % 60, number / 60 % 60);
        writeln!(
            text,
            "192.0.2.7 - - [21/Nov/2025:02:{minute:02}:{second:02} +0000] \"GET /{page} HTTP/1.1\" 200 {}",
            1000 + page * 7919 % 9000
        )
        .unwrap();
    }
    text
}

/// The report on a log, from a pass that follows at most this many URLs.
fn simulated(log: &str, most_urls: usize) -> Report {
    static LOGS: AtomicU64 = AtomicU64::new(0);
    let number = LOGS.fetch_add(1, Ordering::Relaxed);
    let name = format!("larder-sample-{}-{number}.log", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::write(&path, log).unwrap();
    let wanted = Wanted {
        memory: vec!["8MiB".parse().unwrap(), "32MiB".parse().unwrap()],
        ..Wanted::default()
    };
    let plan = Plan {
        most_urls,
        ..Plan::new(&wanted).unwrap()
    };
    let parser = Parser::new(Format::Auto, Heed::All);
    let sources = vec![Source::open(&path).unwrap()];
    let host = "localhost".to_owned();
    let assumptions = Assumptions { host };
    let report = simulate(&plan, &parser, sources, &assumptions, Arc::default()).unwrap();
    fs::remove_file(&path).unwrap();
    report
}

/// Compares the estimates from a part with the results of all.
fn compare(all: &Report, part: &Report) {
    assert_eq!(all.sample.one_in, 1);
    assert_eq!(
        (all.requests, all.bytes),
        (part.requests, part.bytes),
        "counted in full"
    );
    let both = all.memory.iter().chain(&all.lifetimes);
    for (all, part) in both.zip(part.memory.iter().chain(&part.lifetimes)) {
        for (exact, estimated) in [
            (all.hit_ratio, part.hit_ratio),
            (all.byte_hit_ratio, part.byte_hit_ratio),
        ] {
            assert!(
                (exact - estimated).abs() < 0.05,
                "{exact} estimated as {estimated}: {all:?}"
            );
        }
    }
}

#[test]
fn a_part_of_the_urls_tells_of_all() {
    let log = log();
    let (all, part) = (simulated(&log, urls::MOST), simulated(&log, 2000));
    assert!(
        part.sample.one_in > 2 && part.sample.urls <= 2000,
        "{:?}",
        part.sample
    );
    compare(&all, &part);
}

/// One URL is requested as often as all others together, and its answer is never stored: whether it is followed is
/// chance.
#[test]
fn what_is_not_stored_is_counted_in_full() {
    let lines = log();
    let lines: Vec<_> = lines.lines().take(6000).collect();
    for hot in ["/hot", "/warm", "/a"] {
        let mut log = String::new();
        for line in &lines {
            let (clock, _) = line.split_once('"').unwrap();
            writeln!(log, "{line}\n{clock}\"GET {hot} HTTP/1.1\" 404 500").unwrap();
        }
        let part = simulated(&log, 800);
        assert!(part.sample.one_in > 2, "{:?}", part.sample);
        compare(&simulated(&log, urls::MOST), &part);
    }
}

/// One URL is always stale, and is requested as often as all others together: if it is followed, it stands for many
/// that do not exist.
#[test]
fn estimates_are_never_more_than_there_can_be() {
    let mut followed = 0;
    for hot in 0..32 {
        let mut log = String::new();
        for number in 0..600 {
            let at = 1_763_692_560 + number * 3;
            for (page, lifetime) in [
                (
                    format!("hot-{hot}"),
                    "max-age=1, stale-while-revalidate=600",
                ),
                (format!("{number}"), "max-age=60"),
            ] {
                writeln!(
                    log,
                    r#"{{"ts":{at},"method":"GET","host":"h","uri":"/{page}","status":200,"bytes":100,"sent_http_cache_control":"{lifetime}"}}"#,
                )
                .unwrap();
            }
        }
        let report = simulated(&log, 64);
        assert!(report.sample.one_in >= 8, "{:?}", report.sample);
        let base = &report.base;
        assert!(base.stale <= base.hits, "{base:?}");
        assert!(base.collapsed <= report.requests - base.hits, "{base:?}");
        followed += u64::from(base.stale > 0);
        let said = report
            .assumed
            .iter()
            .any(|said| said.contains("stale hits"));
        assert!(said, "{:?}", report.assumed);
    }
    assert!(followed > 0, "chance has it in none of them");
}

#[test]
fn urls_that_are_never_asked_of_the_store_are_followed_no_more_than_others() {
    let mut log = String::new();
    for number in 0..10_000 {
        let text = "x".repeat(number % 2000);
        writeln!(
            log,
            "192.0.2.7 - - [21/Nov/2025:02:36:00 +0000] \"POST /{number}/{text} HTTP/1.1\" 200 1"
        )
        .unwrap();
    }
    let report = simulated(&log, 2000);
    assert!(report.sample.urls <= 2000, "{:?}", report.sample);
    assert_eq!(report.bypassed[0].requests, 10_000);
    assert!(report.urls.iter().all(|url| url.url.len() <= 512));
}

/// Each visitor has a variant, and comes twice.
#[test]
fn a_part_of_the_variants_tells_of_all() {
    let mut log = String::new();
    for number in 0..20_000 {
        let visitor = number / 40 * 20 + number % 20;
        writeln!(
            log,
            r#"{{"ts":{},"method":"GET","host":"h","uri":"/p","status":200,"bytes":100,"http_cookie":"{visitor}","sent_http_vary":"Cookie"}}"#,
            1_763_692_560 + number / 1000
        )
        .unwrap();
    }
    let (all, part) = (simulated(&log, urls::MOST), simulated(&log, 1000));
    assert!(part.sample.one_in >= 8, "{:?}", part.sample);
    assert_eq!((all.base.hits, all.urls[0].fetches), (10_000, 10_000));
    assert!(
        part.urls[0].fetches.abs_diff(10_000) < 1000,
        "{:?}",
        part.urls
    );
    compare(&all, &part);
}
