//! One exchange over a pair of sockets, read by the engine that the test names.

use super::super::Link;
use crate::{
    Context, Kind, OriginConfig, RequestBody, Servers,
    config::{Address, Server},
    link::{Http1, alarm},
    pool::{self, Key, Single},
    stream::{Secured, Stream, Wire},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header::CONNECTION};
use http_body::Frame;
use http_body_util::{BodyExt, Empty};
use std::{
    cell::Cell,
    io::Write as _,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    runtime::Runtime,
    task::{LocalSet, yield_now},
    time::Instant,
};

/// The engine that reads an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    Ours,
    Hyper,
}

/// What is read of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) head: Result<(StatusCode, HeaderMap), Kind>,
    /// How much content came, and how it ended.
    content: Bytes,
    pub(super) broke: Option<Kind>,
    /// Whether the connection is used again.
    pub(super) kept: bool,
    /// What the server received.
    asked: String,
}

/// An answer as the server sends it.
pub(super) struct Script<'a> {
    pub(super) method: Method,
    pub(super) bytes: &'a [u8],
    /// The server waits here until the bytes before were read.
    pub(super) cut: usize,
    /// Whether the server closes the connection in the end.
    pub(super) closes: bool,
}

pub(super) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

pub(super) fn read(runtime: &Runtime, reader: Reader, script: &Script<'_>) -> Read {
    LocalSet::new().block_on(runtime, exchanged(reader, script))
}

/// Whether an idle connection is taken: first as it is, and then when something has come that the runtime has not
/// looked for.
pub(super) fn taken_up(runtime: &Runtime, reader: Reader) -> [bool; 2] {
    LocalSet::new().block_on(runtime, async {
        let origin = origin();
        let key = || Key {
            origin: &origin.identity,
            peer: 0,
        };
        let (near, mut far) = std::os::unix::net::UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let near = UnixStream::from_std(near).unwrap();
        let stream = Stream::new(Secured::Plain(Wire::Unix(near)));
        let link = idle(reader, &origin, stream).await;
        pool::put(key(), link, Instant::now());
        let quiet = pool::take(key(), Instant::now(), Duration::MAX);
        let taken = quiet.is_some();
        pool::put(key(), quiet.unwrap(), Instant::now());
        // Nothing is awaited from here on.
        far.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
            .unwrap();
        [
            taken,
            pool::take(key(), Instant::now(), Duration::MAX).is_some(),
        ]
    })
}

fn origin() -> Arc<Servers> {
    // Nobody listens there: the connection at hand is the only one.
    let config = OriginConfig {
        servers: vec![Server::new(Address::Unix("/nowhere".into()))],
        ..OriginConfig::default()
    };
    Servers::new(config).unwrap()
}

async fn exchanged(reader: Reader, script: &Script<'_>) -> Read {
    let origin = origin();
    let (near, far) = UnixStream::pair().unwrap();
    let stream = Stream::new(Secured::Plain(Wire::Unix(near)));
    let received = stream.heard();
    let link = idle(reader, &origin, stream).await;
    let key = || Key {
        origin: &origin.identity,
        peer: 0,
    };
    pool::put(key(), link, Instant::now());
    let done = Cell::new(false);
    let serving = async {
        let mut far = far;
        let mut asked = Vec::new();
        while !asked.ends_with(b"\r\n\r\n") {
            far.read_buf(&mut asked).await.unwrap();
        }
        let (first, second) = script.bytes.split_at(script.cut);
        // A reader that has seen enough does not read on.
        let _ = far.write_all(first).await;
        while received.load(Relaxed) < script.cut as u64 && !done.get() {
            yield_now().await;
        }
        let _ = far.write_all(second).await;
        (
            String::from_utf8(asked).unwrap(),
            (!script.closes).then_some(far),
        )
    };
    let asking = async {
        let read = asked(&origin, script.method.clone()).await;
        done.set(true);
        read
    };
    let ((head, content, broke), (asked, far)) = tokio::join!(asking, serving);
    for _ in 0..3 {
        // hyper looks at the connection once more.
        yield_now().await;
    }
    let kept = far.is_some() && pool::take(key(), Instant::now(), Duration::MAX).is_some();
    Read {
        head,
        content,
        broke,
        kept,
        asked,
    }
}

/// Makes a connection that waits for a request.
async fn idle(reader: Reader, origin: &Servers, stream: Stream) -> Single {
    let link = Link {
        stream,
        alarm: alarm(Instant::now() + Duration::from_mins(1)),
        reused: false,
    };
    match reader {
        Reader::Ours => Single::Direct(link),
        Reader::Hyper => {
            let link = Http1::over(origin, link).await.unwrap();
            while !link.may_rest() {
                yield_now().await;
            }
            Single::Http1(link)
        }
    }
}

type Answered = (Result<(StatusCode, HeaderMap), Kind>, Bytes, Option<Kind>);

fn is_of_the_connection(line: &HeaderValue) -> bool {
    let mut words = [&b"keep-alive"[..], b"close"].into_iter();
    words.any(|word| line.as_bytes().eq_ignore_ascii_case(word))
}

async fn asked(origin: &Arc<Servers>, method: Method) -> Answered {
    let none: RequestBody = Empty::new().map_err(|never| match never {}).boxed_unsync();
    let request = Request::builder()
        .method(method)
        .uri("/a?b")
        .header("Host", "site.example")
        .header("X-A", "1")
        .header("X-A", "2");
    let request = request.body(none).unwrap();
    let response = match origin
        .fetch(request, Context::default(), Instant::now())
        .await
    {
        Ok(response) => response,
        Err(error) => return (Err(error.kind()), Bytes::new(), None),
    };
    let (mut parts, mut body) = response.into_parts();
    // hyper also passes on what concerns only the connection.
    let lines = parts.headers.get_all(CONNECTION).iter().cloned();
    let lines: Vec<_> = lines.filter(|line| !is_of_the_connection(line)).collect();
    parts.headers.remove(CONNECTION);
    for line in lines {
        parts.headers.append(CONNECTION, line);
    }
    let (mut content, mut broke) = (Vec::new(), None);
    while let Some(frame) = body.frame().await {
        match frame.map(Frame::into_data) {
            Ok(Ok(data)) => content.extend_from_slice(&data),
            // Trailers, which nobody uses.
            Ok(Err(_)) => {}
            Err(error) => broke = Some(error.kind()),
        }
    }
    (Ok((parts.status, parts.headers)), content.into(), broke)
}
