//! The access log between the requests that it tells of and whoever reads it.

use crate::{
    collapse::reading,
    common::{Said, counted, sample, serve, start_with},
    esi::page,
    memory::resident,
    trailers,
};
use http::Request;
use serde_json::Value;
use std::{
    fs::File,
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    process::Command,
};
use testkit::{Gate, Larder, Origin, Reply, scratch_dir, wait_until};

/// A larder that logs to a pipe, and the pipe's other end.
fn piped(path: &Path) -> (Origin, Larder, File) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.is_ok_and(|status| status.success()), "a pipe");
    // For both directions: opened for one, it waits for the other.
    let reader = File::options().read(true).write(true).open(path);
    let (origin, larder) = start_with(&format!(
        "[log]\naccess = {:?}\n[[origin]]\nservers = \"{{origin}}\"\n",
        path.display().to_string()
    ));
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    (origin, larder, reader.expect("its other end"))
}

/// What the origin was asked for last.
fn last_target(origin: &Origin) -> String {
    let asked = origin.all().pop().expect("a request");
    asked.target
}

/// More than the pipe and the writer's buffer take.
fn fill(larder: &Larder) {
    let target = format!("/{}", "x".repeat(6000));
    let mut client = larder.client();
    for _ in 0..50 {
        assert_eq!(client.get(&target).send().status, 200);
    }
}

#[test]
fn a_reader_that_stalls_does_not_hold_up_a_stop() {
    for signals in [1, 2] {
        let path = scratch_dir().join("access.pipe");
        let (_origin, mut larder, _reader) = piped(&path);
        fill(&larder);
        for _ in 0..signals {
            larder.terminate();
            larder.wait_output("stopping");
        }
        let finished = larder.wait();
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        let said = finished.stderr.contains("access log");
        assert!(said, "what is lost is told of: {}", finished.stderr);
    }
}

/// How many of `count` requests, with `fields` and on one connection, find no place in the log while nobody reads it.
fn lost_of(count: usize, fields: &[(&str, usize)]) -> (u64, u64) {
    let path = scratch_dir().join("access.pipe");
    let (_origin, larder, _reader) = piped(&path);
    let mut client = larder.client();
    assert_eq!(client.get("/").send().status, 200);
    let before = resident(&larder);
    for _ in 0..count {
        let mut request = client.get("/");
        for (name, length) in fields {
            request = request.header(name, "x".repeat(*length));
        }
        assert!(request.send().hit());
    }
    let grown = resident(&larder).saturating_sub(before);
    (sample(&larder, "larder_log_lost_total"), grown)
}

/// Records are bounded by what they take, too, and hold nothing of a request but what they tell.
#[test]
fn a_log_that_nobody_reads_holds_little() {
    let (lost, grown) = lost_of(800, &[("User-Agent", 14_000), ("Referer", 14_000)]);
    assert!(lost > 400, "{lost} of 22 MB");
    assert!(grown < 16 << 20, "{grown} bytes more");
    let (lost, grown) = lost_of(800, &[("User-Agent", 20), ("Other", 28_000)]);
    assert_eq!(lost, 0);
    assert!(grown < 8 << 20, "{grown} bytes more");
}

/// Whatever of it is keyed, and however that is spelled there.
#[test]
fn targets_are_told_as_the_client_wrote_them() {
    let path = scratch_dir().join("access.log");
    let (origin, larder) = start_with(&format!(
        "[log]\naccess = {:?}\n[[origin]]\nservers = \"{{origin}}\"\n",
        path.display().to_string()
    ));
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    let targets = ["/a/../b%7e?utm_source=x&z=1&a=2", "/c?", "http://a?d"];
    for target in targets {
        larder.get(target).send();
    }
    let told = |target: &str| format!("\"GET {target} HTTP/1.1\"");
    let told = ["/a/../b%7e?utm_source=x&z=1&a=2", "/c?", "/?d"].map(told);
    wait_until("all are logged", || {
        std::fs::read_to_string(&path).is_ok_and(|text| text.lines().count() == told.len())
    });
    let text = std::fs::read_to_string(&path).expect("a log");
    for (line, told) in text.lines().zip(told) {
        assert!(line.contains(&told), "{line}");
    }
}

/// Whoever finds the fault, a listener or the walk; what is not there is `null`.
#[test]
fn what_has_no_host_that_there_could_be_has_a_line() {
    let path = scratch_dir().join("access.log");
    let (origin, larder) = start_with(&format!(
        "[log]\naccess = {:?}\nformat = \"json\"\n[[origin]]\nservers = \"{{origin}}\"\n",
        path.display().to_string()
    ));
    origin.otherwise(counted);
    let rows = [
        ("GET", "/a", "1.1", Some("a b"), 400),
        ("GET", "/b", "1.1", Some("a%b"), 400),
        ("HEAD", "/c?d", "1.1", Some("a:99999"), 400),
        ("POST", "/e", "1.1", Some("a%b"), 400),
        ("PURGE", "/f", "1.1", Some("a:99999"), 400),
        ("REFRESH", "/g", "1.1", Some("a:99999"), 400),
        ("CONNECT", "a:443", "1.1", Some("a:443"), 405),
        ("GET", "/h", "1.0", None, 200),
    ];
    for (method, target, version, host, status) in rows {
        let host = host.map_or(String::new(), |host| format!("Host: {host}\r\n"));
        let mut client = larder.client();
        let content = if method == "POST" {
            "Content-Length: 0\r\n"
        } else {
            ""
        };
        client.send(format!(
            "{method} {target} HTTP/{version}\r\n{host}{content}\r\n"
        ));
        let answer = client.read_one(method == "HEAD");
        assert_eq!(answer.status, status, "{method} {target}");
    }
    wait_until("all are logged", || {
        std::fs::read_to_string(&path).is_ok_and(|text| text.lines().count() == rows.len())
    });
    let text = std::fs::read_to_string(&path).expect("a log");
    for (line, (method, target, _, host, status)) in text.lines().zip(rows) {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let told = |name: &str| line[name].as_str().unwrap_or("null").to_owned();
        assert_eq!(told("method"), method);
        assert_eq!(told("target"), target);
        assert_eq!(line["host"], Value::from(host), "{target}");
        assert_eq!(line["status"], status, "{target}");
        if status == 400 {
            assert_eq!(told("reason"), "host-invalid", "{target}");
            assert_eq!(line["bytes"] == 0, method == "HEAD", "{target}");
        }
    }
}

/// What browsers encode and scripts do not is taken as if they had, keyed so and sent so.
#[test]
fn targets_are_taken_in_their_encoded_form() {
    let path = scratch_dir().join("access.log");
    let (origin, larder) = start_with(&format!(
        "[log]\naccess = {:?}\n[[origin]]\nservers = \"{{origin}}\"\n",
        path.display().to_string()
    ));
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    let rows = [
        ("/?q=\"a\"", "/?q=%22a%22"),
        ("/a\"b", "/a%22b"),
        ("/caf\u{e9}", "/caf%C3%A9"),
        ("/a<b>?`\u{20ac}|^", "/a%3Cb%3E?%60%E2%82%AC|^"),
        ("http://own.test/\u{e9}?\"", "/%C3%A9?%22"),
    ];
    for (target, encoded) in rows {
        for version in ["1.0", "1.1"] {
            let mut client = larder.client();
            client.send(format!(
                "GET {target} HTTP/{version}\r\nHost: own.test\r\n\r\n"
            ));
            let answer = client.read();
            assert_eq!(
                (answer.status, answer.hit()),
                (200, version == "1.1"),
                "{target}"
            );
        }
        assert_eq!(last_target(&origin), encoded);
        let again = larder.get(encoded).header("Host", "own.test").send();
        assert!(again.hit(), "{target} and {encoded} are one");
    }
    wait_until("all are logged", || {
        std::fs::read_to_string(&path).is_ok_and(|text| text.lines().count() == 3 * rows.len())
    });
    let text = std::fs::read_to_string(&path).expect("a log");
    for (lines, (target, encoded)) in text.lines().collect::<Vec<_>>().chunks(3).zip(rows) {
        for line in lines {
            assert!(
                line.contains(&format!("GET {encoded} HTTP")),
                "{target}: {line}"
            );
        }
    }
    // Neither control characters nor spaces are taken for anything, nor is what is no text.
    for target in [&b"/a b"[..], b"/a\x01", b"/a\x7f", b"/a\tb", b"/caf\xe9"] {
        let mut client = larder.client();
        client.send([b"GET ", target, b" HTTP/1.1\r\nHost: a\r\n\r\n"].concat());
        assert_eq!(client.read().status, 400, "{target:?}");
    }
}

/// What else a head says may make it the HTTP library's to read, which refuses such a target.
#[test]
fn a_target_is_taken_in_its_encoded_form_whatever_the_fields_say() {
    const ENCODED: &str = "/%3Ca%3E?%22%C3%A9%60";
    let path = scratch_dir().join("access.log");
    let (origin, larder) = start_with(&format!(
        "[log]\naccess = {:?}\n[[origin]]\nservers = \"{{origin}}\"\n",
        path.display().to_string()
    ));
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    let say = |line: &str, fields: &str| {
        let mut client = larder.client();
        client.send(format!("{line}\r\nHost: own.test\r\n{fields}\r\n"));
        client.read()
    };
    assert_eq!(say(&format!("GET {ENCODED} HTTP/1.1"), "").status, 200);
    for fields in [
        "Connection: TE, close\r\nTE: trailers\r\n",
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
        "Content-Length: 0\r\n",
        &"X-A: b\r\n".repeat(80),
    ] {
        for version in ["1.1", "1.2"] {
            let line = format!("GET /<a>?\"\u{e9}` HTTP/{version}");
            let answer = say(&line, fields);
            assert_eq!((answer.status, answer.hit()), (200, true), "{fields}");
        }
    }
    let line = "PURGE /<a>?\"\u{e9}` HTTP/1.1";
    assert_eq!(say(line, "Content-Length: 0\r\n").status, 200);
    assert!(!say(&format!("GET {ENCODED} HTTP/1.1"), "").hit());
    wait_until("all are logged", || {
        std::fs::read_to_string(&path).is_ok_and(|text| text.lines().count() == 11)
    });
    let text = std::fs::read_to_string(&path).expect("a log");
    let encoded = format!(" {ENCODED} HTTP");
    assert!(text.lines().all(|line| line.contains(&encoded)), "{text}");
    // Neither other bytes nor other methods are read so.
    for line in ["GET /<\x01", "POST /<"] {
        let line = format!("{line} HTTP/1.1");
        assert_eq!(say(&line, "Content-Length: 0\r\n").status, 400, "{line}");
    }
}

/// To all who had begun to read it, whether or not it was to be stored.
#[test]
fn an_answer_that_breaks_off_is_told_with_the_reason() {
    let path = scratch_dir().join("access.log");
    let (origin, larder) = start_with(&format!(
        "workers = 1\n[log]\naccess = {:?}\n[[origin]]\nservers = \"{{origin}}\"\n",
        path.display().to_string()
    ));
    let half = |directives: &str, gate: &Gate| {
        let reply = Reply::ok().cache(directives).length(9).body("half");
        reply.hold(gate).cut()
    };
    for (target, directives) in [("/kept", "max-age=60"), ("/raw", "no-store")] {
        let gate = Gate::new();
        origin.reply(target, half(directives, &gate));
        let readers = match target {
            "/kept" => 2,
            _ => 1,
        };
        let readers: Vec<_> = (0..readers)
            .map(|_| reading(&larder, target, "half"))
            .collect();
        gate.open();
        for (mut client, mut response) in readers {
            client.read_content(&mut response);
            assert!(!response.complete);
        }
    }
    wait_until("all are logged", || {
        std::fs::read_to_string(&path).is_ok_and(|text| text.lines().count() == 3)
    });
    let text = std::fs::read_to_string(&path).expect("a log");
    for line in text.lines() {
        assert!(line.contains("\" 200 4 "), "{line}");
        assert!(line.contains("\"truncated\""), "{line}");
    }
}

/// Bytes of content in the log's last line, once it has so many.
fn told_of(path: &Path, lines: usize) -> usize {
    let log = || std::fs::read_to_string(path).unwrap_or_default();
    wait_until("all are logged", || log().lines().count() == lines);
    let log = log();
    let (_, after) = log.rsplit_once("\" 200 ").expect("a line");
    let bytes = after.split(' ').next().expect("a number");
    bytes.parse().expect("a number")
}

/// Though all of it was at hand, and may have been handed on in one piece.
#[test]
fn a_hit_that_is_cut_off_is_told_with_what_was_sent() {
    const WHOLE: usize = 1_000_000;
    const TAKEN: usize = 100_000;
    const HEAD: usize = 1000;
    /// RFC 9113 section 6.9.2.
    const WINDOW: usize = 65_535;
    let folder = scratch_dir();
    let (path, socket) = (folder.join("access.log"), folder.join("larder.sock"));
    let origin = Origin::start();
    origin.reply("/", Reply::ok().cache("max-age=60").body(vec![b'x'; WHOLE]));
    let unix = format!("unix:{}", socket.display());
    let log = path.display().to_string();
    let larder = serve(&origin)
        .args(["--listen", &unix, "--access-log", &log])
        .start();
    let answer = larder.get("/").header("Host", "a.test").send();
    assert_eq!(answer.body.len(), WHOLE);
    assert_eq!(told_of(&path, 1), WHOLE);

    let mut client = UnixStream::connect(socket).expect("a connection");
    let request = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
    client.write_all(request).expect("sent");
    client.read_exact(&mut vec![0; TAKEN]).expect("a part");
    drop(client);
    let told = told_of(&path, 2);
    assert!((TAKEN - HEAD..WHOLE).contains(&told), "{told}");

    trailers::run(async {
        let mut client = trailers::client(&larder).await;
        let request = Request::get("http://a.test/").body(()).expect("a request");
        let (answer, _) = client.send_request(request, true).expect("sent");
        let mut content = answer.await.expect("an answer").into_body();
        let mut taken = 0;
        while taken < WINDOW {
            let piece = content.data().await.expect("more of it");
            taken += piece.expect("a piece").len();
        }
    });
    assert_eq!(told_of(&path, 3), WINDOW);
    assert_eq!(origin.requests("/"), 1);
}

/// Answers of our own are the HTTP library's to write: it reads the same head.
#[test]
fn an_encoded_target_is_that_for_all_who_read_it() {
    let (_origin, larder) =
        start_with("[[origin]]\nservers = \"{origin}\"\n[defaults]\nredirect_https = true\n");
    let mut client = larder.client();
    for _ in 0..2 {
        client.send("GET /\u{e9}?\"a\" HTTP/1.1\r\nHost: a.test\r\n\r\n");
        let answer = client.read();
        let location = answer.header("location");
        assert_eq!(
            (answer.status, location),
            (301, Some("https://a.test/%C3%A9?%22a%22"))
        );
    }
}

/// Whatever answers it.
#[test]
fn an_include_has_no_line() {
    let path = scratch_dir().join("access.log");
    let (origin, larder) = start_with(&format!(
        "workers = 1\n[log]\naccess = {:?}\n[[origin]]\nservers = \"{{origin}}\"\n[defaults]\nesi = true\n\
         [[route]]\npath = \"/refused\"\nrefuse = \"403\"\n\
         [[route]]\npath = \"/moved\"\nredirect_https = true\n",
        path.display().to_string()
    ));
    let includes = ["/fine", "/refused", "/moved", "/"];
    let includes = includes.map(|path| format!("<esi:include src=\"{path}\"/>"));
    origin.reply("/", page(includes.concat()));
    origin.reply("/fine", Reply::ok().body("fine"));
    assert_eq!(larder.get("/").send().text(), "fine");
    wait_until("the page is logged", || {
        std::fs::read_to_string(&path).is_ok_and(|text| text.contains(" / HTTP"))
    });
    let text = std::fs::read_to_string(&path).expect("a log");
    assert_eq!(text.lines().count(), 1, "{text}");
}

/// A log that the disk takes nothing of: what is lost is counted, and requests go on.
#[test]
fn what_the_disk_does_not_take_is_counted_as_lost() {
    let (_origin, larder) =
        start_with("[log]\naccess = \"/dev/full\"\n[[origin]]\nservers = \"{origin}\"\n");
    for number in 0..5 {
        larder.get(&format!("/{number}")).send();
    }
    wait_until("all are counted", || {
        sample(&larder, "larder_log_lost_total") == 5
    });
    assert_eq!(larder.stop().stderr.matches("lines are lost").count(), 1);
}

/// A file that may not become longer (`ulimit -f`, `LimitFSIZE=`) is like a disk that is full.
#[test]
fn a_log_that_has_reached_its_limit_ends_nothing() {
    let origin = Origin::start();
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    let path = scratch_dir().join("access.log");
    let binary = env!("CARGO_BIN_EXE_larder");
    let larder = testkit::Command::new("sh")
        .args(["-c", "ulimit -f 1; exec \"$@\"", "sh", binary, "serve"])
        .config(&format!(
            "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n[log]\naccess = {:?}\n[[origin]]\nservers = {:?}\n",
            path.display().to_string(),
            origin.url()
        ))
        .start();
    let target = format!("/{}", "x".repeat(2000));
    // The first line has begun, and its rest waits until the file takes more.
    larder.get(&target).send();
    larder.wait_output("lines are lost");
    assert!(larder.get(&target).send().hit());
    wait_until("what is too much is counted", || {
        sample(&larder, "larder_log_lost_total") == 1
    });
    assert_eq!(larder.stop().code, Some(0));
}

/// Larder's own last word, and a request that became another on its way.
#[test]
fn a_late_body_and_a_refresh_are_told_as_they_were() {
    let path = scratch_dir().join("access.log");
    let (origin, larder) = start_with(&format!(
        "[log]\naccess = {:?}\n[limits]\nbody_time = \"100ms\"\n[[origin]]\nservers = \"{{origin}}\"\n",
        path.display().to_string()
    ));
    origin.otherwise(|request| counted(request).cache("max-age=60"));
    let mut client = larder.client();
    client.send("POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
    let answer = client.read();
    assert_eq!(
        answer.parameter("detail").as_deref(),
        Some("request-timeout")
    );
    larder.ask("REFRESH", "/page").send();
    wait_until("both are logged", || {
        std::fs::read_to_string(&path).is_ok_and(|text| text.lines().count() == 2)
    });
    let text = std::fs::read_to_string(&path).expect("a log");
    let line = |told: &str| text.lines().find(|line| line.contains(told)).expect(told);
    let late = format!(" 408 {} ", answer.body.len());
    assert!(line("POST /late").contains(&late), "{text}");
    assert!(
        line("POST /late").contains("\"NONE\" \"request-timeout\""),
        "{text}"
    );
    assert!(
        line("/page").contains("\"REFRESH /page HTTP/1.1\" 200"),
        "{text}"
    );
}

/// Whoever starts Larder hears of it at once: to open such a pipe would wait for somebody to read it.
#[test]
fn a_pipe_that_nobody_reads_is_told_of_at_the_start() {
    let path = scratch_dir().join("access.pipe");
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.is_ok_and(|status| status.success()), "a pipe");
    let finished = testkit::Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&format!(
            "[log]\naccess = {:?}\n[[origin]]\nservers = \":5001\"\n",
            path.display().to_string()
        ))
        .run();
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    let said = finished.stderr.contains("nobody reads this pipe");
    assert!(said, "{}", finished.stderr);
}
