//! What makes figures doubtful is said, and what is not the server's is not told as if it were.

use crate::{bench, figures, json};
use std::{thread, time::Duration};
use testkit::{Command, Origin, Reply};

fn origin() -> Origin {
    let origin = Origin::start();
    origin.otherwise(|_| Reply::ok().body("hello"));
    origin
}

fn kinds(result: &serde_json::Value) -> Vec<&str> {
    let warnings = result["warnings"].as_array().expect("warnings");
    let kinds = warnings.iter().map(|one| one["kind"].as_str());
    kinds.map(|kind| kind.expect("a kind")).collect()
}

#[test]
fn the_tool_s_own_bound_is_no_figure_of_the_server() {
    let origin = origin();
    let flags = ["-c", "8", "-d", "1s", "--max-rate", "40"];
    let result = figures(&[&[origin.url().as_str()], &flags[..]].concat());
    assert!(kinds(&result).contains(&"rate-bound"), "{result}");
    assert_eq!(result["targets"][0]["most_rate"], 40.0);
    let other = self::origin();
    let targets = [
        format!("one={}", origin.url()),
        format!("other={}", other.url()),
    ];
    let compared = bench(&[&["--compare", "--rounds", "1", "--json"], &flags[..]].concat());
    let result = json(&compared.args(targets).run());
    let said = result["comparison"]["sentences"][0].as_str();
    assert!(!said.expect("a sentence").contains("requests"), "{result}");
    // An open loop is its own bound, and a closed one far below it is not held back.
    for flags in [
        &["--rate", "40", "-d", "1s"][..],
        &["-n", "20", "--max-rate", "100000"],
    ] {
        let result = figures(&[&[origin.url().as_str()], flags].concat());
        assert!(!kinds(&result).contains(&"rate-bound"), "{result}");
    }
}

#[test]
fn an_open_loop_that_is_overrun_says_what_is_in_no_percentile() {
    let origin = Origin::start();
    origin.otherwise(|_| {
        thread::sleep(Duration::from_millis(100));
        Reply::ok()
    });
    // Due are 40 within the two seconds, and one connection gets 20 answers.
    let result = figures(&[&origin.url(), "-c", "1", "--rate", "20", "-d", "2s"]);
    let target = &result["targets"][0];
    assert!(kinds(&result).contains(&"unanswered"), "{result}");
    assert!(
        target["unanswered"]["unsent"].as_u64() > Some(10),
        "{target}"
    );
    let warnings = result["warnings"].as_array().expect("warnings");
    let backlog = warnings.iter().find(|one| one["kind"] == "backlog");
    let text = backlog.expect("a backlog")["text"].as_str().expect("text");
    let share: f64 = text
        .split(' ')
        .next()
        .and_then(|one| one.parse().ok())
        .expect("a share");
    assert!((50.0..=100.0).contains(&share), "{text}");
}

#[test]
fn errors_that_are_faster_than_answers_are_told() {
    let origin = Origin::start();
    origin.otherwise(|request| {
        if request.nth % 2 == 0 {
            return Reply::status(503);
        }
        thread::sleep(Duration::from_millis(30));
        Reply::ok()
    });
    let result = figures(&[&origin.url(), "-n", "30", "-c", "1"]);
    assert!(kinds(&result).contains(&"fast-errors"), "{result}");
}

#[test]
fn a_slow_schedule_lasts_as_long_as_it_was_to() {
    let origin = origin();
    let result = figures(&[&origin.url(), "--rate", "2", "-d", "1s"]);
    let target = &result["targets"][0];
    assert_eq!(target["requests"], 2);
    assert!(target["seconds"].as_f64() >= Some(1.0), "{target}");
    assert!(target["rate"].as_f64() <= Some(2.01), "{target}");
}

#[test]
fn the_machine_has_all_its_cores_where_the_tool_has_one() {
    let origin = origin();
    let output = std::process::Command::new("taskset")
        .args([
            "-c",
            "0",
            env!("CARGO_BIN_EXE_larder"),
            "bench",
            &origin.url(),
        ])
        .args(["-n", "20", "-c", "4", "--quiet", "--json"])
        .output()
        .expect("taskset");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let stat = std::fs::read_to_string("/proc/stat").expect("Linux");
    let cores = stat.lines().filter(|line| line.starts_with("cpu")).count() - 1;
    assert_eq!(result["machine"]["cores"], cores);
    let found = result["targets"][0]["machine_cpu"]["cores"].as_f64();
    assert_eq!(found, u32::try_from(cores).ok().map(f64::from));
    assert_eq!(result["workers"], 1, "as many as it may use");
}

#[test]
fn workers_are_one_for_each_core_and_never_more_than_connections() {
    let origin = origin();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    for (connections, wanted) in [("1", 1), ("64", cores)] {
        let url = origin.url();
        let finished = Command::new(env!("CARGO_BIN_EXE_larder"))
            .args([
                "bench",
                &url,
                "-n",
                "64",
                "-c",
                connections,
                "--quiet",
                "--json",
            ])
            .run();
        assert_eq!(json(&finished)["workers"], wanted);
    }
}

#[test]
fn nothing_is_asserted_of_a_process_that_is_not_there() {
    let origin = origin();
    let url = origin.url();
    for assertion in ["memory<100GiB", "cpu<60s"] {
        let flags = [
            "-n",
            "20",
            "--process",
            "no-such-process",
            "--assert",
            assertion,
        ];
        let finished = bench(&[&[url.as_str(), "--json"], &flags[..]].concat()).run();
        assert_eq!(finished.code, Some(1), "{}", finished.stderr);
        assert!(
            finished.stderr.contains("not measured"),
            "{}",
            finished.stderr
        );
        let result = json(&finished);
        assert!(kinds(&result).contains(&"no-process"));
        assert!(result["targets"][0]["process"].is_null());
        assert!(result["targets"][0]["rounds"][0]["cpu_us_per_request"].is_null());
    }
}
