//! FastCGI servers that break the protocol, stop, or do not answer: 502, 504 or what is stale, and nothing half stored.

use crate::{
    common::Said,
    fastcgi::{Site, own_root},
};
use socket2::{Domain, SockAddr, Socket, Type};
use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};
use testkit::{
    Command, FastCgi, Gate, Larder, PhpFpm, Response,
    fastcgi::{Next, end, kind, output, record},
    scratch_dir, wait_until,
};

/// A folder with a script, which nobody reads.
fn root() -> PathBuf {
    let root = scratch_dir();
    fs::write(root.join("index.php"), "").unwrap();
    root
}

pub(crate) fn serve(server: &FastCgi, more: &str) -> Larder {
    let config = format!(
        "[[origin]]\nfastcgi = {:?}\nroot = {:?}\n{more}\n",
        server.url(),
        root().display().to_string()
    );
    Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&config)
        .start()
}

const HEAD: &str = "Content-Type: text/html\r\nCache-Control: max-age=60, stale-if-error=600\r\n";

/// Output that may be stored.
fn page(body: &str) -> Vec<u8> {
    record(kind::OUT, format!("{HEAD}\r\n{body}"))
}

/// These records one after the other.
fn all(records: &[Vec<u8>]) -> Vec<u8> {
    records.concat()
}

/// `record` with another byte at this place.
fn with(mut record: Vec<u8>, at: usize, byte: u8) -> Vec<u8> {
    record[at] = byte;
    record
}

/// What a server writes before it closes, and the `detail` of the failure. None of it brings a whole head.
fn without_a_head() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    vec![
        ("nothing", vec![], "truncated"),
        ("half a header", page("x")[..5].to_vec(), "truncated"),
        ("half a record", page("x")[..20].to_vec(), "truncated"),
        ("another version", with(page("x"), 0, 2), "protocol"),
        (
            "another protocol",
            b"HTTP/1.1 200 OK\r\n\r\nhello".to_vec(),
            "protocol",
        ),
        ("another request", with(page("x"), 3, 2), "protocol"),
        ("an unknown type", with(page("x"), 1, 99), "protocol"),
        ("a type of ours", with(page("x"), 1, 5), "protocol"),
        ("a short end", all(&[record(kind::END, [0; 7])]), "protocol"),
        ("a long end", all(&[record(kind::END, [0; 9])]), "protocol"),
        ("an end at once", end(), "malformed"),
        (
            "overloaded",
            record(kind::END, [0, 0, 0, 0, 2, 0, 0, 0]),
            "protocol",
        ),
        ("no end of the header", output(HEAD), "malformed"),
        ("no header", output("\r\nbody"), "malformed"),
        (
            "a line that is no field",
            output("Content-Type\r\n\r\nbody"),
            "malformed",
        ),
        (
            "a name with a space",
            output("A b: c\r\n\r\nbody"),
            "malformed",
        ),
        ("an odd value", output("A: \x01\r\n\r\nbody"), "malformed"),
        (
            "a status that is none",
            output("Status: soon\r\n\r\nbody"),
            "malformed",
        ),
        (
            "an interim status",
            output("Status: 101 Switching\r\n\r\nbody"),
            "malformed",
        ),
        (
            "two lengths",
            output("Content-Length: 4\r\nContent-Length: 5\r\n\r\nbody"),
            "malformed",
        ),
        (
            "a large header",
            output(format!("A: {}\r\n\r\n", "a".repeat(9000))),
            "head-too-large",
        ),
        (
            "many fields",
            output("A: b\r\n".repeat(400) + "\r\n"),
            "malformed",
        ),
        (
            "an endless header",
            record(kind::OUT, format!("A: {}", "a".repeat(60_000))),
            "head-too-large",
        ),
        (
            "only complaints",
            all(&[record(kind::ERR, "oh"), end()]),
            "malformed",
        ),
    ]
}

#[test]
fn without_a_head_there_is_no_answer() {
    let server = FastCgi::with_output("");
    let larder = serve(
        &server,
        "header_size = \"8KiB\"\nretry.attempts = 0\npassive.failures = 0",
    );
    for (name, bytes, detail) in without_a_head() {
        server.answer(move |_, line| {
            line.send(&bytes);
            Next::Close
        });
        let target = format!("/{}", name.replace(' ', "-"));
        for _ in 0..2 {
            let answer = larder.get(&target).send();
            assert_eq!(answer.status, 502, "{name}: {:?}", answer.head);
            assert_eq!(
                answer.parameter("detail").as_deref(),
                Some(detail),
                "{name}"
            );
            assert!(!answer.hit(), "{name}");
        }
        // Nothing was left behind that would stand in the way of a good answer.
        server.answer(|_, line| {
            line.send(all(&[page("good"), end()]));
            Next::Close
        });
        assert_eq!(larder.get(&target).send().text(), "good", "{name}");
        assert!(larder.get(&target).send().hit(), "{name}");
    }
}

/// What a server writes before it closes: a head, and something wrong behind it.
fn with_a_head() -> Vec<(&'static str, Vec<u8>)> {
    let sized = |length: usize, body: &str| {
        record(
            kind::OUT,
            format!("{HEAD}Content-Length: {length}\r\n\r\n{body}"),
        )
    };
    vec![
        ("no end", page("half")),
        (
            "half a record",
            all(&[page("half"), record(kind::OUT, "more")[..10].to_vec()]),
        ),
        ("half an end", all(&[page("half"), end()[..12].to_vec()])),
        ("another version", all(&[page("half"), with(end(), 0, 9)])),
        (
            "another request",
            all(&[
                page("half"),
                with(record(kind::OUT, "of another"), 3, 7),
                end(),
            ]),
        ),
        (
            "output after its end",
            all(&[
                page("half"),
                record(kind::OUT, ""),
                record(kind::OUT, "x"),
                end(),
            ]),
        ),
        ("less than its length", all(&[sized(10, "half"), end()])),
        ("more than its length", all(&[sized(2, "half"), end()])),
        (
            "a status of failure",
            all(&[page("half"), record(kind::END, [0, 0, 0, 1, 0, 0, 0, 0])]),
        ),
        (
            "a fatal error",
            all(&[
                page("half"),
                record(kind::ERR, "PHP message: PHP Fatal error:  x"),
                end(),
            ]),
        ),
    ]
}

/// The answer; `None` where the connection is closed before it began, which nobody takes for a page.
fn try_get(larder: &Larder, target: &str) -> Option<Response> {
    let mut client = larder.get(target).begin();
    let mut answer = client.try_read_head()?;
    client.read_content(&mut answer);
    Some(answer)
}

#[test]
fn what_breaks_off_is_never_stored_nor_ended_as_if_it_were_whole() {
    let server = FastCgi::with_output("");
    let larder = serve(&server, "retry.attempts = 0\npassive.failures = 0");
    for apart in [false, true] {
        for (name, bytes) in with_a_head() {
            let target = format!("/{}-{apart}", name.replace(' ', "-"));
            let written = bytes.clone();
            let split = if apart { 8 + HEAD.len() + 4 } else { 0 };
            server.answer(move |_, line| {
                let (head, rest) = written.split_at(split.min(written.len()));
                line.send(head);
                if apart {
                    // What follows comes in a packet of its own, if anything on a loaded machine does.
                    std::thread::yield_now();
                }
                line.send(rest);
                Next::Close
            });
            for _ in 0..2 {
                let Some(answer) = try_get(&larder, &target) else {
                    continue;
                };
                assert!(!answer.hit(), "{name}: {}", answer.said());
                let refused = answer.status == 502;
                // A reader who was promised two bytes has both.
                let sated = name == "more than its length" && answer.text() == "ha";
                assert!(
                    refused || !answer.complete || sated,
                    "{name}: {:?} {}",
                    answer.head,
                    answer.text()
                );
            }
            server.answer(|_, line| {
                line.send(all(&[page("good"), end()]));
                Next::Close
            });
            assert_eq!(larder.get(&target).send().text(), "good", "{name}");
            assert!(larder.get(&target).send().hit(), "{name}");
        }
    }
}

#[test]
fn records_may_come_in_any_pieces_and_any_order_that_makes_sense() {
    let padded = |kind, content: &str| {
        let mut bytes = record(kind, content);
        bytes[6] = 3;
        bytes.extend([0xff; 3]);
        bytes
    };
    let whole = all(&[
        padded(kind::ERR, "mind "),
        padded(kind::OUT, "Content-Type: text/plain\nX-A: 1\nCache-Con"),
        padded(kind::ERR, "the gap"),
        padded(kind::OUT, "trol: max-age=60\n"),
        padded(kind::OUT, "\nab"),
        padded(kind::ERR, ""),
        padded(kind::OUT, "cd"),
        padded(kind::OUT, ""),
        end(),
    ]);
    for piece in [1, 2, 3, 7, 8, 9, 1000] {
        let whole = whole.clone();
        let server = FastCgi::start(move |_, line| {
            for piece in whole.chunks(piece) {
                line.send(piece);
            }
            Next::Keep
        });
        let larder = serve(&server, "");
        let answer = larder.get("/").send();
        assert!(
            answer.complete && answer.text() == "abcd",
            "{piece}: {answer:?}"
        );
        assert_eq!(answer.header("x-a"), Some("1"));
        assert!(larder.get("/").send().hit());
        larder.wait_output("mind the gap");
    }
}

#[test]
fn what_is_stale_is_sent_while_the_server_fails() {
    let server = FastCgi::start(|_, line| {
        let old = "Cache-Control: max-age=1, stale-if-error=600\r\nAge: 10\r\n\r\nold";
        line.send(output(old));
        Next::Close
    });
    let larder = serve(
        &server,
        "header_size = \"8KiB\"\nretry.attempts = 0\npassive.failures = 0",
    );
    assert_eq!(larder.get("/").send().text(), "old");
    for (name, bytes, detail) in without_a_head() {
        server.answer(move |_, line| {
            line.send(&bytes);
            Next::Close
        });
        let answer = larder.get("/").send();
        assert_eq!(answer.text(), "old", "{name}: {:?}", answer.head);
        assert_eq!(
            answer.parameter("detail").as_deref(),
            Some(detail),
            "{name}"
        );
    }
}

#[test]
fn a_connection_is_used_again_only_where_all_is_well() {
    let server = FastCgi::with_output("Cache-Control: no-store\r\n\r\nwell");
    let larder = serve(&server, "idle_connections = 2");
    let mut client = larder.client();
    for _ in 0..5 {
        assert_eq!(client.get("/").send().text(), "well");
    }
    assert_eq!(server.connections(), 1);
    // More after the end is nobody's answer.
    server.answer(|_, line| {
        line.send(all(&[
            output("Cache-Control: no-store\r\n\r\nwell"),
            page("of nobody"),
            end(),
        ]));
        Next::Keep
    });
    for _ in 0..3 {
        assert_eq!(client.get("/").send().text(), "well");
    }
    assert_eq!(server.connections(), 3, "the first one served once more");
}

#[test]
fn a_connection_that_was_closing_costs_nothing() {
    let server = FastCgi::start(|_, line| {
        line.send(output("Cache-Control: no-store\r\n\r\nwell"));
        Next::Close
    });
    let larder = serve(&server, "idle_connections = 2\nretry.attempts = 0");
    let mut client = larder.client();
    for _ in 0..20 {
        assert_eq!(client.get("/").send().text(), "well");
        let posted = client.ask("POST", "/").body("x").send();
        assert_eq!(posted.text(), "well");
    }
}

#[test]
fn who_answers_before_it_has_read_is_heard() {
    let site = Site::before(PhpFpm::with_settings(
        2,
        "php_admin_value[post_max_size] = 1K",
    ));
    let larder = site.start();
    let answer = larder
        .ask("POST", "/probe/env.php")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(vec![b'a'; 2_000_000])
        .send();
    assert_eq!(answer.status, 200, "{:?}", answer.head);
}

#[test]
fn what_was_sent_is_sent_again_only_where_that_is_safe() {
    let well = FastCgi::with_output("Cache-Control: no-store\r\n\r\nwell");
    let bad = FastCgi::start(|_, _| Next::Close);
    let larder = |first: &str| {
        let config = format!(
            "[[origin]]\nfastcgi = [{first:?}, {:?}]\nroot = {:?}\npassive.failures = 0\nretry.percent = 100\n",
            well.url(),
            root().display().to_string()
        );
        Command::serve(env!("CARGO_BIN_EXE_larder"))
            .config(&config)
            .start()
    };
    // One that hangs up: what changes nothing goes to the other.
    let hanging = larder(&bad.url());
    for _ in 0..4 {
        assert_eq!(hanging.get("/").send().text(), "well");
    }
    let (before, mut refused) = (bad.requests() + well.requests(), 0);
    for _ in 0..4 {
        let posted = hanging.ask("POST", "/").body("x").send();
        refused += usize::from(posted.status == 502);
    }
    assert_eq!(bad.requests() + well.requests(), before + 4, "each once");
    assert!(refused > 0, "one of the two was the bad one");
    // One that is not there: nothing was sent, and all may go to the other.
    let gone = larder("unix:/nonexistent/php-fpm.sock");
    for _ in 0..4 {
        assert_eq!(gone.ask("POST", "/").body("x").send().text(), "well");
    }
}

#[test]
fn an_answer_without_content_has_none_whatever_a_script_writes() {
    let server = FastCgi::start(|call, line| {
        let status = call.params["REQUEST_URI"].trim_start_matches('/');
        let head = "Cache-Control: no-store\r\nContent-Length: 7";
        line.send(output(format!(
            "Status: {status} X\r\n{head}\r\n\r\ncontent"
        )));
        Next::Keep
    });
    let larder = serve(&server, "idle_connections = 2\n[defaults]\ncache = false");
    let mut client = larder.client();
    for (method, target, status) in [
        ("HEAD", "/200", 200),
        ("GET", "/204", 204),
        ("GET", "/304", 304),
        ("GET", "/200", 200),
    ] {
        let answer = client.ask(method, target).send();
        assert_eq!(answer.status, status);
        let content = if (method, status) == ("GET", 200) {
            "content"
        } else {
            ""
        };
        assert!(
            answer.complete && answer.text() == content,
            "{target}: {answer:?}"
        );
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn redirects_within_the_site_are_followed_here_and_others_by_the_client() {
    let server = FastCgi::start(|call, line| {
        let text = match call.params["REQUEST_URI"].as_str() {
            "/local" => "Location: /target?b=1\r\n\r\n".to_owned(),
            "/target?b=1" => format!(
                "Cache-Control: max-age=60\r\n\r\n{} {} {}",
                call.params["REQUEST_METHOD"],
                call.params["CONTENT_LENGTH"],
                call.params["QUERY_STRING"]
            ),
            "/loop" => "Location: /loop\r\n\r\n".to_owned(),
            "/absolute" => "Location: http://else.example/x\r\n\r\n".to_owned(),
            "/with-cookie" => "Location: /x\r\nSet-Cookie: a=b\r\n\r\n".to_owned(),
            "/with-status" => "Status: 303 See Other\r\nLocation: /x\r\n\r\n".to_owned(),
            "/slashes" => "Location: //else.example/x\r\n\r\n".to_owned(),
            other => panic!("{other}"),
        };
        line.send(output(text));
        Next::Keep
    });
    let larder = serve(&server, "retry.attempts = 0");
    assert_eq!(larder.get("/local").send().text(), "GET  b=1");
    assert!(larder.get("/local").send().hit());
    let posted = larder.ask("POST", "/local").body("abc").send();
    assert_eq!(posted.text(), "GET  b=1");
    for (target, status, location) in [
        ("/loop", 502, None),
        ("/absolute", 302, Some("http://else.example/x")),
        ("/with-cookie", 302, Some("/x")),
        ("/with-status", 303, Some("/x")),
        ("/slashes", 302, Some("//else.example/x")),
    ] {
        let answer = larder.get(target).send();
        assert_eq!(
            (answer.status, answer.header("location")),
            (status, location),
            "{target}"
        );
    }
}

#[test]
fn a_request_that_nobody_waits_for_is_aborted() {
    let (begun, aborted) = (Gate::new(), Gate::new());
    let (reached, seen) = (begun.clone(), aborted.clone());
    let server = FastCgi::start(move |_, line| {
        const ABORT: u8 = 2;
        reached.pass();
        assert_eq!(line.read().map(|(kind, _)| kind), Some(ABORT));
        assert!(line.read().is_none(), "and the connection is closed");
        seen.pass();
        Next::Close
    });
    let larder = serve(&server, "");
    let client = larder.ask("POST", "/").body("x").begin();
    begun.wait_reached();
    begun.open();
    drop(client);
    aborted.wait_reached();
    aborted.open();
}

#[test]
fn limits_of_time_hold() {
    let gate = Gate::new();
    let held = gate.clone();
    let server = FastCgi::start(move |call, line| {
        match call.params["REQUEST_URI"].as_str() {
            "/head" => line.send(record(kind::ERR, "still here")),
            "/body" => line.send(page("half")),
            other => panic!("{other}"),
        }
        held.pass();
        Next::Close
    });
    let larder = serve(
        &server,
        "retry.attempts = 0\npassive.failures = 0\ntimeouts = { first_byte = \"100ms\", between_bytes = \"100ms\" }",
    );
    let answer = larder.get("/head").send();
    assert_eq!(answer.status, 504);
    assert_eq!(
        answer.parameter("detail").as_deref(),
        Some("first-byte-timeout")
    );
    let answer = larder.get("/body").send();
    assert!(!answer.complete && answer.text() == "half", "{answer:?}");
    let answer = larder.get("/body").send();
    assert!(!answer.hit() && !answer.complete);
    gate.open();
}

#[test]
fn the_whole_has_a_limit_too() {
    let gate = Gate::new();
    let held = gate.clone();
    let server = FastCgi::start(move |call, line| {
        if call.params["REQUEST_URI"] == "/head" {
            held.pass();
            return Next::Close;
        }
        line.send(page("drip"));
        // Until the connection is closed; no two pieces are far apart.
        while line.try_send(record(kind::OUT, "drip")) {}
        Next::Close
    });
    let larder = serve(
        &server,
        "retry.attempts = 0\npassive.failures = 0\ntimeouts.whole = \"100ms\"",
    );
    let answer = larder.get("/head").send();
    assert_eq!(answer.status, 504);
    assert_eq!(answer.parameter("detail").as_deref(), Some("whole-timeout"));
    gate.open();
    for _ in 0..2 {
        let answer = larder.get("/drip").send();
        assert!(!answer.hit() && !answer.complete || answer.status == 504);
    }
    assert_eq!(server.requests(), 3, "nothing of it was stored");
}

#[test]
fn what_a_visitor_has_logged_breaks_nothing() {
    let server = FastCgi::start(|_, line| {
        line.send(all(&[
            page("well"),
            record(kind::ERR, "PHP message: searched for: PHP Fatal error:  x"),
            end(),
        ]));
        Next::Keep
    });
    let larder = serve(&server, "");
    let answer = larder.get("/").send();
    assert!(answer.complete && answer.text() == "well", "{answer:?}");
    assert!(larder.get("/").send().hit());
}

#[test]
fn a_script_that_breaks_off_sends_no_server_to_rest() {
    let well = FastCgi::with_output("Cache-Control: no-store\r\n\r\nwell");
    for early in [false, true] {
        let server = FastCgi::start(move |call, line| {
            let broken = record(kind::ERR, "PHP message: PHP Fatal error:  x");
            match (call.params["REQUEST_URI"].as_str(), early) {
                ("/well", _) => line.send(output("Cache-Control: no-store\r\n\r\nwell")),
                (_, false) => line.send(all(&[page("half"), broken, end()])),
                (_, true) => line.send(all(&[broken, page("half"), end()])),
            }
            Next::Close
        });
        let config = format!(
            "[[origin]]\nfastcgi = [{:?}, {:?}]\nroot = {:?}\nretry.attempts = 0\npassive = {{ failures = 1, rest = \"10m\" }}\n",
            server.url(),
            well.url(),
            root().display().to_string()
        );
        let larder = Command::serve(env!("CARGO_BIN_EXE_larder"))
            .config(&config)
            .start();
        for number in 0..4 {
            try_get(&larder, &format!("/{number}"));
        }
        let before = server.requests();
        assert!(before > 0, "it broke off");
        for _ in 0..4 {
            assert_eq!(larder.get("/well").send().text(), "well");
        }
        assert!(server.requests() > before, "it is asked again");
    }
}

#[test]
fn complaints_without_end_hold_nobody() {
    let server = FastCgi::start(|call, line| {
        if call.params["REQUEST_URI"] == "/body" {
            line.send(page("half"));
        }
        // Until the connection is closed.
        while line.try_send(record(kind::ERR, "oh no\n")) {}
        Next::Close
    });
    let larder = serve(
        &server,
        "retry.attempts = 0\npassive.failures = 0\ntimeouts = { first_byte = \"100ms\", between_bytes = \"100ms\" }",
    );
    let answer = larder.get("/body").send();
    assert!(!answer.complete && answer.text() == "half", "{answer:?}");
    assert_eq!(larder.get("/head").send().status, 504);
}

#[test]
fn php_fpm_stopped_and_back() {
    let mut site = Site::new();
    let larder = site.serve("", "passive.failures = 0");
    // Stale at once, and good for ten minutes where there is nothing better.
    let old = larder.get("/probe/cached.php?age=0").send();
    assert_eq!(old.status, 200);
    site.php.stop();
    assert!(!site.php.socket().exists());
    let answer = larder.get("/wp-login.php").send();
    assert_eq!(answer.status, 502);
    assert_eq!(answer.parameter("detail").as_deref(), Some("refused"));
    let stale = larder.get("/probe/cached.php?age=0").send();
    assert_eq!(
        (stale.status, stale.text()),
        (200, old.text()),
        "{}",
        stale.said()
    );
    // A socket that nobody listens on.
    drop(std::os::unix::net::UnixListener::bind(site.php.socket()).unwrap());
    assert_eq!(larder.get("/wp-login.php").send().status, 502);
    site.php.restart();
    assert_eq!(larder.get("/wp-login.php").send().status, 200);
    let fresh = larder.get("/probe/cached.php?age=0").send();
    assert_ne!(fresh.text(), old.text());
}

#[test]
fn all_children_busy() {
    let site = Site::before(PhpFpm::start(1));
    let larder = site.serve(
        "",
        "passive.failures = 0\nretry.attempts = 0\ntimeouts.first_byte = \"200ms\"",
    );
    let old = larder.get("/probe/cached.php?age=0").send();
    let patient = site.serve("", "");
    let busy = patient.get("/probe/wait.php?name=busy").begin();
    site.wait_for("busy.begun");
    let answer = larder.get("/wp-login.php").send();
    assert_eq!(answer.status, 504, "{:?}", answer.head);
    let stale = larder.get("/probe/cached.php?age=0").send();
    assert_eq!(
        (stale.status, stale.text()),
        (200, old.text()),
        "{}",
        stale.said()
    );
    // Whoever may wait gets its answer when the child is free.
    let waiting = patient.get("/wp-login.php").begin();
    site.let_go("busy");
    let (mut busy, mut waiting) = (busy, waiting);
    assert_eq!(busy.read().text(), "let go");
    assert_eq!(waiting.read().status, 200);
}

/// Connects to the socket until its queue takes no more; nobody there says anything.
fn fill_queue(socket: &Path) -> Vec<Socket> {
    let address = SockAddr::unix(socket).unwrap();
    let mut waiting = Vec::new();
    loop {
        let one = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        one.set_nonblocking(true).unwrap();
        match one.connect(&address) {
            Ok(()) => waiting.push(one),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                return waiting;
            }
        }
    }
}

#[test]
fn all_children_busy_and_the_queue_full() {
    let site = Site::before(PhpFpm::with_settings(1, "listen.backlog = 1"));
    let larder = site.serve(
        "",
        "passive.failures = 0\nretry.attempts = 0\ntimeouts.connect = \"200ms\"",
    );
    let old = larder.get("/probe/cached.php?age=0").send();
    let mut busy = larder.get("/probe/wait.php?name=busy").begin();
    site.wait_for("busy.begun");
    let queue = fill_queue(&site.php.socket());
    let answer = larder.get("/wp-login.php").send();
    assert_eq!(answer.status, 504, "{:?}", answer.head);
    assert_eq!(
        answer.parameter("detail").as_deref(),
        Some("connect-timeout")
    );
    let stale = larder.get("/probe/cached.php?age=0").send();
    assert_eq!((stale.status, stale.text()), (200, old.text()));
    drop(queue);
    site.let_go("busy");
    assert_eq!(busy.read().text(), "let go");
    // The child takes those who left from the queue first.
    wait_until("there was room in the queue", || {
        larder.get("/wp-login.php").send().status == 200
    });
}

#[test]
fn scripts_that_end_badly() {
    let site = Site::new();
    let larder = site.serve(
        "",
        "retry.attempts = 0\npassive.failures = 0\ntimeouts.between_bytes = \"200ms\"",
    );
    for (how, after) in [
        ("fatal", 0),
        ("fatal", 100),
        ("fatal", 100_000),
        ("killed", 0),
        ("killed", 100),
        ("killed", 100_000),
        ("hangs", 100),
        ("short", 100),
    ] {
        let target = format!("/probe/broken.php?how={how}&after={after}");
        for _ in 0..2 {
            let Some(answer) = try_get(&larder, &target) else {
                continue;
            };
            assert!(!answer.hit(), "{target}");
            let refused = answer.status >= 500;
            assert!(refused || !answer.complete, "{target}: {:?}", answer.head);
        }
    }
    // Its own business, since the page is whole.
    assert!(
        larder
            .get("/probe/broken.php?how=silent&after=5")
            .send()
            .complete
    );
    assert!(
        larder
            .get("/probe/broken.php?how=silent&after=5")
            .send()
            .hit()
    );
    // The child that was killed was replaced, and the others live.
    assert_eq!(larder.get("/wp-login.php").send().status, 200);
}

#[test]
fn a_root_that_went_away() {
    let mut site = Site::new();
    own_root(&mut site);
    let larder = site.start();
    let old = larder.get("/probe/cached.php?age=0").send();
    assert_eq!(old.status, 200);
    fs::rename(&site.root, site.root.with_extension("gone")).unwrap();
    assert_eq!(larder.get("/wp-login.php").send().status, 500);
    let stale = larder.get("/probe/cached.php?age=0").send();
    assert_eq!(stale.text(), old.text(), "{}", stale.said());
}
