//! Servers that fail: counted by kind, never a crash or a hang.

use crate::{bench, figures, file, json};
use serde_json::json;
use std::{
    io::{BufRead, BufReader, Write},
    net::{Shutdown, TcpListener},
};
use testkit::{Gate, Origin, Reply};

/// A limit within which every server here has begun to answer, however busy the machine, and none has come to an end.
const BEGUN: &str = "3s";

/// Every request fails with this kind.
#[track_caller]
fn all_fail(url: &str, flags: &[&str], kind: &str) {
    let arguments = [&[url, "-n", "4", "-c", "2", "--json"], flags].concat();
    let finished = bench(&arguments).run();
    let result = json(&finished);
    let target = &result["targets"][0];
    assert_eq!(target["faults"], json!({ kind: 4 }), "{target}");
    assert_eq!(target["errors"], 4);
    assert_eq!(target["good"], 0);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains(kind), "{}", finished.stderr);
}

fn answering(reply: impl Fn() -> Reply + Send + Sync + 'static) -> Origin {
    let origin = Origin::start();
    origin.otherwise(move |_| reply());
    origin
}

#[test]
fn nobody_listens() {
    let origin = answering(Reply::ok);
    origin.stop();
    all_fail(&origin.url(), &[], "refused");
    all_fail(&origin.url(), &["--http2"], "refused");
}

#[test]
fn a_host_without_an_address() {
    let finished = bench(&["http://no-such-host.invalid/", "--json"]).run();
    assert_eq!(finished.code, Some(1));
    let result = json(&finished);
    assert_eq!(result["targets"][0]["faults"], json!({ "unknown-host": 1 }));
    assert_eq!(result["ended"], "no-address");
}

#[test]
fn one_host_of_a_list_without_an_address() {
    let origin = answering(Reply::ok);
    let known = format!("{}/known", origin.url());
    let list = file("list", &format!("{known}\nhttp://no-such-host.invalid/\n"));
    let list = list.to_str().expect("a path");
    let finished = bench(&[&origin.url(), "-n", "4", "--json", "--file", list]).run();
    assert_eq!(finished.code, Some(1));
    let told = "no address for no-such-host.invalid";
    assert!(finished.stderr.contains(told), "{}", finished.stderr);
    let result = json(&finished);
    assert_eq!(result["ended"], "no-address");
    assert_eq!(result["targets"][0]["faults"], json!({ "unknown-host": 1 }));
    assert_eq!(origin.connections(), 0, "nothing is sent to the others");
}

#[test]
fn a_server_that_closes() {
    let origin = answering(Reply::close);
    all_fail(&origin.url(), &[], "closed");
    let origin = answering(|| Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"));
    all_fail(&origin.url(), &[], "closed");
}

#[test]
fn a_server_that_sends_garbage() {
    let origin = answering(|| Reply::raw("220 smtp.example.com ready\r\n"));
    all_fail(&origin.url(), &[], "garbage");
    let origin = answering(|| Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc"));
    all_fail(&origin.url(), &[], "garbage");
    // Whether the connection's end or its nonsense is seen first is chance.
    let finished = bench(&[&origin.url(), "--http2", "-n", "4", "--json"]).run();
    let target = &json(&finished)["targets"][0];
    let faults = &target["faults"];
    let count = |kind: &str| faults[kind].as_u64().unwrap_or(0);
    assert_eq!(
        count("http2") + count("closed") + count("reset"),
        4,
        "{faults}"
    );
}

#[test]
fn nothing_is_asserted_of_a_server_that_hangs() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start();
    origin.on("/", move |request| {
        if request.nth > 50 {
            held.pass();
        }
        Reply::ok().body("x")
    });
    let asserted = ["--assert", "p99<50s", "--assert", "errors<50%"];
    let flags = [&["-c", "4", "-d", "5s", "--timeout", "20s"], &asserted[..]].concat();
    let finished = bench(&[&[origin.url().as_str()], &flags[..]].concat()).run();
    assert_eq!(finished.code, Some(1), "{}", finished.stdout);
    gate.open();
    let told = [finished.stdout, finished.stderr].concat();
    assert!(told.contains("p99<50s does not hold"), "{told}");
    assert!(
        told.contains("4 requests had no answer at the end"),
        "{told}"
    );
}

#[test]
fn a_server_that_hangs() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start();
    origin.otherwise(move |_| {
        held.pass();
        Reply::ok()
    });
    all_fail(&origin.url(), &["--timeout", "50ms"], "timeout");
    gate.open();
}

#[test]
fn an_answer_that_never_ends() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start();
    origin.otherwise(move |_| Reply::ok().length(9).body("abc").hold(&held));
    all_fail(&origin.url(), &["--timeout", BEGUN], "endless");
    gate.open();
}

#[test]
fn a_server_that_does_not_speak_tls() {
    let plain = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://{}", plain.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in plain.incoming().flatten() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            // What was sent is read to its end: unread bytes would turn the close into a reset.
            let _ = stream.shutdown(Shutdown::Write);
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    });
    all_fail(&url, &["--insecure"], "tls");
}

#[test]
fn a_server_that_takes_no_connection_in_time() {
    // Connections are made by the kernel and nobody ever answers in them.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://{}", silent.local_addr().expect("an address"));
    all_fail(
        &url,
        &["--insecure", "--timeout", "50ms"],
        "connect-timeout",
    );
}

#[test]
fn errors_are_in_no_rate_and_no_latency_but_their_own() {
    let origin = Origin::start();
    origin.otherwise(|request| Reply::status(if request.nth % 2 == 0 { 503 } else { 200 }));
    let result = figures(&[&origin.url(), "-n", "100", "-c", "1"]);
    let target = &result["targets"][0];
    assert_eq!(target["good"], 50);
    assert_eq!(target["errors"], 50);
    assert_eq!(target["errors_percent"], 50.0);
    assert_eq!(target["latency_ms"]["count"], 50);
    assert_eq!(target["error_latency_ms"]["count"], 50);
    assert_eq!(target["statuses"]["codes"]["503"], 50);
}

#[test]
fn only_errors_are_a_failure() {
    let origin = answering(|| Reply::status(404));
    let finished = bench(&[&origin.url(), "-n", "5"]).run();
    assert_eq!(finished.code, Some(1));
    assert!(
        finished.stderr.contains("status 404 5"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_connection_that_was_closed_between_requests_is_opened_again() {
    let origin = answering(|| Reply::ok().header("Connection", "close"));
    let result = figures(&[&origin.url(), "-n", "20", "-c", "1"]);
    assert_eq!(result["targets"][0]["good"], 20);
    assert_eq!(result["targets"][0]["connections"]["opened"], 20);
}

#[test]
fn an_answer_that_goes_on_for_ever() {
    let origin = answering(|| Reply::ok().until_close().endless([b'x'; 4096]));
    all_fail(&origin.url(), &["--timeout", BEGUN], "endless");
}

/// There is always more to read: small chunks take longer to understand than to send, so the tool never has to wait for
/// the server.
#[test]
fn an_answer_that_goes_on_for_ever_and_faster_than_it_is_read() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", server.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in server.incoming().flatten() {
            std::thread::spawn(move || {
                let piece = b"1\r\nx\r\n".repeat(1 << 16);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                while stream.write_all(&piece).is_ok() {}
            });
        }
    });
    let flags = ["-n", "2", "-c", "1", "-d", "60s", "--timeout", BEGUN];
    let result = figures(&[&[url.as_str()], &flags[..]].concat());
    let target = &result["targets"][0];
    assert_eq!(target["faults"], json!({ "endless": 2 }), "{target}");
    assert_eq!(target["unanswered"]["requests"], 0);
}

#[test]
fn a_server_that_resets() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", server.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in server.incoming().flatten() {
            // What was sent and not read makes a reset of the close.
            let _ = stream.peek(&mut [0]);
        }
    });
    all_fail(&url, &[], "reset");
}

#[test]
fn there_is_no_way_to_it() {
    // Nobody can connect to all of a network at once; nothing leaves this machine.
    let all = "255.255.255.255";
    let url = format!("http://{all}/");
    all_fail(&url, &["--allow-remote", all], "unreachable");
}

#[test]
fn this_machine_has_no_descriptor_left() {
    let origin = answering(Reply::ok);
    let command = format!(
        "ulimit -n 48; exec {} bench {} -n 400 -c 200 --workers 2 --quiet --json",
        env!("CARGO_BIN_EXE_larder"),
        origin.url()
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &command])
        .output();
    let output = output.expect("sh");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let target = &result["targets"][0];
    let (local, good) = (&target["faults"]["local"], &target["good"]);
    assert!(
        local.as_u64() > Some(0) && good.as_u64() > Some(0),
        "{target}"
    );
    assert_eq!(
        target["faults"].as_object().map(serde_json::Map::len),
        Some(1)
    );
    let warnings = result["warnings"].as_array().expect("warnings");
    assert!(warnings.iter().any(|one| one["kind"] == "local"));
}

/// Larder before an origin: a server that speaks HTTP/2.
fn speaking_http2(origin: &Origin) -> testkit::Larder {
    testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
        .args([origin.url()])
        .start()
}

#[test]
fn answers_that_fail_on_http2() {
    let gate = Gate::new();
    let held = gate.clone();
    let origin = Origin::start();
    let body = gate.clone();
    origin.on("/hangs", move |_| {
        held.pass();
        Reply::ok()
    });
    origin.on("/stalls", move |_| {
        Reply::ok()
            .cache("no-store")
            .length(9)
            .body("abc")
            .hold(&body)
    });
    origin.on("/breaks", |_| {
        Reply::ok().cache("no-store").length(9).body("abc").cut()
    });
    let larder = speaking_http2(&origin);
    for (path, within, kind) in [
        ("/hangs", "100ms", "timeout"),
        ("/stalls", BEGUN, "endless"),
        ("/breaks", "10s", "http2"),
    ] {
        let url = format!("{}{path}", larder.listeners()[0]);
        all_fail(&url, &["--http2", "--timeout", within], kind);
    }
    gate.open();
}

/// A server with TLS that says nothing of HTTP/2.
#[test]
fn a_server_that_does_not_agree_on_http2() {
    const SERVER: &str = "\
import http.server, ssl, sys
class Hello(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Length', '0')
        self.end_headers()
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Hello)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
";
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let pem = format!("{}{}", made.signing_key.serialize_pem(), made.cert.pem());
    let pem = file("server.pem", &pem);
    let mut server = std::process::Command::new("python3")
        .args(["-c", SERVER])
        .arg(pem)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("python3");
    let mut port = String::new();
    let mut said = BufReader::new(server.stdout.take().expect("a pipe"));
    said.read_line(&mut port).expect("a port");
    let url = format!("https://localhost:{}/", port.trim());
    assert_eq!(
        figures(&[&url, "--insecure", "-n", "4"])["targets"][0]["good"],
        4
    );
    all_fail(&url, &["--insecure", "--http2"], "http2");
    server.kill().expect("it runs");
    server.wait().expect("its end");
}

#[test]
fn streams_do_not_wait_for_one_another_s_connection() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("https://{}", silent.local_addr().expect("an address"));
    let flags = [
        "--http2",
        "--insecure",
        "--streams",
        "20",
        "-c",
        "1",
        "-n",
        "20",
    ];
    let flags = [&flags[..], &["--timeout", "2s"]].concat();
    let result = figures(&[&[url.as_str()], &flags[..]].concat());
    let target = &result["targets"][0];
    assert_eq!(target["faults"], json!({ "connect-timeout": 20 }));
    // One after the other they would take forty.
    assert!(target["seconds"].as_f64() < Some(20.0), "{target}");
}
