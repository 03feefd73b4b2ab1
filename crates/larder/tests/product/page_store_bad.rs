//! Values that are no pages, and answers that are none: cut on their way, of another type, malformed. The application
//! answers instead, nothing of them is kept, and the log says once what it was.

use crate::{
    common::Said,
    page_store::{PATIENT, of_memcached, of_redis, outcome, put, start},
};
use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    thread,
};
use testkit::{Larder, Memcached, Redis, wait_until};

/// What the log says of pages that were not taken, from the message on.
fn said(larder: &Larder) -> Vec<String> {
    const MESSAGE: &str = "a page of the store cannot be used";
    let output = larder.output();
    let lines = output.lines();
    let told = lines.filter_map(|line| Some(line.get(line.find(MESSAGE)?..)?.to_owned()));
    told.collect()
}

/// That message to the letter.
fn told(path: &str, why: &str) -> String {
    format!("a page of the store cannot be used origin=\"pages\" path=\"{path}\" why=\"{why}\"")
}

/// The application answers each time, nothing is kept of what the store said, and the log says `why`.
fn is_no_page(store: &str, path: &str, outcome_of: &str, why: &str) {
    let (origin, larder) = start(store, "");
    origin.otherwise(|request| {
        let reply = testkit::Reply::ok().cache("no-store");
        reply.body(format!("app {}", request.nth))
    });
    for nth in 1..3 {
        let answer = larder.get(path).send();
        assert_eq!(answer.text(), format!("app {nth}"), "{path}");
        assert!(answer.complete && !answer.hit(), "{}", answer.said());
        if nth == 1 {
            wait_until("the log told of it", || !said(&larder).is_empty());
            assert_eq!(said(&larder), [told(path, why)]);
        }
    }
    assert!(outcome(&larder, outcome_of) > 0, "{path}");
    assert_eq!(outcome(&larder, "found"), 0, "{path}");
}

/// What no block of fields begins with, or what is none.
const BLOCKS: [(&str, &str); 13] = [
    ("/length", "Content-Length: +4\n\npage"),
    ("/lengths", "Content-Length: 4\nContent-Length: 4\n\npage"),
    ("/no-end", "Content-Type: text/html\n"),
    ("/cut-in-line", "HTTP/1.1 200 OK\r\nContent-Ty"),
    ("/no-header", "<html><body>page</body></html>"),
    ("/no-colon", "page\n\npage"),
    ("/no-name", ": a\n\npage"),
    ("/blank-in-name", "X : a\n\npage"),
    ("/folded", "X: a\n\tb\n\npage"),
    ("/zero", "X: a\0b\n\npage"),
    ("/late-status", "X: a\nHTTP/1.1 200 OK\n\npage"),
    ("/version", "HTTP/2 200\n\npage"),
    ("/status", "HTTP/1.1 304 Not Modified\n\n"),
];

#[test]
fn the_log_says_why_a_value_is_no_page() {
    let server = Memcached::with(&["-I", "16m"]);
    let check = |format: &str, path: &str, value: &[u8], why: &str| {
        put(&server, path, value);
        let format = format!("format = \"{format}\"");
        let store = of_memcached(&server, "$uri", &format);
        is_no_page(&store, path, "bad", why);
    };
    let block = "its header is malformed";
    for (path, value) in BLOCKS {
        check("headers", path, value.as_bytes(), block);
    }
    check("headers", "/binary", &[0, 159, 146, 150], block);
    let long = [&b"X: "[..], &vec![b'x'; 17 << 10], b"\n\npage"].concat();
    check("headers", "/long-block", &long, block);
    let many = ["X: y\n".repeat(65).as_bytes(), b"\npage"].concat();
    check("headers", "/many-lines", &many, block);
    let cut = "it is not as long as it says";
    check("headers", "/short", b"Content-Length: 5\n\npage", cut);
    check("headers", "/longer", b"Content-Length: 3\n\npage", cut);
    let pickle = "it is a pickled object and not a text";
    let object = b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R.";
    check("plain", "/object", object, pickle);
    check("flask", "/object", object, pickle);
    check("flask", "/text", b"no pickle", pickle);
    check("flask", "/cut", b"\x80\x04\x8c\x09half", pickle);
    for format in ["headers", "plain", "flask"] {
        check(format, "/huge", &vec![b'x'; 9 << 20], "it is too large");
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
    server.ask(&["SETRANGE", "/huge", "20000000", "x"]);
    for path in ["/list", "/hash", "/set", "/sorted", "/stream"] {
        let store = of_redis(&server, "$uri", "");
        is_no_page(&store, path, "bad", "it is not a string");
    }
    let store = of_redis(&server, "$uri", "");
    is_no_page(&store, "/huge", "bad", "it is too large");
}

/// What is done when the scripted answer has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Closes,
    SaysNoMore,
}

/// A store that answers each question for a value with the bytes of a row, and all others as they should be. A row is
/// that, and what the log says then; `{address}` in it is the store's.
fn judge(scheme: &str, rows: &[(&'static str, Then, &str)]) {
    for (answer, then, why) in rows {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (answer, then) = (*answer, *then);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || serve(&stream, answer, then));
            }
        });
        let wait = if why.contains("in time") {
            "timeouts.whole = \"500ms\""
        } else {
            PATIENT
        };
        let store = format!("{scheme} = \"{scheme}://{address}\"\nkey = \"$uri\"\n{wait}");
        let outcome = if why.starts_with("it is") {
            "bad"
        } else {
            "failed"
        };
        // Which row it was, where one fails.
        println!("{answer:?} {then:?}");
        let why = why.replace("{address}", &address.to_string());
        is_no_page(&store, "/page", outcome, &why);
    }
}

/// Until the other side has gone, or we go.
fn serve(mut stream: &TcpStream, answer: &str, then: Then) {
    let mut asked = BufReader::new(stream);
    while let Some(command) = command(&mut asked) {
        let sent = match command.first().map(String::as_str) {
            Some("PTTL") => stream.write_all(b":-1\r\n"),
            Some("GETRANGE" | "get") => {
                let sent = stream.write_all(answer.as_bytes());
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

/// The words of the next command: counted ones as Redis has them, or a line as memcached does.
fn command(asked: &mut impl BufRead) -> Option<Vec<String>> {
    let line = line(asked)?;
    let Some(count) = line.strip_prefix('*') else {
        return Some(line.split(' ').map(str::to_owned).collect());
    };
    let count: usize = count.parse().ok()?;
    let word = |_| {
        let length: usize = self::line(asked)?.strip_prefix('$')?.parse().ok()?;
        let mut word = vec![0; length + 2];
        asked.read_exact(&mut word).ok()?;
        Some(String::from_utf8(word).ok()?.trim_end().to_owned())
    };
    (0..count).map(word).collect()
}

fn line(asked: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    let read = asked.read_line(&mut line).ok()?;
    (read > 0).then(|| line.trim_end().to_owned())
}

/// A Redis that dies in the middle of a value, or says what is none, as often as it is asked.
#[test]
fn a_value_of_redis_that_is_cut_or_none_is_no_page() {
    use Then::{Closes, SaysNoMore};
    let closed = "the response was cut short: breaks off: the connection was closed";
    let within = "the response was cut short: breaks off: in the middle of an answer";
    let none = "the response is malformed: gives answers that are none: not in Redis's protocol";
    let other =
        "the response is malformed: gives answers that are none: an answer to something else";
    let unknown = "the server answers, but not with a page: does not do what it is asked for: ResponseError: unknown command";
    let refused = "the server answers, but not with a page: refuses us: \\\"NOAUTH\\\": Authentication required.";
    let late = "no response in time: does not answer in time: no answer within 500ms";
    let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
    judge(
        "redis",
        &[
            ("", Closes, closed),
            ("$1", Closes, within),
            // Between two pieces of an answer its client cannot tell whether one had begun.
            ("$10\r\n", Closes, closed),
            ("$10\r\nhalf", Closes, within),
            ("$10\r\nhalf", SaysNoMore, late),
            ("$4\r\nhalf and more\r\n", SaysNoMore, none),
            ("$four\r\npage\r\n", SaysNoMore, none),
            ("page\r\n", SaysNoMore, none),
            ("+page\r\n", SaysNoMore, other),
            (":7\r\n", SaysNoMore, other),
            ("$-1\r\n", SaysNoMore, other),
            ("*1\r\n$4\r\npage\r\n", SaysNoMore, other),
            ("-ERR unknown command\r\n", SaysNoMore, unknown),
            ("-NOAUTH Authentication required.\r\n", SaysNoMore, refused),
            (wrong, SaysNoMore, "it is not a string"),
        ],
    );
}

/// The same of a memcached.
#[test]
fn a_value_of_memcached_that_is_cut_or_none_is_no_page() {
    use Then::{Closes, SaysNoMore};
    let closed = "the response was cut short: breaks off: {address}: the connection was closed";
    let within = "the response was cut short: breaks off: in the middle of an answer";
    let none =
        |what: &str| format!("the response is malformed: gives answers that are none: {what}");
    let room =
        "the server answers, but not with a page: does not do what it is asked for: out of memory";
    let late = "no response in time: does not answer in time: {address}: no answer within 437.5ms";
    judge(
        "memcached",
        &[
            ("", Closes, closed),
            ("VALUE /pa", Closes, within),
            ("VALUE /page 0 10\r\n", Closes, within),
            ("VALUE /page 0 10\r\nhalf", Closes, within),
            ("VALUE /page 0 4\r\npage\r\n", Closes, within),
            ("VALUE /page 0 10\r\nhalf", SaysNoMore, late),
            (
                "VALUE /page 0 4\r\nhalf and more\r\nEND\r\n",
                SaysNoMore,
                &none("a value longer than its size"),
            ),
            (
                "VALUE /page 0\r\npage\r\nEND\r\n",
                SaysNoMore,
                &none("a value without a size"),
            ),
            (
                "VALUE /other 0 4\r\npage\r\nEND\r\n",
                SaysNoMore,
                &none("a value that was not asked for"),
            ),
            (
                "STORED\r\n",
                SaysNoMore,
                &none("an answer to something else: STORED"),
            ),
            ("page\r\n", SaysNoMore, &none("page")),
            ("ERROR\r\n", SaysNoMore, &none("ERROR")),
            ("SERVER_ERROR out of memory\r\n", SaysNoMore, room),
            ("VALUE /page 0 9000000\r\n", SaysNoMore, "it is too large"),
        ],
    );
}
