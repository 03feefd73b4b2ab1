//! How many ask, and when.

use crate::{bench, figures, json};
use std::process::Stdio;
use testkit::{Gate, Origin, Reply, wait_until};

fn origin() -> Origin {
    let origin = Origin::start();
    origin.otherwise(|_| Reply::ok().body("hello"));
    origin
}

#[test]
fn a_number_of_requests_is_sent_exactly() {
    let origin = origin();
    let result = figures(&[&origin.url(), "--requests", "500", "--connections", "7"]);
    let target = &result["targets"][0];
    assert_eq!(origin.requests("/"), 500);
    assert_eq!(target["requests"], 500);
    assert_eq!(target["good"], 500);
    assert_eq!(target["errors"], 0);
    assert_eq!(target["statuses"]["codes"]["200"], 500);
    assert_eq!(target["statuses"]["classes"]["2xx"], 500);
    assert_eq!(target["bytes"]["content"], 2500);
    assert_eq!(target["connections"]["opened"], 7);
    assert_eq!(origin.connections(), 7, "kept alive");
    assert_eq!(target["latency_ms"]["count"], 500);
    assert_eq!(result["ended"], "requests");
}

#[test]
fn one_connection_for_each_request() {
    let origin = origin();
    let result = figures(&[&origin.url(), "-n", "40", "-c", "4", "--no-keep-alive"]);
    assert_eq!(origin.connections(), 40);
    assert_eq!(result["targets"][0]["good"], 40);
    assert_eq!(origin.last("/").header("connection"), Some("close"));
}

#[test]
fn a_closed_loop_asks_again_only_when_it_is_answered() {
    let origin = Origin::start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |_| {
        held.pass();
        Reply::ok()
    });
    let url = origin.url();
    let running = std::thread::spawn(move || figures(&[&url, "-n", "9", "-c", "3"]));
    gate.wait_reached_by(3);
    assert_eq!(origin.requests("/"), 3, "three connections, three requests");
    gate.open();
    let target = &running.join().expect("a result")["targets"][0];
    assert_eq!(target["good"], 9);
    assert_eq!(target["connections"]["peak"], 3, "although it is over soon");
}

/// Twenty requests on two connections, with these flags, before a server that answers nobody for a while.
fn stalled(flags: &[&str]) -> serde_json::Value {
    let origin = Origin::start();
    let gate = Gate::new();
    let held = gate.clone();
    origin.on("/", move |_| {
        held.pass();
        Reply::ok()
    });
    let url = origin.url();
    let flags: Vec<_> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    let running = std::thread::spawn(move || {
        let flags: Vec<_> = flags.iter().map(String::as_str).collect();
        let all = ["-n", "20", "-c", "2", "-d", "60s"];
        figures(&[&[url.as_str()], &all[..], &flags].concat())
    });
    gate.wait_reached_by(2);
    std::thread::sleep(std::time::Duration::from_millis(450));
    gate.open();
    running.join().expect("a result")
}

#[test]
fn an_open_loop_counts_from_when_a_request_was_due() {
    // The last is due 190 ms after the first, so even that one waits for 260.
    let result = stalled(&["--rate", "100"]);
    assert_eq!(result["shape"]["kind"], "open");
    let target = &result["targets"][0];
    assert_eq!(target["good"], 20);
    let latency = |name: &str| target["latency_ms"][name].as_f64().expect("a latency");
    assert!(latency("min") >= 250.0, "{target}");
    assert!(latency("p50") >= 300.0, "{target}");
    assert!(latency("max") >= 440.0, "{target}");
    // One connection for each of the two workers: all but their first ones had to wait.
    assert_eq!(target["tool"]["queued"], 18);
    assert_eq!(target["tool"]["late_ms"]["count"], 2);
    assert_eq!(target["connections"]["peak"], 2, "under way at once");

    // In a closed loop the stall counts once for each connection.
    let target = &stalled(&[])["targets"][0];
    let latency = |name: &str| target["latency_ms"][name].as_f64().expect("a latency");
    assert!(latency("max") >= 440.0, "{target}");
    assert!(latency("p50") < latency("max") / 2.0, "{target}");
}

#[test]
fn a_rising_rate_sends_what_lies_below_it() {
    let origin = origin();
    let result = figures(&[&origin.url(), "--rate", "0..200", "-d", "1s"]);
    // 0 to 200 within a second are 100; those that are due at the very end may be under way.
    let target = &result["targets"][0];
    let sent = target["requests"].as_u64().expect("a number")
        + target["unanswered"]["requests"].as_u64().expect("a number");
    assert_eq!(sent, 100, "{target}");
}

#[test]
fn users_come_one_after_another() {
    let origin = origin();
    let flags = ["--users", "40", "--ramp", "4s", "--pause", "20ms"];
    let result = figures(&[&[origin.url().as_str()], &flags[..]].concat());
    let target = &result["targets"][0];
    let points = target["points"].as_array().expect("points");
    let users: Vec<_> = points.iter().map(|point| point["users"].as_u64()).collect();
    assert!(users.is_sorted(), "{users:?}");
    assert!(users.first() < users.last(), "{users:?}");
    assert_eq!(result["shape"]["ramp_seconds"], 4.0);
    assert_eq!(result["shape"]["users"], 40);
}

#[test]
fn users_rest_at_random_up_to_a_bound() {
    use std::{sync::Mutex, time::Instant};
    let times = std::sync::Arc::new(Mutex::new(Vec::new()));
    let noted = std::sync::Arc::clone(&times);
    let origin = Origin::start();
    origin.otherwise(move |_| {
        noted.lock().expect("a list").push(Instant::now());
        Reply::ok()
    });
    figures(&[
        &origin.url(),
        "--users",
        "1",
        "--pause",
        "300ms",
        "-n",
        "12",
    ]);
    let times = times.lock().expect("a list");
    let mut gaps: Vec<_> = times
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_millis())
        .collect();
    gaps.sort_unstable();
    assert_eq!(gaps.len(), 11);
    // Even is what is drawn: half of the rests lie above half of the bound, and none above it. A machine that is busy
    // adds to each, but hardly to three of four.
    assert!(gaps[8] < 300, "{gaps:?}");
    assert!(gaps[10] > 150 && gaps[10] - gaps[0] > 100, "{gaps:?}");
}

#[test]
fn a_bound_on_the_rate_holds_from_the_first_request() {
    let origin = origin();
    // Each of two workers has one a second, and they take turns.
    figures(&[&origin.url(), "-c", "8", "-d", "200ms", "--max-rate", "2"]);
    assert_eq!(origin.requests("/"), 1);
}

#[test]
fn a_warm_up_has_its_own_length() {
    let origin = origin();
    let flags = ["-n", "10", "-d", "60s", "--warm-up", "3s", "-c", "1"];
    let result = figures(&[&[origin.url().as_str()], &flags[..]].concat());
    assert_eq!(result["targets"][0]["requests"], 10);
    assert!(origin.requests("/") > 20, "as many as there is time for");
}

#[test]
fn a_bound_on_the_rate_holds_in_a_closed_loop() {
    let origin = origin();
    let result = figures(&[&origin.url(), "-c", "8", "-d", "1s", "--max-rate", "50"]);
    let requests = result["targets"][0]["requests"].as_u64().expect("a number");
    assert!(requests <= 52, "{requests}");
}

#[test]
fn a_warm_up_is_not_counted() {
    let origin = origin();
    let flags = [
        "-n",
        "10",
        "-c",
        "1",
        "--warm-up",
        "3s",
        "--max-rate",
        "100",
    ];
    let result = figures(&[&[origin.url().as_str()], &flags[..]].concat());
    assert_eq!(result["targets"][0]["requests"], 10);
    let before = &result["targets"][0]["warm_up_requests"];
    let before = before.as_u64().expect("a number") as usize;
    // One may have been under way when the warm-up ended.
    let all = origin.requests("/");
    assert!(before > 0 && [10, 11].contains(&(all - before)), "{all}");
}

#[test]
fn a_signal_ends_it_and_it_still_reports() {
    let origin = origin();
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["bench", &origin.url(), "-d", "10m", "--json", "-q"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    // Of 50 connections, so that most of them were answered.
    wait_until("requests came", || origin.requests("/") > 100);
    let id = child.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(killed.expect("kill").success());
    let output = child.wait_with_output().expect("its end");
    assert_eq!(output.status.code(), Some(0));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["ended"], "stopped");
    assert!(result["targets"][0]["good"].as_u64() > Some(10));
}

/// The files are written whichever way it ends, over HTTP/2 and at a rate too.
#[test]
fn a_signal_ends_it_and_the_files_are_written() {
    let origin = origin();
    let larder = testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
        .args([origin.url()])
        .start();
    // So many that most of them were answered.
    for (flags, many) in [(&["--rate", "200"][..], 100), (&["--http2"], 1000)] {
        let folder = testkit::scratch_dir();
        let (json, page) = (folder.join("result.json"), folder.join("result.html"));
        let before = origin.requests("/");
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_larder"))
            .args(["bench", &larder.listeners()[0], "-d", "10m", "-q"])
            .args(flags)
            .args([
                "-o".as_ref(),
                json.as_os_str(),
                "-o".as_ref(),
                page.as_os_str(),
            ])
            .stdout(Stdio::null())
            .spawn()
            .expect("a process");
        wait_until("requests came", || origin.requests("/") > before + many);
        let id = child.id().to_string();
        let killed = std::process::Command::new("kill")
            .args(["-INT", &id])
            .status();
        assert!(killed.expect("kill").success());
        assert!(child.wait().expect("its end").success(), "{flags:?}");
        let result = std::fs::read(&json).expect("a file");
        let result: serde_json::Value = serde_json::from_slice(&result).expect("JSON");
        assert_eq!(result["ended"], "stopped", "{flags:?}");
        let page = std::fs::read_to_string(&page).expect("a file");
        assert!(page.contains("stopped before its end"), "{flags:?}");
    }
}

#[test]
fn a_closed_loop_for_a_time_ends_with_it() {
    let origin = origin();
    let result = figures(&[&origin.url(), "-c", "2", "-d", "1s"]);
    assert_eq!(result["ended"], "time");
    assert!(result["targets"][0]["good"].as_u64() > Some(0));
    // Never before it is over; how long after is the machine's.
    assert!(result["targets"][0]["seconds"].as_f64() >= Some(1.0));
}

#[test]
fn targets_are_compared_round_by_round() {
    let (one, other) = (origin(), origin());
    let targets = [
        format!("one={}", one.url()),
        format!("other={}", other.url()),
    ];
    let flags = ["--compare", "--rounds", "3", "-n", "30", "-c", "2"];
    let finished = bench(&flags).args(targets).args(["--json"]).run();
    let result = json(&finished);
    assert_eq!((one.requests("/"), other.requests("/")), (90, 90));
    let comparison = &result["comparison"];
    assert_eq!(comparison["base"], "one");
    assert_eq!(comparison["rounds"], 3);
    let ratio = &comparison["ratios"][0];
    assert_eq!(ratio["target"], "other");
    let of = |name: &str| ratio["rate"][name].as_f64().expect("a ratio");
    assert!(of("min") <= of("median") && of("median") <= of("max"));
    let said = comparison["sentences"][0].as_str().expect("a sentence");
    assert!(said.starts_with("other against one: "), "{said}");
    assert_eq!(
        result["targets"][1]["rounds"].as_array().map(Vec::len),
        Some(3)
    );
    assert_eq!(result["targets"][1]["requests"], 90);
}
