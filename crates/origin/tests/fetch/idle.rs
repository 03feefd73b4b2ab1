//! What servers do with a connection that nobody has asked anything on.

use crate::{
    peers::{self, Authority},
    support::*,
};
use bytes::Bytes;
use http::Method;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use origin::{
    Context, Origin,
    config::{Address, Server, Tls},
};
use std::{
    cell::Cell,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{self, Poll},
};
use testkit::Reply;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::UnixListener,
    task::yield_now,
};
use tokio_rustls::TlsAcceptor;

/// A connection, plain or not.
trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

/// Reads a request and answers it.
async fn turn(stream: &mut dyn Stream, body: &str) {
    let mut asked = Vec::new();
    while !asked.ends_with(b"\r\n\r\n") {
        assert!(stream.read_buf(&mut asked).await.unwrap() > 0);
    }
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{body}");
    stream.write_all(answer.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
}

/// A server's connections, with or without TLS, and the origin that they belong to.
struct Site {
    listener: UnixListener,
    acceptor: Option<TlsAcceptor>,
    origin: Arc<Origin>,
    repeatable: bool,
}

impl Site {
    fn new(secure: Option<&Authority>, repeatable: bool) -> Self {
        // What is written to a Unix socket has arrived.
        let path = testkit::scratch_dir().join("origin.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let mut config = config([Server::new(Address::Unix(path))]);
        config.tls = secure.map(|authority| Tls {
            server_name: Some("site.example".to_owned()),
            authorities: Some(authority.file()),
            ..Tls::default()
        });
        config.retry.attempts = 0;
        Self {
            listener,
            acceptor: secure.map(|authority| peers::acceptor(authority, &[b"http/1.1"])),
            origin: Origin::new(config).unwrap(),
            repeatable,
        }
    }

    async fn accept(&self) -> Box<dyn Stream> {
        let (stream, _) = self.listener.accept().await.unwrap();
        match &self.acceptor {
            Some(acceptor) => Box::new(acceptor.accept(stream).await.unwrap()),
            None => Box::new(stream),
        }
    }

    async fn ask(&self) -> String {
        let context = Context {
            repeatable: self.repeatable,
            ..Context::default()
        };
        let asked = request(Method::GET, "/", empty());
        let response = self.origin.fetch(asked, context).await.unwrap();
        read(response).await.unwrap().text().to_owned()
    }
}

/// Answers twice, says something `unasked` or nothing and closes, and answers on another connection.
async fn unasked(site: &Site, unasked: &str) {
    let (read, said) = (Cell::new(false), Cell::new(false));
    let server = async {
        let mut first = site.accept().await;
        turn(&mut first, "1").await;
        turn(&mut first, "2").await;
        until(|| read.get()).await;
        match unasked {
            "" => first.shutdown().await.unwrap(),
            bytes => first.write_all(bytes.as_bytes()).await.unwrap(),
        }
        first.flush().await.unwrap();
        said.set(true);
        turn(&mut site.accept().await, "3").await;
    };
    let client = async {
        assert_eq!(
            (site.ask().await, site.ask().await),
            ("1".into(), "2".into())
        );
        read.set(true);
        until(|| said.get()).await;
        // The runtime looks at its sockets.
        yield_now().await;
        yield_now().await;
        assert_eq!(site.ask().await, "3");
    };
    tokio::join!(server, client);
}

/// An answer that nobody asked for must not become that to the next request, whoever sends it; nor must a connection
/// that was closed fail it.
#[test]
fn what_comes_unasked_is_no_answer() {
    let authority = Authority::new(&["site.example"]);
    let poison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison";
    for secure in [None, Some(&authority)] {
        for bytes in [poison, ""] {
            for repeatable in [true, false] {
                work(async { unasked(&Site::new(secure, repeatable), bytes).await });
            }
        }
    }
}

/// A request with content is hyper's to send: it gets a connection that lies idle, and leaves it to the next.
#[test]
fn a_connection_serves_requests_of_all_kinds() {
    let server = testkit::Origin::start();
    server.on("/", |request| {
        Reply::ok().body(format!("{} {}", request.method, request.body.len()))
    });
    let origin = plain(&server);
    work(async {
        for (method, body, want) in [
            (Method::GET, empty(), "GET 0"),
            (Method::POST, full("hello"), "POST 5"),
            (Method::GET, empty(), "GET 0"),
            (Method::POST, empty(), "POST 0"),
            (Method::DELETE, empty(), "DELETE 0"),
            (Method::PUT, full("hi"), "PUT 2"),
        ] {
            let asked = request(method, "/", body);
            let response = origin.fetch(asked, Context::default()).await.unwrap();
            assert_eq!(read(response).await.unwrap().text(), want);
        }
    });
    assert_eq!(server.connections(), 1);
}

/// Content of unknown length, of which there is none in the end.
struct Empty(Arc<AtomicBool>);

impl Body for Empty {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut task::Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// What was said of the content must hold, or the next request's bytes are taken for it.
#[test]
fn content_that_ends_while_its_request_waits_harms_nobody() {
    let server = testkit::Origin::start();
    server.on("/", |request| Reply::ok().body(&request.method));
    let origin = plain(&server);
    work(async {
        once(&origin, Method::GET, "/").await.unwrap();
        let ended = Arc::new(AtomicBool::new(false));
        let body = Empty(Arc::clone(&ended)).boxed_unsync();
        let fetch = origin.fetch(request(Method::POST, "/", body), Context::default());
        // It waits for a connection once it has said how its content is framed.
        let (response, ()) = tokio::join!(fetch, async { ended.store(true, Relaxed) });
        assert_eq!(read(response.unwrap()).await.unwrap().text(), "POST");
        assert_eq!(once(&origin, Method::GET, "/").await.unwrap().text(), "GET");
    });
}

#[test]
fn large_content_comes_whole_however_it_is_framed() {
    let content: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let server = testkit::Origin::start();
    server.reply("/length", Reply::ok().body(&content));
    let mut chunked = Reply::ok().chunked();
    for piece in content.chunks(70_001) {
        chunked = chunked.body(piece);
    }
    server.reply("/chunked", chunked);
    server.reply("/close", Reply::ok().until_close().body(&content));
    let origin = plain(&server);
    work(async {
        for target in ["/length", "/chunked", "/length", "/close"] {
            let answer = get(&origin, target).await.unwrap();
            assert!(answer.body == content, "{target}: {}", answer.body.len());
        }
    });
    assert_eq!(server.connections(), 1, "all but the last leave it open");
}
