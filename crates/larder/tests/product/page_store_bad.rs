//! Values that are no pages: cut on their way, of another type, with a malformed header. The application answers instead, nothing
//! of them is kept, and the log says why.

use crate::{
    common::Said,
    page_store::{of_memcached, of_redis, outcome, put, start},
};
use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    thread,
};
use testkit::{Larder, Memcached, Redis, wait_until};

/// However busy the machine is, what is answered is answered in time.
const PATIENT: &str = "timeouts.whole = \"8s\"";

/// What the log says of the first page that was not taken, from the message on.
fn said(larder: &Larder) -> String {
    const MESSAGE: &str = "a page is not taken from the store";
    let mut line = None;
    wait_until("the log told of it", || {
        let output = larder.output();
        let mut lines = output.lines();
        line = lines.find_map(|line| Some(line.get(line.find(MESSAGE)?..)?.to_owned()));
        line.is_some()
    });
    line.unwrap_or_default()
}

/// That message to the letter.
fn told(path: &str, why: &str) -> String {
    format!("a page is not taken from the store origin=\"pages\" path=\"{path}\" why=\"{why}\"")
}

/// The application answers each time, and nothing is kept of what the store said.
fn is_no_page(store: &str, path: &str, outcome_of: &str) -> String {
    let (origin, larder) = start(store, "");
    origin.otherwise(|request| {
        let reply = testkit::Reply::ok().cache("no-store");
        reply.body(format!("app {}", request.nth))
    });
    for nth in 1..3 {
        let answer = larder.get(path).send();
        assert_eq!(answer.text(), format!("app {nth}"), "{path}");
        assert!(answer.complete && !answer.hit(), "{}", answer.said());
    }
    assert!(outcome(&larder, outcome_of) > 0, "{path}");
    assert_eq!(outcome(&larder, "found"), 0, "{path}");
    said(&larder)
}

#[test]
fn the_log_says_why_a_value_is_no_page() {
    let server = Memcached::with(&["-I", "16m"]);
    let block = "its header is malformed";
    let cut = "it is not as long as it says";
    let pickle = "it is a pickled object and not a text";
    let large = "it is too large";
    let huge = vec![b'x'; 9 << 20];
    let long = [&b"X: "[..], &vec![b'x'; 17 << 10], b"\n\npage"].concat();
    let many = ["X: y\n".repeat(65).as_bytes(), b"\npage"].concat();
    for (format, path, value, why) in [
        ("headers", "/short", &b"Content-Length: 5\n\npage"[..], cut),
        ("headers", "/longer", b"Content-Length: 3\n\npage", cut),
        ("headers", "/length", b"Content-Length: +4\n\npage", block),
        (
            "headers",
            "/lengths",
            b"Content-Length: 4\nContent-Length: 4\n\npage",
            block,
        ),
        ("headers", "/no-end", b"Content-Type: text/html\n", block),
        (
            "headers",
            "/cut-in-line",
            b"HTTP/1.1 200 OK\r\nContent-Ty",
            block,
        ),
        (
            "headers",
            "/no-header",
            b"<html><body>page</body></html>",
            block,
        ),
        ("headers", "/no-colon", b"page\n\npage", block),
        ("headers", "/no-name", b": a\n\npage", block),
        ("headers", "/blank-in-name", b"X : a\n\npage", block),
        ("headers", "/folded", b"X: a\n\tb\n\npage", block),
        ("headers", "/zero", b"X: a\0b\n\npage", block),
        (
            "headers",
            "/late-status",
            b"X: a\nHTTP/1.1 200 OK\n\npage",
            block,
        ),
        ("headers", "/version", b"HTTP/2 200\n\npage", block),
        (
            "headers",
            "/status",
            b"HTTP/1.1 304 Not Modified\n\n",
            block,
        ),
        ("headers", "/binary", &[0, 159, 146, 150], block),
        ("headers", "/long-block", &long, block),
        ("headers", "/many-lines", &many, block),
        ("headers", "/huge", &huge, large),
        ("plain", "/huge", &huge, large),
        (
            "plain",
            "/object",
            b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R.",
            pickle,
        ),
        ("flask", "/text", b"no pickle", pickle),
        ("flask", "/cut-pickle", b"\x80\x04\x8c\x09half", pickle),
    ] {
        put(&server, path, value);
        let store = of_memcached(
            &server,
            "$uri",
            &format!("{PATIENT}\nformat = \"{format}\""),
        );
        assert_eq!(is_no_page(&store, path, "bad"), told(path, why));
    }
}

#[test]
fn the_log_says_what_is_no_string_in_redis() {
    let server = Redis::start();
    server.ask(&["RPUSH", "/list", "a", "b"]);
    server.ask(&["HSET", "/hash", "a", "b"]);
    server.ask(&["SADD", "/set", "a"]);
    server.ask(&["ZADD", "/sorted", "1", "a"]);
    server.ask(&["XADD", "/stream", "*", "a", "b"]);
    for path in ["/list", "/hash", "/set", "/sorted", "/stream"] {
        let store = of_redis(&server, "$uri", PATIENT);
        assert_eq!(
            is_no_page(&store, path, "bad"),
            told(path, "it is not a string")
        );
    }
    server.ask(&["SETRANGE", "/huge", "20000000", "x"]);
    let store = of_redis(&server, "$uri", PATIENT);
    assert_eq!(
        is_no_page(&store, "/huge", "bad"),
        told("/huge", "it is too large")
    );
}

/// What is done when the scripted answer has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Closes,
    SaysNoMore,
}

/// A Redis that answers each question for a value with these bytes, and all others as they should be.
fn scripted(answer: &'static [u8], then: Then) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(&stream, answer, then));
        }
    });
    format!("redis = \"redis://{address}\"\nkey = \"$uri\"\n")
}

/// Until the other side has gone, or we go.
fn serve(mut stream: &TcpStream, answer: &[u8], then: Then) {
    let mut asked = BufReader::new(stream);
    while let Some(command) = command(&mut asked) {
        let sent = match command.first().map(String::as_str) {
            Some("PTTL") => stream.write_all(b":-1\r\n"),
            Some("GETRANGE") => {
                let sent = stream.write_all(answer);
                if then == Then::Closes {
                    return;
                }
                sent
            }
            _ => stream.write_all(b"+OK\r\n"),
        };
        if sent.is_err() {
            return;
        }
    }
}

/// The words of the next command.
fn command(asked: &mut impl BufRead) -> Option<Vec<String>> {
    let count = length(asked, '*')?;
    let mut words = Vec::new();
    for _ in 0..count {
        let mut word = vec![0; length(asked, '$')? + 2];
        asked.read_exact(&mut word).ok()?;
        words.push(String::from_utf8(word).ok()?.trim_end().to_owned());
    }
    Some(words)
}

fn length(asked: &mut impl BufRead, kind: char) -> Option<usize> {
    let mut line = String::new();
    asked.read_line(&mut line).ok()?;
    line.trim_end().strip_prefix(kind)?.parse().ok()
}

/// A Redis that dies in the middle of a value, or says what is none, as often as it is asked.
#[test]
fn a_value_of_redis_that_is_cut_or_none_is_no_page() {
    let gone = "the server cannot be connected to: cannot be reached: broken pipe";
    let other =
        "the response is malformed: gives answers that are none: an answer to something else";
    let rejected = "the server cannot be connected to: does not do what it is asked for: ResponseError: unknown command";
    let late = "no response in time: does not answer in time: no answer within 500ms";
    for (answer, then, why) in [
        (&b""[..], Then::Closes, gone),
        (b"$1", Then::Closes, gone),
        (b"$10\r\n", Then::Closes, gone),
        (b"$10\r\nhalf", Then::Closes, gone),
        (b"$10\r\nall of it\r", Then::Closes, gone),
        (b"$4\r\nhalf and more\r\n", Then::Closes, gone),
        (b"$four\r\npage\r\n", Then::SaysNoMore, gone),
        (b"page\r\n", Then::SaysNoMore, gone),
        (b"$10\r\nhalf", Then::SaysNoMore, late),
        (b"+page\r\n", Then::SaysNoMore, other),
        (b":7\r\n", Then::SaysNoMore, other),
        (b"$-1\r\n", Then::SaysNoMore, other),
        (b"*1\r\n$4\r\npage\r\n", Then::SaysNoMore, other),
        (b"-ERR unknown command\r\n", Then::SaysNoMore, rejected),
    ] {
        let wait = if why == late {
            "timeouts.whole = \"500ms\""
        } else {
            PATIENT
        };
        let line = is_no_page(&(scripted(answer, then) + wait), "/page", "failed");
        let text = String::from_utf8_lossy(answer);
        assert_eq!(line, told("/page", why), "{text:?} {then:?}");
    }
    let wrong = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
    let line = is_no_page(
        &(scripted(wrong, Then::SaysNoMore) + PATIENT),
        "/page",
        "bad",
    );
    assert_eq!(line, told("/page", "it is not a string"));
}
