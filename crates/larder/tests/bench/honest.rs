//! What makes figures doubtful is said, and what is not the server's is not told as if it were.

use crate::{bench, figures, json};
use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Stdio},
    thread,
    time::Duration,
};
use testkit::{Command, Origin, Reply, wait_until};

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
    // The answer to one may be under way at the end.
    let count = |of: &serde_json::Value| of["requests"].as_u64().expect("a number");
    assert_eq!(count(target) + count(&target["unanswered"]), 2, "{target}");
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

/// A server that answers whatever comes at once, and costs next to nothing; its URL.
fn prompt() -> String {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", server.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in server.incoming().flatten() {
            thread::spawn(move || answer_all(stream));
        }
    });
    url
}

/// One read is one request: nobody pipelines, and a request is short.
fn answer_all(mut stream: TcpStream) {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let mut scratch = [0; 4096];
    while stream.read(&mut scratch).is_ok_and(|read| read > 0) && stream.write_all(answer).is_ok() {
    }
}

/// Processes that take whatever nobody else wants, or as much as everybody; they end with it.
struct Spinning(Vec<Child>);

impl Spinning {
    /// So many, that are started by these words.
    fn start(count: usize, words: &[&str]) -> Self {
        let one = |_| {
            std::process::Command::new(words[0])
                .args(&words[1..])
                .args(["sh", "-c", "while :; do :; done"])
                .spawn()
                .expect("a process")
        };
        Self((0..count).map(one).collect())
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// More than anybody can send from one core, so that the tool never has time left.
const TOO_MUCH: [&str; 8] = [
    "--unbounded",
    "--rate",
    "200000",
    "-c",
    "20",
    "-d",
    "1s",
    "--quiet",
];

#[test]
fn a_tool_that_has_too_little_of_its_core_says_so() {
    // Some core that this process may use; another process wants it as much.
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let allowed = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed_list"));
    let mut allowed = allowed.expect("cores").split(['\t', '-', ',']);
    let core = allowed.next_back().expect("a core").to_owned();
    let _other = Spinning::start(1, &["taskset", "-c", &core]);
    let output = std::process::Command::new("taskset")
        .args(["-c", &core, env!("CARGO_BIN_EXE_larder"), "bench"])
        .args([&prompt(), "--json"])
        .args(TOO_MUCH)
        .output()
        .expect("taskset");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let (kinds, target) = (kinds(&result), &result["targets"][0]);
    // The machine's other cores may have been busy with something else.
    let said = ["tool-at-limit", "machine-at-limit"];
    assert!(said.iter().any(|one| kinds.contains(one)), "{result}");
    let tool = |name: &str| target["tool"][name].as_f64().expect("a number");
    let (busy, waited) = (
        tool("busiest_worker_percent"),
        tool("busiest_worker_waited_percent"),
    );
    assert!(busy + waited >= 95.0, "it never rests: {busy} + {waited}");
    assert!(waited >= 5.0, "it shares its core: {busy} + {waited}");
    // The worker is a part of the tool, whose CPU time is measured apart.
    let seconds = target["seconds"].as_f64().expect("a number");
    let share = busy / 100.0 * seconds / tool("cpu_seconds");
    assert!(share > 0.0 && share < 1.1, "{share}: {target}");
}

#[test]
fn a_machine_without_time_left_is_told_of() {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    // They take only what the others leave, which is all that makes a machine busy.
    let _rest = Spinning::start(cores, &["nice", "-n", "19"]);
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["bench", &prompt(), "--json"])
        .args(TOO_MUCH)
        .output()
        .expect("a process");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(kinds(&result).contains(&"machine-at-limit"), "{result}");
}

#[test]
fn a_tool_that_stood_still_was_late_and_says_so() {
    let origin = origin();
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["bench", &origin.url(), "--rate", "200", "-c", "50"])
        .args(["-d", "2s", "--quiet", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let id = child.id();
    wait_until("requests came", || origin.requests("/") > 10);
    let signal = |name: &str| {
        let kill = std::process::Command::new("kill")
            .args([name, &id.to_string()])
            .status();
        assert!(kill.expect("kill").success());
    };
    signal("-STOP");
    // So long it comes to nothing: what is measured, not what is waited for.
    thread::sleep(Duration::from_millis(500));
    signal("-CONT");
    let output = child.wait_with_output().expect("its end");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    // What was due meanwhile found free connections, as many as there are.
    for kind in ["lag", "late-sends"] {
        assert!(kinds(&result).contains(&kind), "{result}");
    }
    let tool = &result["targets"][0]["tool"];
    for late in [&tool["lag_ms"], &tool["late_ms"]] {
        assert!(late["max"].as_f64() >= Some(400.0), "{tool}");
    }
}

#[test]
fn a_run_that_costs_nothing_is_in_no_doubt_of_the_tool() {
    let origin = Origin::start();
    // So slow that what else this machine does is little beside it.
    origin.otherwise(|_| {
        thread::sleep(Duration::from_secs(1));
        Reply::ok()
    });
    let result = figures(&[&origin.url(), "-c", "2", "-n", "2"]);
    let kinds = kinds(&result);
    // That it was late is no fault of its own on a machine that is busy with something else.
    for kind in ["tool-at-limit", "machine-at-limit"] {
        assert!(!kinds.contains(&kind), "{result}");
    }
    let tool = &result["targets"][0]["tool"];
    let busy = tool["busiest_worker_percent"].as_f64();
    assert!(busy.is_some_and(|busy| busy > 0.0 && busy < 50.0), "{tool}");
}
