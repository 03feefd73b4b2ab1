//! Content that comes over HTTP/2 in many small frames, as messages of gRPC and lines of a stream do.

use crate::{
    bad_origin_http2::{self, server},
    common::{sample, start},
    frames::{PREFACE, frame, last, literal, read_frame, request},
    memory::{deaf, resident},
};
use std::sync::atomic::Ordering::Relaxed;
use testkit::{Client, Larder, Reply};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;

/// `:status: 200` in HPACK's table (RFC 7541 appendix A).
const OK: u8 = 0x88;

/// As many as fit into a stream's window of 256 KiB.
const MANY: usize = 13_000;
const SIZE: usize = 20;

fn many(stream: u8) -> Vec<u8> {
    frame(DATA, stream, &[b'x'; SIZE]).repeat(MANY)
}

/// The head of an upload, and many small frames.
fn upload(stream: u8) -> Vec<u8> {
    let head = [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "a"),
        (":path", "/"),
    ];
    let head = frame(HEADERS, stream, &head.map(literal).concat());
    [head, many(stream)].concat()
}

/// A client that has sent the head of an upload and many small frames.
fn uploading(larder: &Larder) -> Client {
    let mut client = larder.client();
    client.send([PREFACE.as_bytes(), &frame(SETTINGS, 0, &[])].concat());
    next(&mut client, SETTINGS);
    // The window holds from here on. The flag that ends a stream elsewhere is an acknowledgement here.
    let begin = last(frame(SETTINGS, 0, &[]));
    client.send([begin, upload(1)].concat());
    client
}

/// The next frame of this kind, on whichever stream. None may be given up meanwhile.
fn next(client: &mut Client, wanted: u8) -> (u8, Vec<u8>) {
    loop {
        let (kind, stream, payload) = read_frame(client);
        assert!(!matches!(kind, 3 | 7), "{kind} on {stream}: {payload:?}");
        if kind == wanted {
            return (stream, payload);
        }
    }
}

#[test]
fn an_upload_in_many_small_frames_comes_whole() {
    let (origin, larder) = start();
    // Each another, with a large one here and there.
    let sizes = |number: usize| {
        if number.is_multiple_of(500) {
            1000
        } else {
            number % 19
        }
    };
    let pieces =
        (0..MANY / 3).map(move |number| format!("{number:.>width$};", width = sizes(number)));
    let whole = [
        vec![b'x'; MANY * SIZE],
        pieces.clone().collect::<String>().into(),
    ]
    .concat();
    origin.otherwise(move |request| {
        let is_whole = request.body == whole;
        Reply::ok().body(if is_whole { "whole" } else { "not whole" })
    });
    let mut client = uploading(&larder);
    // Until both windows, as they are at the beginning and are made wider, have room for the rest.
    let mut windows = [65_535, 256 << 10];
    while windows.iter().any(|window| *window < MANY * SIZE + 80_000) {
        let (stream, wider) = next(&mut client, WINDOW_UPDATE);
        let wider = wider.try_into().map(u32::from_be_bytes).expect("a window");
        windows[usize::from(stream)] += wider as usize;
    }
    for piece in pieces {
        let mut data = frame(DATA, 1, piece.as_bytes());
        data[1] = u8::try_from(piece.len() >> 8).expect("a length");
        client.send(data);
    }
    client.send(last(frame(DATA, 1, b"")));
    assert_eq!(next(&mut client, DATA).1, b"whole");
}

#[test]
fn small_frames_that_the_origin_does_not_take_are_kept_as_what_they_bring() {
    let (_connections, larder) = deaf();
    let before = resident(&larder);
    let mut clients: Vec<_> = (0..8).map(|_| uploading(&larder)).collect();
    for client in &mut clients {
        client.send(frame(PING, 0, &[0; 8]));
        next(client, PING);
    }
    let grown = resident(&larder).saturating_sub(before);
    let counted = sample(&larder, "larder_in_flight_bytes");
    assert!(grown < counted + (12 << 20), "{grown} of {counted} bytes");
}

/// RFC 9113 section 5.2: streams do not interfere with each other. Each may send as much as its own window has room for.
#[test]
fn content_that_waits_takes_no_room_from_other_streams() {
    let (_connections, larder) = deaf();
    let mut client = uploading(&larder);
    for stream in [3, 5, 7] {
        client.send(upload(stream));
    }
    client.send(frame(PING, 0, &[0; 8]));
    next(&mut client, PING);
}

/// A client of HTTP/2 without a window takes no content at all.
#[test]
fn small_frames_that_clients_do_not_take_disturb_no_other_answer() {
    let (address, honest) = server(|stream| {
        let fields = [(":status", "200"), ("cache-control", "no-store")];
        let head = fields.map(literal).concat();
        (
            [frame(HEADERS, stream, &head), many(stream)].concat(),
            false,
        )
    });
    let larder = bad_origin_http2::before(address, "1h");
    let before = resident(&larder);
    let mut client = larder.client();
    client.send([PREFACE.as_bytes(), &frame(SETTINGS, 0, &[0, 4, 0, 0, 0, 0])].concat());
    for number in 0..8 {
        client.send(request(2 * number + 1, &format!("/{number}")));
        next(&mut client, HEADERS);
    }
    honest.store(true, Relaxed);
    client.send(request(17, "/"));
    let (stream, head) = next(&mut client, HEADERS);
    assert_eq!((stream, head.first()), (17, Some(&OK)));
    let grown = resident(&larder).saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes more");
}
