//! Percentiles beside those of an independent tool, on a server whose delays are known.

use crate::figures;
use std::{process::Command, thread, time::Duration};
use testkit::{Origin, Reply};

/// Which share of the requests takes how long. Percentiles that are compared lie well inside a share, and the longest
/// is below twice the mean, from which on wrk would correct what it found.
const DELAYS: [(u64, Duration); 3] = [
    (65, Duration::from_millis(100)),
    (95, Duration::from_millis(130)),
    (100, Duration::from_millis(180)),
];

/// The delay of the request with this number, by a fixed disorder.
fn delay(nth: usize) -> Duration {
    let mixed = (nth as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let drawn = (mixed >> 32) % 100;
    let found = DELAYS.iter().find(|(below, _)| drawn < *below);
    found.map_or(Duration::ZERO, |(_, delay)| *delay)
}

/// A latency as wrk prints it, in milliseconds.
fn millis(text: &str) -> f64 {
    let end = text
        .find(|c: char| c.is_ascii_alphabetic())
        .expect("a unit");
    let (number, unit) = text.split_at(end);
    let factor = match unit {
        "us" => 0.001,
        "ms" => 1.0,
        "s" => 1000.0,
        _ => panic!("the unit of {text}"),
    };
    number.parse::<f64>().expect("a number") * factor
}

#[test]
fn percentiles_agree_with_wrk() {
    let origin = Origin::start();
    origin.otherwise(|request| {
        thread::sleep(delay(request.nth));
        Reply::ok().body("hello")
    });
    // Both at once, so that what else this machine does disturbs both.
    let url = origin.url();
    let wrk = thread::spawn(move || {
        let output = Command::new("wrk")
            .args(["-t1", "-c10", "-d8s", "--latency", &url])
            .output();
        String::from_utf8(output.expect("wrk").stdout).expect("text")
    });
    let result = figures(&[&origin.url(), "-c", "10", "-d", "8s"]);
    let printed = wrk.join().expect("wrk");
    let latency = &result["targets"][0]["latency_ms"];
    for (percent, least) in [
        ("50%", 100.0),
        ("75%", 130.0),
        ("90%", 130.0),
        ("99%", 180.0),
    ] {
        let line = printed
            .lines()
            .find_map(|line| line.trim().strip_prefix(percent));
        let theirs = millis(line.expect("a percentile").trim());
        let name = format!("p{}", percent.trim_end_matches('%'));
        let ours = latency[&name].as_f64().expect("a percentile");
        assert!(
            ours >= least,
            "{name}: {ours} ms, and the server waits {least}"
        );
        assert!(
            (ours / theirs - 1.0).abs() < 0.05,
            "{name}: {ours} ms against wrk's {theirs}"
        );
    }
}
