//! `Expect: 100-continue`: whether content comes is the application's to say (RFC 9110 section 10.1.1).

use crate::{
    common::{raw_head, start, start_with},
    frames::{PREFACE, frame, last, literal, read_frame},
};
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread::{self, JoinHandle},
};
use testkit::{Client, Larder, Origin, Reply};

const HEAD: &str =
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n";

/// An application of one connection, which is `played`, and Larder before it.
fn before<T: Send + 'static>(
    played: impl FnOnce(TcpStream, String) -> T + Send + 'static,
) -> (JoinHandle<T>, (Origin, Larder)) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let application = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let head = raw_head(&mut stream).expect("a head");
        played(stream, head.to_ascii_lowercase())
    });
    let servers = format!("[[origin]]\nservers = \"http://{address}\"\n");
    (application, start_with(&servers))
}

/// Says that the content may come, reads it, and answers.
fn content_after_leave(mut stream: TcpStream) -> [u8; 4] {
    let leave = "HTTP/1.1 100 Continue\r\n\r\n";
    stream.write_all(leave.as_bytes()).expect("open");
    let mut content = [0; 4];
    stream.read_exact(&mut content).expect("content");
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone";
    stream.write_all(answer.as_bytes()).expect("open");
    content
}

fn asked(larder: &Larder) -> Client {
    let mut client = larder.client();
    client.send(HEAD);
    client
}

/// The head of the same request over HTTP/2.
fn head_over_http2() -> Vec<u8> {
    let block = [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "a"),
        (":path", "/"),
        ("content-length", "4"),
        ("expect", "100-continue"),
    ];
    let head = frame(1, 1, &block.map(literal).concat());
    [PREFACE.as_bytes(), &frame(4, 0, &[]), &head].concat()
}

/// The next head on the first stream.
fn read_head(client: &mut Client) -> Vec<u8> {
    loop {
        if let (1, 1, head) = read_frame(client) {
            return head;
        }
    }
}

#[test]
fn over_http2_it_is_the_applications_to_answer_too() {
    let (application, (_origin, larder)) =
        before(|stream, head| (head, content_after_leave(stream)));
    let mut client = larder.client();
    client.send(head_over_http2());
    read_head(&mut client);
    client.send(last(frame(0, 1, b"body")));
    // RFC 7541 section 6.1 and appendix A: 200, indexed, is number 8.
    assert_eq!(read_head(&mut client)[0], 0x88);
    let (head, content) = application.join().expect("it ended");
    assert!(head.contains("expect: 100-continue\r\n"), "{head}");
    assert_eq!(content, *b"body");
}

#[test]
fn over_http2_a_client_that_does_not_wait_is_not_told_to_go_on() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().cache("no-store").body("answer"));
    let url = format!("{}/", larder.listeners()[0]);
    for (expected, goes_on) in [("100-Continue", true), ("something", false)] {
        let mut curl = std::process::Command::new("curl");
        curl.args(["-sSi", "--max-time", "20", "--http2-prior-knowledge"]);
        curl.args(["-H", &format!("Expect: {expected}"), "--data", "content"]);
        let answer = curl.arg(&url).output().expect("curl runs");
        let answer = String::from_utf8_lossy(&answer.stdout);
        assert!(answer.ends_with("answer"), "{answer}");
        assert_eq!(answer.contains("HTTP/2 100"), goes_on, "{answer}");
    }
}

#[test]
fn an_application_refuses_content_before_it_is_sent() {
    let (application, (_origin, larder)) = before(|mut stream, head| {
        let refusal = "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno";
        stream.write_all(refusal.as_bytes()).expect("open");
        head
    });
    let mut client = asked(&larder);
    // What comes first is the final answer: nobody has told the client to go on.
    let answer = client.read_head();
    assert_eq!(answer.status, 417, "{}", answer.head.start);
    // Whether its content comes all the same is not known.
    assert_eq!(answer.header("connection"), Some("close"));
    let head = application.join().expect("it ended");
    assert!(head.contains("expect: 100-continue\r\n"), "{head}");
}

#[test]
fn a_client_goes_on_when_the_application_says_so() {
    let (application, (_origin, larder)) = before(|stream, _| content_after_leave(stream));
    let mut client = asked(&larder);
    let interim = client.read_interim();
    assert!(interim.start.contains(" 100"), "{}", interim.start);
    client.send("body");
    let answer = client.read();
    assert_eq!(
        (answer.text().as_str(), answer.header("connection")),
        ("done", None)
    );
    assert_eq!(application.join().expect("it ended"), *b"body");
}

#[test]
fn an_application_that_knows_no_expectation_gets_the_content_all_the_same() {
    let (application, (_origin, larder)) = before(|mut stream, _| {
        let mut content = [0; 4];
        stream.read_exact(&mut content).expect("content");
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone";
        stream.write_all(answer.as_bytes()).expect("open");
        content
    });
    let mut client = asked(&larder);
    client.read_interim();
    client.send("body");
    assert_eq!(client.read().text(), "done");
    assert_eq!(application.join().expect("it ended"), *b"body");
}

/// RFC 9110 section 10.1.1: whoever has content need not say that it may come.
#[test]
fn content_that_comes_with_its_head_waits_for_nobody() {
    let over_http2 = [head_over_http2(), last(frame(0, 1, b"body"))];
    let over_http1 = format!("{HEAD}body").into_bytes();
    for request in [over_http1, over_http2.concat()] {
        let (application, (_origin, larder)) = before(|mut stream, head| {
            let mut content = [0; 4];
            stream.read_exact(&mut content).expect("content");
            (head, content)
        });
        let mut client = larder.client();
        client.send(request);
        let (head, content) = application.join().expect("it ended");
        assert!(!head.contains("expect"), "{head}");
        assert_eq!(content, *b"body");
    }
}

#[test]
fn a_head_without_content_expects_nothing() {
    let (origin, larder) = start();
    origin.reply("/", Reply::ok().body("done"));
    let answer = larder.get("/").header("Expect", "100-continue").send();
    assert_eq!(answer.text(), "done");
    assert_eq!(origin.last("/").header("expect"), None);
}
