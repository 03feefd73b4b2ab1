//! Content that is sent where none belongs, in a write of its own behind the head.

use crate::{
    peers::{self, Authority},
    support::*,
};
use http::Method;
use origin::{
    Context, Origin,
    config::{Address, Server, Tls},
};
use std::{path::PathBuf, sync::mpsc, thread};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::UnixListener,
};
use tokio_rustls::TlsAcceptor;

const POISON: &str = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison";

/// A connection, plain or not.
trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

/// Reads a head, and the content that comes with it.
async fn asked(stream: &mut dyn Stream) {
    let mut asked = Vec::new();
    while !asked.windows(4).any(|end| end == b"\r\n\r\n") {
        assert!(stream.read_buf(&mut asked).await.unwrap() > 0);
    }
}

async fn say(stream: &mut dyn Stream, bytes: &str) {
    stream.write_all(bytes.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
}

/// What passes between the server's thread and the test, which does not let the runtime look at its sockets meanwhile.
struct Gates {
    read: mpsc::Receiver<()>,
    said: mpsc::Sender<()>,
}

async fn accept(listener: &UnixListener, secure: Option<&TlsAcceptor>) -> Box<dyn Stream> {
    let (stream, _) = listener.accept().await.unwrap();
    match secure {
        Some(acceptor) => Box::new(acceptor.accept(stream).await.unwrap()),
        None => Box::new(stream),
    }
}

/// Answers with `head`, sends what does not belong there when that was read, and answers whoever makes another connection.
async fn serve(path: PathBuf, secure: Option<TlsAcceptor>, head: &str, gates: Gates) {
    let listener = UnixListener::bind(path).unwrap();
    gates.said.send(()).unwrap();
    let mut first = accept(&listener, secure.as_ref()).await;
    asked(&mut first).await;
    say(&mut first, head).await;
    gates.read.recv().unwrap();
    // After a HEAD nobody reads it.
    let _ = first.write_all(POISON.as_bytes()).await;
    let _ = first.flush().await;
    gates.said.send(()).unwrap();
    let mut second = accept(&listener, secure.as_ref()).await;
    asked(&mut second).await;
    say(
        &mut second,
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine",
    )
    .await;
}

/// Asks so, and again at once when something came behind the answer.
fn ask_twice(method: &Method, body: &'static str, head: &'static str, secure: Option<&Authority>) {
    // What is written to a Unix socket has arrived.
    let path = testkit::scratch_dir().join("origin.sock");
    let mut config = config([Server::new(Address::Unix(path.clone()))]);
    config.tls = secure.map(|authority| Tls {
        server_name: Some("site.example".to_owned()),
        authorities: Some(authority.file()),
        ..Tls::default()
    });
    let origin = Origin::new(config).unwrap();
    let acceptor = secure.map(|authority| peers::acceptor(authority, &[b"http/1.1"]));
    let ((read_it, read_gate), (said, was_said)) = (mpsc::channel(), mpsc::channel());
    let gates = Gates {
        read: read_gate,
        said,
    };
    let server = thread::spawn(move || work(serve(path, acceptor, head, gates)));
    was_said.recv().unwrap();
    work(async {
        let body = if body.is_empty() { empty() } else { full(body) };
        let first = request(method.clone(), "/", body);
        let first = origin.fetch(first, Context::default()).await.unwrap();
        assert_eq!(read(first).await.unwrap().text(), "");
        read_it.send(()).unwrap();
        was_said.recv().unwrap();
        assert_eq!(get(&origin, "/").await.unwrap().text(), "mine", "{head}");
    });
    server.join().unwrap();
}

/// It is no answer to the next request (RFC 9112 section 6.3), although the runtime has not seen it when that comes.
#[test]
fn what_comes_late_is_no_answer_to_the_next() {
    let authority = Authority::new(&["site.example"]);
    let heads = [
        (
            Method::HEAD,
            "HTTP/1.1 200 OK\r\nContent-Length: 48\r\n\r\n",
        ),
        (Method::HEAD, "HTTP/1.1 200 OK\r\n\r\n"),
        (Method::GET, "HTTP/1.1 304 Not Modified\r\n\r\n"),
        (Method::GET, "HTTP/1.1 204 No Content\r\n\r\n"),
    ];
    for secure in [None, Some(&authority)] {
        for (method, head) in &heads {
            ask_twice(method, "", head, secure);
        }
    }
}

/// A request with content goes out on a connection of hyper's, which the next may get.
#[test]
fn nor_is_it_behind_an_answer_to_content() {
    ask_twice(
        &Method::POST,
        "hello",
        "HTTP/1.1 304 Not Modified\r\n\r\n",
        None,
    );
}
