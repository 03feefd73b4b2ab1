//! What following a part of the URLs comes to, beside following all of them.

use super::*;
use crate::config::value::Size;
use crate::simulate::{Wanted, log::Format, log::Heed, urls};
use std::{fmt::Write as _, fs};

/// A log of 60,000 requests for some 10,000 URLs, some asked for often and most seldom.
fn log() -> String {
    let (mut text, mut state) = (String::new(), 7_u64);
    for number in 0..60_000_u64 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        // Products of three numbers: some come often. Beside each of them fifteen others.
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

fn simulated(path: &std::path::Path, most_urls: usize) -> Report {
    let wanted = Wanted {
        memory: vec![Size(8 << 20), Size(32 << 20)],
        ..Wanted::default()
    };
    let plan = Plan {
        most_urls,
        ..Plan::new(&wanted).unwrap()
    };
    let parser = Parser::new(Format::Auto, Heed::All);
    let sources = vec![Source::open(path).unwrap()];
    let host = "localhost".to_owned();
    simulate(
        &plan,
        &parser,
        sources,
        &Assumptions { host },
        Arc::default(),
    )
    .unwrap()
}

#[test]
fn a_part_of_the_urls_tells_of_all() {
    let path = std::env::temp_dir().join(format!("larder-sample-{}.log", std::process::id()));
    fs::write(&path, log()).unwrap();
    let (all, part) = (simulated(&path, urls::MOST), simulated(&path, 2000));
    fs::remove_file(&path).unwrap();
    assert_eq!(all.sample.one_in, 1);
    assert!(
        part.sample.one_in > 2 && part.sample.urls <= 2000,
        "{:?}",
        part.sample
    );
    assert_eq!(
        (all.requests, all.bytes),
        (part.requests, part.bytes),
        "counted in full"
    );
    let pairs = all
        .memory
        .iter()
        .chain(&all.lifetimes)
        .zip(part.memory.iter().chain(&part.lifetimes));
    for (all, part) in pairs {
        let (exact, estimated) = (all.hit_ratio, part.hit_ratio);
        assert!(
            (exact - estimated).abs() < 0.05,
            "{exact} estimated as {estimated}: {all:?}"
        );
    }
}
