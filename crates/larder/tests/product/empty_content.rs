//! Requests over HTTP/2 whose content ends behind their head: empty content is none, whatever frame says so (RFC 9113
//! section 8.1).

use super::frames::{PREFACE, frame, head, head_with, last, read_frame};
use crate::common::start;
use testkit::{Client, Larder, Reply, Request};

fn connected(larder: &Larder) -> Client {
    let mut client = larder.client();
    client.send(PREFACE);
    client.send(frame(4, 0, &[]));
    client
}

/// Sends a `GET` with these frames behind its head, all at once, and reads the content of the answer.
fn ask(client: &mut Client, stream: u8, path: &str, data: &[Vec<u8>]) -> String {
    client.send([head(stream, path), data.concat()].concat());
    answered(client, stream)
}

/// Reads the content of the answer.
fn answered(client: &mut Client, stream: u8) -> String {
    loop {
        match read_frame(client) {
            (0, of, content) if of == stream && !content.is_empty() => {
                return String::from_utf8(content).expect("text");
            }
            (3 | 7, ..) => panic!("stream {stream} was given up"),
            _ => {}
        }
    }
}

fn echo(request: &Request) -> Reply {
    Reply::ok()
        .cache("max-age=60")
        .body([b"got ", request.body.as_slice()].concat())
}

#[test]
fn a_get_that_ends_with_an_empty_frame_is_answered_from_the_store() {
    let (origin, larder) = start();
    origin.on("/page", echo);
    let mut client = connected(&larder);
    let empty = [last(frame(0, 1, b""))];
    assert_eq!(ask(&mut client, 1, "/page", &empty), "got ");
    let empty = [frame(0, 3, b""), last(frame(0, 3, b""))];
    assert_eq!(ask(&mut client, 3, "/page", &empty), "got ");
    let empty = [last(frame(0, 5, b""))];
    assert_eq!(ask(&mut client, 5, "/page", &empty), "got ");
    assert_eq!(
        origin.requests("/page"),
        1,
        "9111 section 4: it may be reused"
    );
}

/// RFC 9113 section 8.1.1: nothing can follow, whether or not the last frame has come.
#[test]
fn a_get_that_announces_no_content_is_answered_from_the_store() {
    let (origin, larder) = start();
    origin.on("/page", echo);
    let mut client = connected(&larder);
    let nothing = [("content-length", "0")];
    for stream in [1, 3] {
        let end = last(frame(0, stream, b""));
        client.send([head_with(stream, "/page", &nothing), end].concat());
        assert_eq!(answered(&mut client, stream), "got ");
    }
    client.send(head_with(5, "/page", &nothing));
    assert_eq!(answered(&mut client, 5), "got ");
    client.send(last(frame(0, 5, b"")));
    client.send(last(head_with(7, "/page", &nothing)));
    assert_eq!(answered(&mut client, 7), "got ");
    assert_eq!(
        origin.requests("/page"),
        1,
        "9111 section 4: it may be reused"
    );
}

/// What a `GET` brings goes to the origin, whole, and its answer to its client alone.
#[test]
fn content_of_a_get_is_content_however_it_is_framed() {
    let (origin, larder) = start();
    origin.on("/page", echo);
    let mut client = connected(&larder);
    for (stream, data) in [
        (1, vec![last(frame(0, 1, b"mine"))]),
        (3, vec![frame(0, 3, b""), last(frame(0, 3, b"mine"))]),
        (5, vec![frame(0, 5, b"mi"), last(frame(0, 5, b"ne"))]),
        (7, vec![frame(0, 7, b"mine"), last(frame(0, 7, b""))]),
    ] {
        assert_eq!(ask(&mut client, stream, "/page", &data), "got mine");
    }
    assert_eq!(
        ask(&mut client, 9, "/page", &[last(frame(0, 9, b""))]),
        "got "
    );
    assert_eq!(origin.requests("/page"), 5);
}
