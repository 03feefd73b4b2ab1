//! Targets against one another: their order, what is stopped half way, and what of one must not be said of the other.

use crate::{bench, figures, file, json};
use std::process::{Child, Stdio};
use testkit::{Gate, Origin, Reply, wait_until};

fn origin() -> Origin {
    let origin = Origin::start();
    origin.otherwise(|_| Reply::ok().body("hello"));
    origin
}

/// A comparison that goes on until a signal ends it.
fn begin(flags: &[&str]) -> Child {
    std::process::Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["bench", "--compare", "--quiet", "--json", "-c", "2"])
        .args(flags)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process")
}

/// Interrupts it; its exit code, result and what it said.
fn interrupt(child: Child) -> (Option<i32>, serde_json::Value, String) {
    let id = child.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(killed.expect("kill").success());
    let output = child.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let result = serde_json::from_slice(&output.stdout);
    let result = result.unwrap_or_else(|error| panic!("{error}: {said}"));
    (output.status.code(), result, said)
}

#[test]
fn stopped_before_the_other_was_asked_at_all() {
    let (one, other) = (origin(), origin());
    let (first, second) = (
        format!("one={}", one.url()),
        format!("other={}", other.url()),
    );
    let running = begin(&[&first, &second, "-d", "10m"]);
    wait_until("requests came", || one.requests("/") > 10);
    let (code, result, said) = interrupt(running);
    assert_eq!(other.requests("/"), 0);
    assert_eq!(result["ended"], "stopped", "{result}");
    assert!(!said.contains("no good answer"), "{said}");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(result["comparison"]["rounds"], 0, "no round is whole");
}

#[test]
fn stopped_in_a_later_round() {
    let (one, other, gate) = (Origin::start(), origin(), Gate::new());
    let held = gate.clone();
    one.otherwise(move |request| {
        if request.nth > 60 {
            held.pass();
        }
        Reply::ok()
    });
    let (first, second) = (
        format!("one={}", one.url()),
        format!("other={}", other.url()),
    );
    // The first round of each is whole; the second of the first target hangs.
    let running = begin(&[&first, &second, "-n", "50", "--timeout", "10m"]);
    gate.wait_reached_by(2);
    let (code, result, said) = interrupt(running);
    gate.open();
    assert_eq!(
        (code, &result["ended"]),
        (Some(0), &"stopped".into()),
        "{said}"
    );
    assert_eq!(result["comparison"]["rounds"], 1);
    for target in 0..2 {
        let rounds = result["targets"][target]["rounds"].as_array();
        assert_eq!(rounds.map(Vec::len), Some(1), "whole ones only: {result}");
    }
    let ratio = &result["comparison"]["ratios"][0]["rate"];
    assert_eq!(ratio["min"], ratio["max"], "of one round");
}

#[test]
fn targets_come_in_turn_round_by_round() {
    let origin = origin();
    let targets = ["/one", "/two", "/three"].map(|path| format!("{}{path}", origin.url()));
    let flags = [
        "--compare",
        "--rounds",
        "2",
        "-n",
        "20",
        "-c",
        "3",
        "--json",
    ];
    let result = json(&bench(&flags).args(targets).run());
    let paths: Vec<_> = origin.all().iter().map(|one| one.target.clone()).collect();
    let turns: Vec<_> = paths.chunk_by(|one, next| one == next).collect();
    let turns: Vec<_> = turns.iter().map(|turn| (&*turn[0], turn.len())).collect();
    let round = [("/one", 20), ("/two", 20), ("/three", 20)];
    assert_eq!(turns, [round, round].concat());
    let ratios = result["comparison"]["ratios"].as_array().expect("ratios");
    assert_eq!(ratios.len(), 2, "each but the first against the first");
}

#[test]
fn a_spread_stands_beside_each_ratio() {
    let (one, other) = (origin(), origin());
    let folder = testkit::scratch_dir();
    let [html, json] = ["r.html", "r.json"].map(|name| folder.join(name).display().to_string());
    let (first, second) = (
        format!("one={}", one.url()),
        format!("other={}", other.url()),
    );
    let flags = ["--compare", "--rounds", "3", "-n", "60", "-c", "2"];
    let files = ["-o", &html, "-o", &json, &first, &second];
    let finished = bench(&[&flags[..], &files].concat()).run();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let read = |path: &String| std::fs::read_to_string(path).expect("a file");
    let result: serde_json::Value = serde_json::from_str(&read(&json)).expect("JSON");
    let html = read(&html);
    for (figure, name) in [("rate", "requests/s"), ("p50", "p50"), ("p99", "p99")] {
        let ratio = &result["comparison"]["ratios"][0][figure];
        let [median, min, max] = ["median", "min", "max"].map(|part| ratio[part].as_f64());
        let (median, min, max) = (median.expect("it"), min.expect("it"), max.expect("it"));
        let line = finished.stdout.lines().find(|line| {
            let mut words = line.split_whitespace();
            (words.next(), words.next()) == (Some("other"), Some(name))
        });
        let told = format!("× {median:.3}  ({min:.3} to {max:.3})");
        assert!(
            line.is_some_and(|line| line.ends_with(&told)),
            "{told}: {line:?}"
        );
        let told = format!("× {median:.2} ({min:.2}–{max:.2})");
        assert!(html.contains(&told), "{told}");
    }
}

#[test]
fn a_list_is_asked_for_at_each_target() {
    let (one, other) = (origin(), origin());
    let list = file("list", "/a\nhttp://192.0.2.7/b\n");
    let list = list.to_str().expect("a path");
    let (first, second) = (one.url(), other.url());
    let flags = ["--compare", "--rounds", "1", "-n", "10", "--file", list];
    let result = figures(&[&[first.as_str(), &second], &flags[..]].concat());
    for origin in [&one, &other] {
        assert_eq!((origin.requests("/a"), origin.requests("/b")), (5, 5));
    }
    assert_eq!(result["targets"][1]["urls"], 2);
}

#[test]
fn one_round_is_no_median() {
    let (one, other) = (origin(), origin());
    let page = file("r.html", "");
    let flags = ["--compare", "--rounds", "1", "-n", "20", "-c", "2", "-o"];
    let finished = bench(&flags)
        .args([page.display().to_string(), one.url(), other.url()])
        .run();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let html = std::fs::read_to_string(page).expect("a page");
    for text in [&finished.stdout, &html] {
        assert!(
            text.contains("1 round") && !text.contains("1 rounds"),
            "{text}"
        );
        assert!(!text.contains("median of 1"), "{text}");
    }
}
