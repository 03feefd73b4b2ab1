//! Origins over HTTP/2 that send what they should not: nothing of it is stored, and nobody takes it for whole.

use crate::{
    bad_origin::is_told,
    common::{Said, sample},
    frames::{PREFACE, frame, last, literal},
};
use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};
use testkit::{Command, Larder};

/// What a server sends on a stream, and whether it ends the connection then.
pub(crate) type Answer = fn(u8) -> (Vec<u8>, bool);

/// Kinds of frames (RFC 9113 section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

/// A head of these fields.
fn head(stream: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    let block: Vec<u8> = fields.iter().copied().flat_map(literal).collect();
    frame(HEADERS, stream, &block)
}

/// A head that may be stored, with one more field.
fn storable(stream: u8, more: (&str, &str)) -> Vec<u8> {
    let fields = [(":status", "200"), ("cache-control", "max-age=60"), more];
    head(stream, &fields)
}

fn data(stream: u8, content: &str) -> Vec<u8> {
    frame(DATA, stream, content.as_bytes())
}

/// A storable answer as a whole.
fn whole(stream: u8, more: (&str, &str), content: &str) -> (Vec<u8>, bool) {
    let content = last(data(stream, content));
    ([storable(stream, more), content].concat(), false)
}

/// A head of these fields, and content.
fn with_head(stream: u8, fields: &[(&str, &str)]) -> (Vec<u8>, bool) {
    let content = last(data(stream, "bad"));
    ([head(stream, fields), content].concat(), false)
}

/// A storable head and half of the content, then something else.
fn half(stream: u8, then: &[u8]) -> (Vec<u8>, bool) {
    let head = storable(stream, ("content-length", "10"));
    ([&head, &data(stream, "half"), then].concat(), false)
}

/// A server that answers each request thus, until it is told to be honest.
pub(crate) fn server(bad: Answer) -> (SocketAddr, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let honest = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&honest);
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let told = Arc::clone(&told);
            // Larder may end it at any point.
            thread::spawn(move || serve(connection, bad, &told));
        }
    });
    (address, honest)
}

fn serve(mut connection: TcpStream, bad: Answer, honest: &AtomicBool) -> std::io::Result<()> {
    connection.read_exact(&mut [0; PREFACE.len()])?;
    connection.write_all(&frame(SETTINGS, 0, &[]))?;
    // The flag that ends a stream elsewhere is an acknowledgement here.
    connection.write_all(&last(frame(SETTINGS, 0, &[])))?;
    loop {
        let mut start = [0; 9];
        connection.read_exact(&mut start)?;
        let [_, high, low, kind, _, _, _, _, stream] = start;
        let mut payload = vec![0; usize::from(high) << 8 | usize::from(low)];
        connection.read_exact(&mut payload)?;
        if kind != HEADERS {
            continue;
        }
        let (answer, ends) = if honest.load(Relaxed) {
            whole(stream, ("content-length", "6"), "honest")
        } else {
            bad(stream)
        };
        connection.write_all(&answer)?;
        if ends {
            return Ok(());
        }
    }
}

/// `between_bytes`: how long content may stop.
pub(crate) fn before(address: SocketAddr, between_bytes: &str) -> Larder {
    let origin = format!("servers = \"http://{address}\"\nprotocol = \"http2\"\n");
    let times = format!(
        "timeouts.between_bytes = \"{between_bytes}\"\nretry.attempts = 0\npassive.failures = 0\n"
    );
    Command::serve(env!("CARGO_BIN_EXE_larder"))
        .config(&format!("[[origin]]\n{origin}{times}"))
        .start()
}

/// The client is told, by a status or by an end too early, and what comes next is asked for anew.
fn nothing_is_kept(rows: &[(&str, Answer)]) {
    for (sentence, bad) in rows {
        let (address, honest) = server(*bad);
        let larder = before(address, "1m");
        let answer = larder.get("/").send();
        is_told(&answer, sentence);
        if answer.status == 502 {
            assert!(answer.parameter("detail").is_some(), "{sentence}");
        }
        honest.store(true, Relaxed);
        let after = larder.get("/").send();
        let told = (after.text(), after.hit());
        assert_eq!(told, ("honest".to_owned(), false), "{sentence}");
        assert!(larder.get("/").send().hit(), "{sentence}");
        assert_eq!(sample(&larder, "larder_panics_total"), 0, "{sentence}");
    }
}

#[test]
fn heads_that_are_none_become_502() {
    nothing_is_kept(&[
        ("9113 8.1: content without a head", |stream| {
            (last(data(stream, "bad")), false)
        }),
        ("9113 8.3.2: no status", |stream| {
            with_head(stream, &[("cache-control", "max-age=60")])
        }),
        ("9113 8.3: two statuses", |stream| {
            whole(stream, (":status", "200"), "bad")
        }),
        ("9110 15: a status of two digits", |stream| {
            with_head(
                stream,
                &[(":status", "20"), ("cache-control", "max-age=60")],
            )
        }),
        ("9110 15: a status of letters", |stream| {
            with_head(
                stream,
                &[(":status", "abc"), ("cache-control", "max-age=60")],
            )
        }),
        ("9113 8.3: a field before the status", |stream| {
            with_head(
                stream,
                &[("cache-control", "max-age=60"), (":status", "200")],
            )
        }),
        ("9113 8.3: a field of a request", |stream| {
            whole(stream, (":path", "/"), "bad")
        }),
        ("9113 8.2.1: an upper-case name", |stream| {
            whole(stream, ("X-Upper", "a"), "bad")
        }),
        ("9113 8.2.1: an end of line in a value", |stream| {
            whole(stream, ("x-split", "a\r\nset-cookie: b"), "bad")
        }),
        ("9113 8.2.1: a NUL in a value", |stream| {
            whole(stream, ("x-nul", "a\0b"), "bad")
        }),
        ("9113 8.2.2: a field of the connection", |stream| {
            whole(stream, ("connection", "close"), "bad")
        }),
        ("9113 8.2.2: a transfer coding", |stream| {
            whole(stream, ("transfer-encoding", "chunked"), "bad")
        }),
        ("9110 8.6: two lengths", |stream| {
            let fields = [
                (":status", "200"),
                ("cache-control", "max-age=60"),
                ("content-length", "3"),
                ("content-length", "4"),
            ];
            with_head(stream, &fields)
        }),
        ("9110 8.6: a length that is none", |stream| {
            whole(stream, ("content-length", "-3"), "bad")
        }),
        ("9113 8.6: a switch of protocols", |stream| {
            with_head(stream, &[(":status", "101")])
        }),
        ("9110 15.4.5: a 304 that nobody asked for", |stream| {
            (last(head(stream, &[(":status", "304")])), false)
        }),
        ("9113 4.3: a head that cannot be decoded", |stream| {
            (last(frame(HEADERS, stream, &[0xff, 0xff, 0x7f])), false)
        }),
        (
            "9113 6.10: the rest of a head that has not begun",
            |stream| {
                (
                    frame(CONTINUATION, stream, &literal((":status", "200"))),
                    false,
                )
            },
        ),
        ("9113 8.4: a push that was declined", |stream| {
            let promised = [&[0, 0, 0, 2], &literal((":status", "200"))[..]].concat();
            let mut push = frame(PUSH_PROMISE, stream, &promised);
            // END_HEADERS.
            push[4] = 4;
            (push, false)
        }),
        ("9113 6.4: reset at once", |stream| {
            (frame(RST_STREAM, stream, &[0, 0, 0, 2]), false)
        }),
        ("no HTTP/2", |_| {
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec(),
                false,
            )
        }),
        ("nothing", |_| (Vec::new(), true)),
    ]);
}

#[test]
fn half_an_answer_is_never_whole() {
    nothing_is_kept(&[
        ("9113 8.1.1: shorter than its length", |stream| {
            half(stream, &last(data(stream, "")))
        }),
        ("9113 8.1.1: longer than its length", |stream| {
            whole(stream, ("content-length", "2"), "bad")
        }),
        ("9113 6.4: reset", |stream| {
            half(stream, &frame(RST_STREAM, stream, &[0, 0, 0, 2]))
        }),
        ("9113 6.4: reset without a length", |stream| {
            let reset = frame(RST_STREAM, stream, &[0, 0, 0, 8]);
            let head = storable(stream, ("x-a", "b"));
            ([head, data(stream, "half"), reset].concat(), false)
        }),
        ("9113 5.4.1: the connection ends", |stream| {
            (half(stream, &[]).0, true)
        }),
        ("9113 6.8: it goes away", |stream| {
            let gone = frame(GOAWAY, 0, &[0, 0, 0, stream, 0, 0, 0, 0]);
            (half(stream, &gone).0, true)
        }),
        ("9113 6.1: more padding than there is", |stream| {
            let mut padded = frame(DATA, stream, &[200, b'b', b'a', b'd']);
            // PADDED and END_STREAM.
            padded[4] = 9;
            ([storable(stream, ("x-a", "b")), padded].concat(), false)
        }),
        ("9113 8.1: trailers that do not end the stream", |stream| {
            let trailers = head(stream, &[("x-trailer", "a")]);
            half(stream, &trailers)
        }),
        ("9113 8.1: trailers with a status", |stream| {
            half(stream, &last(head(stream, &[(":status", "200")])))
        }),
        ("9113 4.2: a frame larger than is taken", |stream| {
            half(stream, &[0xff, 0xff, 0xff, DATA, 0, 0, 0, 0, stream])
        }),
        ("9113 6.5: settings that are none", |stream| {
            half(stream, &frame(SETTINGS, 0, &[1, 2, 3]))
        }),
    ]);
}

/// Nothing comes after the head: the time limit ends it (`between_bytes`).
#[test]
fn content_that_stops_coming_is_cut() {
    let (address, honest) = server(|stream| half(stream, &[]));
    let larder = before(address, "1s");
    let answer = larder.get("/").send();
    assert!(
        answer.status >= 500 || !answer.complete,
        "{:?}",
        answer.head
    );
    honest.store(true, Relaxed);
    assert_eq!(larder.get("/").send().text(), "honest");
}
