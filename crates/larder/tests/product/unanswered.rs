//! Requests that the application never answers, or never hears of: they are counted and logged like the others.

use crate::common::{Said, counted, sample, start_with};
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use testkit::{Larder, Origin, Reply, scratch_dir, wait_until};

/// A larder with an access log in JSON, and that log.
fn logged(config: &str) -> (Origin, Larder, PathBuf) {
    let log = scratch_dir().join("access.log");
    let shown = log.display().to_string();
    let (origin, larder) = start_with(&format!(
        "{config}\n[log]\naccess = {shown:?}\nformat = \"json\"\n[[origin]]\nservers = \"{{origin}}\"\n"
    ));
    (origin, larder, log)
}

/// The log's lines, once there are so many.
fn lines(log: &Path, count: usize) -> Vec<serde_json::Value> {
    let read = || std::fs::read_to_string(log).unwrap_or_default();
    wait_until("all is logged", || read().lines().count() >= count);
    let lines = read();
    let parsed = lines.lines().map(serde_json::from_str);
    parsed.collect::<Result<_, _>>().expect("JSON")
}

#[test]
fn a_client_that_leaves_before_the_answer_is_counted_and_logged() {
    let (origin, larder, log) = logged("");
    origin.otherwise(|_| Reply::ok().hang());
    origin.on("/page", |request| counted(request).cache("max-age=60"));
    let all = [("GET", "/slow"), ("HEAD", "/head"), ("POST", "/post")];
    let clients = all.map(|(method, path)| {
        let client = larder.ask(method, path).begin();
        origin.wait_requests(path, 1);
        client
    });
    drop(clients);
    let told = lines(&log, all.len());
    for (method, path) in all {
        let mut of_it = told.iter().filter(|line| line["target"] == path);
        let line = of_it.next().expect("a line");
        assert_eq!(line["status"], 499, "{line}");
        assert_eq!(line["method"], method, "{line}");
        assert_eq!(line["bytes"], 0, "{line}");
        assert_eq!(
            line["cache"],
            if method == "POST" { "BYPASS" } else { "MISS" }
        );
    }
    larder.get("/page").send();
    assert!(larder.get("/page").send().hit());
    assert_eq!(lines(&log, 5).len(), 5, "an answer is logged once");
    for (name, value) in [
        ("larder_clients_left_total", 3),
        ("larder_forwarded_total{reason=\"uri-miss\"}", 3),
        ("larder_forwarded_total{reason=\"method\"}", 1),
        ("larder_hits_total{kind=\"fresh\"}", 1),
        ("larder_responses_total{class=\"2xx\"}", 2),
        ("larder_responses_total{class=\"4xx\"}", 0),
    ] {
        assert_eq!(sample(&larder, name), value, "{name}");
    }
}

/// The application that is down would look the faster.
#[test]
fn an_origin_has_a_time_where_it_was_asked_and_nowhere_else() {
    let log = scratch_dir().join("access.log");
    let (origin, larder) = start_with(&format!(
        "[log]\naccess = {:?}\nformat = \"json\"\n[[origin]]\nservers = \"{{origin}}\"\nmost_concurrent = 1\n\
         queue = {{ length = 0 }}\n",
        log.display().to_string()
    ));
    let gate = testkit::Gate::new();
    origin.reply("/held", Reply::ok().hold_head(&gate));
    let mut held = larder.get("/held").begin();
    gate.wait_reached();
    let methods = ["GET", "POST"];
    for method in methods {
        assert_eq!(larder.ask(method, "/full").send().status, 503);
    }
    gate.open();
    held.read();
    origin.stop();
    for method in methods {
        assert_eq!(larder.ask(method, "/refused").send().status, 502);
    }
    for line in lines(&log, 5) {
        let is_full = line["target"] == "/full";
        assert_eq!(line["origin_ms"].is_null(), is_full, "{line}");
    }
}

#[test]
fn over_http2_too() {
    let (origin, larder, log) = logged("");
    origin.otherwise(|_| Reply::ok().hang());
    let mut curl = Command::new("curl")
        .args(["-sS", "--http2-prior-knowledge"])
        .arg(format!("{}/slow", larder.listeners()[0]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("curl runs");
    origin.wait_requests("/slow", 1);
    curl.kill().expect("it runs still");
    curl.wait().expect("it has ended");
    let line = &lines(&log, 1)[0];
    assert_eq!(line["status"], 499, "{line}");
    assert_eq!(line["version"], "HTTP/2.0", "{line}");
    assert_eq!(sample(&larder, "larder_clients_left_total"), 1);
}

#[test]
fn who_follows_and_leaves_is_logged_while_the_leader_is_answered() {
    let (origin, larder, log) = logged("");
    let gate = testkit::Gate::new();
    let held = gate.clone();
    origin.on("/", move |request| {
        counted(request).cache("max-age=60").hold_head(&held)
    });
    let mut leader = larder.get("/").begin();
    gate.wait_reached();
    let follower = larder.get("/").begin();
    drop(follower);
    assert_eq!(lines(&log, 1)[0]["status"], 499);
    gate.open();
    assert_eq!(leader.read().text(), "1");
    assert_eq!(lines(&log, 2)[1]["status"], 200);
}

#[test]
fn a_request_that_comes_too_slowly_is_logged_as_it_was_answered() {
    let (_origin, larder, log) = logged("[limits]\nbody_time = \"10ms\"");
    let mut client = larder.client();
    client.send("POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
    assert_eq!(client.read().status, 408);
    let line = &lines(&log, 1)[0];
    assert_eq!(line["status"], 408, "{line}");
    assert_eq!(sample(&larder, "larder_clients_left_total"), 0);
    assert_eq!(sample(&larder, "larder_own_answers_total"), 1);
    assert_eq!(sample(&larder, "larder_responses_total{class=\"4xx\"}"), 1);
}

/// What a listener refuses by itself: what is sent, the status, and whether its head could be read.
const REFUSED: [(&str, u16, bool); 6] = [
    ("GET /hostless HTTP/1.1\r\n\r\n", 400, true),
    (
        "GET /twice HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        400,
        true,
    ),
    (
        "GET /?aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\nHost: a\r\n\r\n",
        414,
        true,
    ),
    (
        "GET /fields HTTP/1.1\r\nHost: a\r\nA: 0\r\nB: 1\r\nC: 2\r\nD: 3\r\nE: 4\r\nF: 5\r\nG: 6\r\nH: 7\r\nI: 8\r\nJ: 9\r\nK: 10\r\nL: 11\r\nM: 12\r\nN: 13\r\nO: 14\r\nP: 15\r\n\r\n",
        431,
        false,
    ),
    (
        "POST /coded HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        501,
        true,
    ),
    ("not http\r\n\r\n", 400, false),
];

#[test]
fn what_listeners_refuse_is_counted_and_logged_under_the_sites_name() {
    for (config, said) in [
        ("name = \"edge\"", Some("edge; detail=")),
        ("report.cache_status = false", None),
    ] {
        let (origin, larder, log) = logged(&format!(
            "{config}\n[limits]\ntarget_length = \"64B\"\nheader_count = 16\nheader_time = \"200ms\""
        ));
        for (request, status, _) in REFUSED {
            let mut client = larder.client();
            client.send(request);
            let answer = client.read();
            assert_eq!(answer.status, status, "{request}");
            let told = answer.header("cache-status");
            // The library that reads HTTP says nothing.
            if !request.starts_with("not") {
                let right =
                    told.is_some_and(|told| said.is_some_and(|said| told.starts_with(said)));
                assert!(right || told == said, "{request}: {told:?}");
            }
        }
        let mut late = larder.client();
        late.send("GET / HT");
        let answer = late.read();
        assert_eq!(answer.status, 408);
        assert_eq!(answer.header("cache-status").is_some(), said.is_some());
        let known: Vec<_> = REFUSED.iter().filter(|(_, _, known)| *known).collect();
        let lines = lines(&log, known.len());
        assert_eq!(lines.len(), known.len(), "{lines:?}");
        for (line, (request, status, _)) in lines.iter().zip(&known) {
            assert_eq!(line["status"], *status, "{line}");
            assert_eq!(line["cache"], "NONE", "{line}");
            let target = line["target"].as_str().expect("a target");
            assert!(request.contains(&format!(" {target} ")), "{line}");
        }
        for (name, value) in [
            ("larder_own_answers_total", 7),
            ("larder_responses_total{class=\"4xx\"}", 6),
            ("larder_responses_total{class=\"5xx\"}", 1),
        ] {
            assert_eq!(sample(&larder, name), value, "{name}");
        }
        assert!(origin.all().is_empty());
    }
}

#[test]
fn a_connection_too_many_is_counted() {
    let (origin, larder, _) = logged("name = \"edge\"\n[limits]\nconnections = 1");
    origin.otherwise(counted);
    let mut one = larder.client();
    assert_eq!(one.get("/").send().status, 200);
    let mut two = larder.client();
    let answer = two.read();
    assert_eq!(answer.status, 503);
    let said = answer.header("cache-status");
    assert_eq!(said, Some("edge; detail=too-many-connections"));
    assert_eq!(sample(&larder, "larder_own_answers_total"), 1);
}

#[test]
fn what_is_sent_on_to_https_is_counted_and_logged() {
    let log = scratch_dir().join("access.log");
    let shown = log.display().to_string();
    let larder = crate::common::command()
        .args(["serve"])
        .config(&format!(
            "admin = \"127.0.0.1:0\"\n[[listen]]\naddress = \"127.0.0.1:0\"\nredirect_https = 443\n\
             [log]\naccess = {shown:?}\nformat = \"json\"\n[[origin]]\nservers = \"http://127.0.0.1:9\"\n"
        ))
        .start();
    let answer = larder.get("/page?a=b").header("User-Agent", "cat").send();
    assert_eq!(answer.status, 308);
    let line = &lines(&log, 1)[0];
    assert_eq!(line["status"], 308, "{line}");
    assert_eq!(line["target"], "/page?a=b", "{line}");
    assert_eq!(line["client"], "127.0.0.1", "{line}");
    assert_eq!(line["user_agent"], "cat", "{line}");
    // Over HTTP/1.0 no host need be named, and there is nowhere to send it.
    let mut client = larder.client();
    client.send("GET / HTTP/1.0\r\n\r\n");
    let answer = client.read();
    assert_eq!(
        (answer.status, answer.text()),
        (400, "Bad Request\n".into())
    );
    let said = answer.header("cache-status");
    assert_eq!(said, Some("larder; detail=host-missing"));
    assert_eq!(lines(&log, 2)[1]["reason"], "host-missing");
    assert_eq!(sample(&larder, "larder_own_answers_total"), 2);
    assert_eq!(sample(&larder, "larder_responses_total{class=\"3xx\"}"), 1);
}
