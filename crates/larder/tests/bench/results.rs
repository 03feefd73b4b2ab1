//! What comes out: text, files, exit codes, and what is seen meanwhile.

use crate::{bench, figures};
use std::{collections::HashMap, fs, os::unix::fs::PermissionsExt as _};
use testkit::{Command, Origin, Reply, scratch_dir};

fn origin() -> Origin {
    let origin = Origin::start();
    origin.otherwise(|_| Reply::ok().body("hello"));
    origin
}

#[test]
fn every_form() {
    let origin = origin();
    let folder = scratch_dir();
    let path = |name: &str| folder.join(name).display().to_string();
    let outputs = ["r.html", "r.json", "r.csv", "r.txt"].map(path);
    let flags = outputs.iter().flat_map(|path| ["--output", path.as_str()]);
    let finished = bench(&[&origin.url(), "-n", "200", "-c", "4"])
        .args(flags)
        .run();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(finished.stderr, "", "quiet");
    let read = |path: &String| fs::read_to_string(path).expect("a file");
    let [html, json, csv, text] = outputs.each_ref().map(read);
    assert_eq!(text, finished.stdout);
    for part in [
        "requests    200",
        "errors      0",
        "p99.99",
        "status      200: 200",
        "connections 4",
        "tool itself",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "no colours");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["format"], 1);
    assert_eq!(json["targets"][0]["requests"], 200);
    let whole = &rows(&csv)[0];
    assert_eq!((&*whole["at_s"], &*whole["requests"]), ("all", "200"));
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    for elsewhere in ["src=", "href=\"http", "url(http", "@import", "<script"] {
        assert!(!html.contains(elsewhere), "{elsewhere}");
    }
    // Nothing but the four is left.
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 4);
}

/// The rows of a CSV by their columns; none has more cells than there are columns, or fewer.
fn rows(csv: &str) -> Vec<HashMap<String, String>> {
    let mut lines = csv.split("\r\n").filter(|line| !line.is_empty());
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let columns = cells(lines.next().expect("a head"));
    let row = |line| {
        let cells = cells(line);
        assert_eq!(cells.len(), columns.len(), "{line}");
        columns.iter().cloned().zip(cells).collect()
    };
    lines.map(row).collect()
}

#[test]
fn a_table_has_classes_kinds_shares_and_the_process() {
    let origin = Origin::start();
    origin.otherwise(|request| match request.nth % 4 {
        0 => Reply::close(),
        1 => Reply::status(503),
        2 => Reply::ok().header("Cache-Status", "it; hit; ttl=9"),
        _ => Reply::status(204).header("Cache-Status", "it; hit; ttl=-9"),
    });
    let path = scratch_dir().join("r.csv");
    let output = path.display().to_string();
    let id = std::process::id().to_string();
    let flags = ["-n", "80", "-c", "1", "--process", &id, "-o", &output];
    let finished = bench(&[&[origin.url().as_str()], &flags[..]].concat()).run();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    for part in ["2xx: 40  5xx: 20", "200: 20  204: 20  503: 20"] {
        assert!(finished.stdout.contains(part), "{}", finished.stdout);
    }
    let rows = rows(&fs::read_to_string(path).expect("a file"));
    let whole = &rows[0];
    let counts = [
        ("requests", "80"),
        ("good", "40"),
        ("errors", "40"),
        ("status_2xx", "40"),
        ("status_4xx", "0"),
        ("status_5xx", "20"),
        ("fault_closed", "20"),
        ("fault_timeout", "0"),
        ("hits", "40"),
        ("stale", "20"),
        ("hits_percent", "100"),
        ("stale_percent", "50"),
    ];
    for (column, count) in counts {
        assert_eq!(whole[column], count, "{column}: {whole:?}");
    }
    let number = |column: &str| whole[column].parse::<f64>().expect("a number");
    assert!(number("process_memory_bytes") > 1e6, "{whole:?}");
    let each = number("process_cpu_seconds") / 80.0 * 1e6;
    assert!((number("process_cpu_us_per_request") - each).abs() < 1.0);
    assert!(number("connections_opened") >= 20.0, "{whole:?}");
    // Of its spans only what is known of them is told.
    assert!(rows.len() > 1 && rows[1]["status_2xx"].is_empty());
}

#[test]
fn a_percentile_of_too_few_is_marked() {
    let origin = origin();
    let folder = scratch_dir();
    let [html, json] = ["r.html", "r.json"].map(|name| folder.join(name).display().to_string());
    let url = origin.url();
    let flags = [&url, "-n", "2000", "-c", "4", "-o", &html, "-o", &json];
    let finished = bench(&flags).run();
    let read = |path: &String| fs::read_to_string(path).expect("a file");
    let figures: serde_json::Value = serde_json::from_str(&read(&json)).expect("JSON");
    // Twenty lie beyond the 99th, and two beyond the 99.9th.
    let latency = &figures["targets"][0]["latency_ms"];
    assert_eq!(latency["doubtful"], serde_json::json!(["p99.9", "p99.99"]));
    let latency = finished.stdout.lines().find(|line| line.contains("p99.9 "));
    let cells: Vec<_> = latency.expect("a latency").split("  p").collect();
    for (cell, is_doubtful) in cells[1..].iter().zip([false, false, false, true, true]) {
        assert_eq!(cell.ends_with('?'), is_doubtful, "{cells:?}");
    }
    let note = "fewer than ten of 2 000 lie beyond p99.9";
    assert!(finished.stdout.contains(note), "{}", finished.stdout);
    let html = read(&html);
    assert!(html.contains(note));
    let cell = |name: &str| {
        let (_, rest) = html
            .split_once(&format!("<td>{name}</td><td>"))
            .expect(name);
        rest.split_once('<').expect("an end").0.to_owned()
    };
    assert!(!cell("p99").ends_with('?') && cell("p99.9").ends_with('?'));
    let (tile, _) = html.split_once("</b><span>99.9th percentile").expect("it");
    assert!(tile.ends_with('?'));
}

#[test]
fn names_and_urls_stay_text_in_the_page() {
    let origin = origin();
    let path = scratch_dir().join("r.html");
    let output = path.display().to_string();
    let url = format!("<b>&\"'={}/?a='&b", origin.url());
    let finished = bench(&[&url, "-n", "2", "-o", &output]).run();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let html = fs::read_to_string(path).expect("a page");
    assert!(
        !html.contains("<b>&") && html.contains("&lt;b&gt;&amp;&quot;&#39;"),
        "{html:.600}"
    );
}

#[test]
fn assertions_decide_how_it_ends() {
    let origin = origin();
    let run = |assertion: &str| {
        bench(&[
            &origin.url(),
            "-n",
            "50",
            "--assert",
            "errors<0.1%",
            "--assert",
            assertion,
        ])
        .run()
    };
    let held = run("p50<60s");
    assert_eq!(held.code, Some(0), "{}", held.stderr);
    assert!(held.stdout.contains("p50<60s holds for"), "{}", held.stdout);
    let broken = run("rate>100000000/s");
    assert_eq!(broken.code, Some(1));
    assert!(
        broken
            .stderr
            .contains("larder: rate>100000000/s does not hold for http://"),
        "{}",
        broken.stderr
    );
    let verdicts =
        figures(&[&origin.url(), "-n", "50", "--assert", "requests>=50"])["assertions"].clone();
    assert_eq!(verdicts[0]["holds"], true);
    assert_eq!(verdicts[0]["found"], "50");
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_the_run() {
    let origin = origin();
    let folder = scratch_dir();
    let missing = folder.join("no/such/r.json").display().to_string();
    let other = folder.join("r.pdf").display().to_string();
    for (path, code, told) in [
        (&missing, 1, "cannot write"),
        (&other, 2, "ends in none of"),
    ] {
        let finished = bench(&[&origin.url(), "-n", "5", "-o", path]).run();
        assert_eq!(finished.code, Some(code));
        assert!(finished.stderr.contains(told), "{}", finished.stderr);
    }
    assert_eq!(origin.requests("/"), 0, "nothing was sent");
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0);
}

#[test]
fn a_file_that_is_named_twice_is_told_before_the_run() {
    let origin = origin();
    let folder = scratch_dir();
    let plain = folder.join("r.json").display().to_string();
    let again = folder.join("./r.json").display().to_string();
    let finished = bench(&[&origin.url(), "-n", "5", "-o", &plain, "-o", &again]).run();
    assert_eq!(finished.code, Some(2));
    assert!(
        finished.stderr.contains("named twice"),
        "{}",
        finished.stderr
    );
    assert_eq!(origin.requests("/"), 0, "nothing was sent");
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0);
}

#[test]
fn an_old_result_stays_until_the_new_one_is_whole() {
    let folder = scratch_dir();
    let path = folder.join("r.json");
    fs::write(&path, "old").expect("a file");
    let finished = bench(&["http://192.0.2.7/", "-o", &path.display().to_string()]).run();
    assert_eq!(finished.code, Some(1));
    assert_eq!(fs::read_to_string(&path).expect("a file"), "old");
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
    let mode = fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o400, 0o400);
}

#[test]
fn a_name_that_is_no_text_costs_no_result() {
    use std::{ffi::OsString, os::unix::ffi::OsStringExt as _};
    let origin = origin();
    let path = scratch_dir().join(OsString::from_vec(b"\xff.json".to_vec()));
    let finished = bench(&[&origin.url(), "-n", "5", "-o"]).args([&path]).run();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(fs::metadata(path).is_ok());
}

#[test]
fn a_result_that_is_passed_on_tells_no_secret() {
    let origin = origin();
    let path = scratch_dir().join("r.html").display().to_string();
    let flags = [
        "-n",
        "5",
        "--json",
        "-H",
        "Authorization: Bearer s3cret",
        "--header=X-Api-Key: s3cret",
        "-Hcookie:  id=s3cret ",
        "--body=password=s3cret",
        "-H",
        "Accept-Language: en",
        "-o",
        &path,
    ];
    let finished = bench(&[&[origin.url().as_str()], &flags[..]].concat()).run();
    assert_eq!(origin.last("/").header("cookie"), Some("id=s3cret"));
    let html = fs::read_to_string(&path).expect("a page");
    for text in [&finished.stdout, &html] {
        assert!(!text.contains("s3cret"), "{text}");
        assert!(text.contains("Authorization: …") && text.contains("--body=…"));
        assert!(text.contains("Accept-Language: en"), "what is no secret");
    }
}

#[test]
fn files_are_written_although_nobody_reads_the_output() {
    let origin = Origin::start();
    let gate = testkit::Gate::new();
    let held = gate.clone();
    origin.otherwise(move |_| {
        held.pass();
        Reply::ok()
    });
    let path = scratch_dir().join("r.json");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["bench", &origin.url(), "-n", "5", "-q", "-o"])
        .arg(&path)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("a process");
    drop(child.stdout.take());
    gate.open();
    child.wait().expect("its end");
    let json = fs::read_to_string(path).expect("the result");
    assert!(json.contains("\"requests\""));
}

#[test]
fn plain_lines_where_there_is_no_terminal() {
    let origin = origin();
    let finished = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["bench", &origin.url(), "-d", "3s", "-c", "2"])
        .run();
    let said = &finished.stderr;
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some(origin.url().as_str()), "{said}");
    // One every two seconds: the time, and how it goes.
    let line = lines.next().expect("a line").trim();
    let (seconds, rest) = line.split_once(" s  ").expect("a time");
    assert!(seconds.parse::<f64>().is_ok_and(|one| one >= 2.0), "{said}");
    for part in ["/s · p50 ", " · p99 ", " · 2 users"] {
        assert!(rest.contains(part), "{said}");
    }
    assert!(!said.contains('\u{1b}') && !said.contains('\r'));
}

/// What a terminal of this width gets.
fn on_a_terminal(columns: &str, flags: &str) -> String {
    let origin = origin();
    // `script` is a terminal for the program; its size is set inside.
    let inside = format!(
        "stty cols {columns} rows 24; exec {} bench {} -d 1s -c 2 {flags}",
        env!("CARGO_BIN_EXE_larder"),
        origin.url()
    );
    let output = std::process::Command::new("script")
        .args(["-qec", &inside, "/dev/null"])
        .stdin(std::process::Stdio::null())
        .output()
        .expect("script");
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{columns}: {seen}");
    assert!(seen.contains("errors      0"), "{columns}: {seen}");
    seen
}

#[test]
fn a_terminal_however_narrow_has_a_bar_that_is_cleared() {
    let wide = on_a_terminal("100", "");
    let (before, _) = wide
        .split_once("HTTP/1.1, 2 connections")
        .expect("a result");
    for part in ["%", "─", "/s · p50 "] {
        assert!(before.contains(part), "{part}: {before:?}");
    }
    let last = before.rfind("/s · p50 ").expect("live figures");
    assert!(before[last..].contains("\u{1b}[2K"), "cleared: {before:?}");
    for columns in ["20", "1"] {
        on_a_terminal(columns, "");
    }
    let quiet = on_a_terminal("100", "--quiet");
    assert!(
        !quiet.contains('\u{1b}') && !quiet.contains("/s · p50"),
        "{quiet:?}"
    );
}

#[test]
fn a_run_that_is_too_short_for_its_percentile_says_so() {
    let origin = origin();
    let result = figures(&[&origin.url(), "-n", "500", "--assert", "p99.9<60s"]);
    let warnings = result["warnings"].as_array().expect("warnings");
    let kinds: Vec<_> = warnings.iter().map(|one| one["kind"].as_str()).collect();
    assert!(kinds.contains(&Some("too-short")), "{kinds:?}");
}
