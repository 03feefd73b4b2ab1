//! `GET /purges`: what was purged, for those who keep pages elsewhere.

use crate::common::{BINARY, tcp};
use serde_json::{Value, json};
use testkit::{Client, Command, Larder, Origin, Reply, scratch_dir};

fn get(larder: &Larder, target: &str) -> (u16, Value) {
    let answer = larder.admin_get(target).send();
    (
        answer.status,
        serde_json::from_str(&answer.text()).expect("JSON"),
    )
}

/// The purges after this cursor, and the next one.
fn after(larder: &Larder, cursor: &str) -> (Value, String) {
    let (status, answer) = get(larder, &format!("/purges?after={cursor}"));
    assert_eq!(status, 200);
    (
        answer["purges"].clone(),
        answer["cursor"].as_str().expect("a cursor").to_owned(),
    )
}

fn cursor(larder: &Larder) -> String {
    let (_, answer) = get(larder, "/purges");
    assert_eq!(answer["purges"], json!([]));
    answer["cursor"].as_str().expect("a cursor").to_owned()
}

fn purge(larder: &Larder, what: &[&str]) {
    let admin = tcp(&larder.admin());
    let done = Command::new(BINARY)
        .args(["purge", "--admin", &admin])
        .args(what.iter().copied())
        .run();
    assert_eq!(done.code, Some(0), "{}", done.stderr);
}

#[test]
fn each_purge_is_told_once() {
    let origin = Origin::start();
    let larder = Command::serve(BINARY).args([origin.url()]).start();
    let start = cursor(&larder);
    purge(&larder, &["http://a.example/x"]);
    purge(&larder, &["--tag", "p-1", "--tag", "p-2", "--soft"]);
    purge(&larder, &["--prefix", "/news/"]);
    purge(&larder, &["--regex", "^x"]);
    purge(&larder, &["--all"]);
    let expected = json!([
        {"urls": ["//a.example/x"]},
        {"tags": ["p-1", "p-2"], "soft": true},
        {"prefix": "/news/"},
        {"patterns": [["url", "^x"]]},
        {"everything": true},
    ]);
    let (purges, end) = after(&larder, &start);
    assert_eq!(purges, expected);
    assert_eq!(after(&larder, &end), (json!([]), end.clone()));
    // What an application's answer invalidates is told too.
    origin.reply("/form", Reply::status(204));
    assert_eq!(
        larder
            .ask("POST", "/form")
            .header("Host", "a.example")
            .send()
            .status,
        204
    );
    let (purges, _) = after(&larder, &end);
    assert_eq!(purges[0]["urls"][0], "//a.example/form");
}

#[test]
fn a_question_waits_for_a_purge() {
    let origin = Origin::start();
    let larder = Command::serve(BINARY).args([origin.url()]).start();
    let start = cursor(&larder);
    let admin = larder.admin();
    let target = format!("/purges?after={start}&wait=10s");
    let waiting = std::thread::spawn(move || {
        testkit::Ask::new(Client::connect(admin), "GET", &target)
            .header("Host", "localhost")
            .send()
            .text()
    });
    purge(&larder, &["--tag", "x"]);
    let told: Value = serde_json::from_str(&waiting.join().expect("an answer")).expect("JSON");
    assert_eq!(told["purges"], json!([{"tags": ["x"]}]));
}

#[test]
fn who_may_have_missed_something_is_told() {
    let origin = Origin::start();
    let start = || Command::serve(BINARY).args([origin.url()]).start();
    let larder = start();
    let old = cursor(&larder);
    larder.stop();
    // Without a directory the log ends with the process.
    let larder = start();
    for strange in [&*old, "", "x", "0.0", "ffffffffffffffffff.0"] {
        let (status, answer) = get(&larder, &format!("/purges?after={strange}"));
        assert_eq!(
            (status, &answer["missed"]),
            (200, &json!(true)),
            "{strange}"
        );
    }
    for (query, why) in [
        ("after=0.0&wait=61s", "a minute at most"),
        ("after=0.0&wait=x", "duration"),
        ("x=1", "unknown field"),
    ] {
        let (status, answer) = get(&larder, &format!("/purges?{query}"));
        assert_eq!(status, 400, "{query}");
        assert!(
            answer["error"]
                .as_str()
                .is_some_and(|told| told.contains(why)),
            "{query}: {answer}"
        );
    }
}

#[test]
fn with_a_log_on_disk_nothing_is_missed_over_a_restart() {
    let origin = Origin::start();
    let folder = scratch_dir();
    let config = format!(
        "[[origin]]\nservers = \"{}\"\n[purge]\nlog = \"{}\"\n",
        origin.url(),
        folder.display()
    );
    let start = || Command::serve(BINARY).config(&config).start();
    let larder = start();
    let begin = cursor(&larder);
    purge(&larder, &["--tag", "a"]);
    let (purges, middle) = after(&larder, &begin);
    assert_eq!(purges, json!([{"tags": ["a"]}]));
    purge(&larder, &["--tag", "b"]);
    larder.kill();
    let larder = start();
    purge(&larder, &["--tag", "c"]);
    assert_eq!(
        after(&larder, &middle).0,
        json!([{"tags": ["b"]}, {"tags": ["c"]}])
    );
}
