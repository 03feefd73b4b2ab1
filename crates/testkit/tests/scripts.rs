//! The origin and the client, tested on each other.

use std::thread;
use testkit::{Client, Gate, Origin, Reply, wait_until};

fn client(origin: &Origin) -> Client {
    Client::connect(origin.address())
}

#[test]
fn requests_are_recorded_as_they_came() {
    let origin = Origin::start();
    origin.reply("/a", Reply::ok().body("x"));
    let mut client = client(&origin);
    client
        .ask("PATCH", "/a?b=%7e")
        .header("X-B", "1")
        .header("x-a", " 2 ")
        .body("content")
        .send();
    let request = origin.last("/a");
    assert_eq!(
        (request.method.as_str(), request.target.as_str()),
        ("PATCH", "/a?b=%7e")
    );
    let names: Vec<&str> = request
        .head
        .fields
        .iter()
        .map(|field| field.0.as_str())
        .collect();
    assert_eq!(names, ["Host", "X-B", "x-a", "Content-Length"]);
    assert_eq!(request.header("X-A"), Some("2"));
    assert_eq!(request.body, b"content");
    assert_eq!(
        (request.nth, request.connection, origin.requests("/a")),
        (1, 1, 1)
    );
}

#[test]
fn connections_are_kept_and_paths_are_counted_apart() {
    let origin = Origin::start();
    origin.otherwise(|request| Reply::ok().body(format!("{} {}", request.target, request.nth)));
    let mut client = client(&origin);
    for (target, expected) in [("/a", "/a 1"), ("/b", "/b 1"), ("/a?q", "/a?q 2")] {
        assert_eq!(client.get(target).send().text(), expected);
    }
    assert_eq!(origin.connections(), 1);
}

#[test]
fn every_framing_is_read() {
    let origin = Origin::start();
    origin.reply("/length", Reply::ok().body("one").body("two"));
    origin.reply(
        "/chunked",
        Reply::ok()
            .body("one")
            .body("two")
            .chunked()
            .trailer("X-End", "yes"),
    );
    origin.reply("/close", Reply::ok().body("one").body("two").until_close());
    origin.reply("/none", Reply::status(204));
    let mut client = client(&origin);
    let head = client.ask("HEAD", "/length").send();
    assert_eq!(
        (head.header("content-length"), head.body.len()),
        (Some("6"), 0)
    );
    assert_eq!(client.get("/none").send().status, 204);
    assert_eq!(client.get("/length").send().text(), "onetwo");
    let chunked = client.get("/chunked").send();
    assert_eq!(chunked.text(), "onetwo");
    assert_eq!(chunked.trailers, [("X-End".to_owned(), "yes".to_owned())]);
    let close = client.get("/close").send();
    assert!(close.complete);
    assert_eq!(close.text(), "onetwo");
}

#[test]
fn what_is_cut_is_not_complete() {
    let origin = Origin::start();
    origin.reply("/cut", Reply::ok().length(10).body("half").cut());
    origin.reply("/chunked", Reply::ok().chunked().body("half").cut());
    origin.reply("/nothing", Reply::close());
    for path in ["/cut", "/chunked"] {
        let response = client(&origin).get(path).send();
        assert_eq!(
            (response.text().as_str(), response.complete),
            ("half", false),
            "{path}"
        );
    }
    assert!(
        client(&origin)
            .get("/nothing")
            .begin()
            .try_read_head()
            .is_none()
    );
}

#[test]
fn gates_hold_before_the_head_and_within_the_body() {
    let origin = Origin::start();
    let (head, body) = (Gate::new(), Gate::new());
    let reply = Reply::ok()
        .interim(103, &[("Link", "</a>")])
        .hold_head(&head);
    origin.reply("/", reply.length(6).body("one").hold(&body).body("two"));
    let mut client = client(&origin);
    client.get("/").begin();
    assert_eq!(client.read_interim().header("link"), Some("</a>"));
    head.wait_reached();
    head.open();
    let mut response = client.read_head();
    client.read_body_exactly(&mut response, 3);
    assert_eq!(response.text(), "one");
    body.wait_reached();
    body.open();
    client.read_content(&mut response);
    assert_eq!(
        (response.text().as_str(), response.complete),
        ("onetwo", true)
    );
}

#[test]
fn a_client_that_leaves_is_noticed() {
    let origin = Origin::start();
    origin.reply(
        "/waits",
        Reply::ok().length(10).body("some").until_client_leaves(),
    );
    origin.reply("/endless", Reply::ok().chunked().endless([b'x'; 1000]));
    for path in ["/waits", "/endless"] {
        let mut client = client(&origin);
        client.get(path).begin();
        client.read_head();
        drop(client);
        wait_until("the origin noticed", || origin.abandoned(path) == 1);
    }
}

#[test]
fn a_stopped_origin_refuses_and_comes_back_on_its_port() {
    let origin = Origin::start();
    origin.reply("/", Reply::ok());
    let mut before = client(&origin);
    assert_eq!(before.get("/").send().status, 200);
    origin.stop();
    assert_eq!(before.read_to_end(), b"");
    let refused = std::net::TcpStream::connect(origin.address()).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    origin.start_again();
    assert_eq!(client(&origin).get("/").send().status, 200);
    assert_eq!(origin.requests("/"), 2);
}

#[test]
fn an_upgraded_connection_echoes() {
    let origin = Origin::start();
    origin.reply("/ws", Reply::upgrade("websocket"));
    let mut client = client(&origin);
    client.get("/ws").begin();
    assert_eq!(client.read_head().status, 101);
    client.send("ping");
    assert_eq!(client.read_bytes(4), b"ping");
}

#[test]
fn a_unix_socket_works_the_same() {
    let path = testkit::scratch_dir().join("socket");
    let origin = Origin::start_unix(&path);
    origin.reply("/", Reply::ok().body("here"));
    assert_eq!(
        Client::connect(path.as_path()).get("/").send().text(),
        "here"
    );
}

#[test]
fn content_is_counted_while_it_comes() {
    let origin = Origin::start();
    origin.reply("/", Reply::ok());
    let mut client = client(&origin);
    client.send("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nab");
    wait_until("two bytes came", || origin.received("/") == 2);
    assert_eq!(origin.requests("/"), 0);
    client.send("cd");
    assert_eq!(client.read().status, 200);
    assert_eq!(origin.last("/").body, b"abcd");
}

#[test]
fn many_clients_are_served_at_once() {
    let origin = Origin::start();
    let gate = Gate::new();
    origin.reply("/", Reply::ok().hold_head(&gate).body("x"));
    let address = origin.address();
    let ask = move || Client::connect(address).get("/").send().status;
    let threads: Vec<_> = (0..4).map(|_| thread::spawn(ask)).collect();
    gate.wait_reached_by(4);
    gate.open();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 200);
    }
}
