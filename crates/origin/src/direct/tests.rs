//! The same bytes to us and to hyper, cut anywhere: the same is made of them, and what we believe hyper believes too.

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
use proptest::prelude::*;
use std::{
    cell::Cell,
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

/// Who reads an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Ours,
    Hyper,
}

/// What comes of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Read {
    head: Result<(StatusCode, HeaderMap), Kind>,
    /// What came of the content, and how it ended.
    content: Bytes,
    broke: Option<Kind>,
    /// The connection is used again.
    kept: bool,
    /// What the server was asked.
    asked: String,
}

/// An answer, as the server sends it.
struct Script<'a> {
    method: Method,
    bytes: &'a [u8],
    /// It waits here until what came before was read.
    cut: usize,
    /// It closes the connection in the end.
    closes: bool,
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn read(runtime: &Runtime, reader: Reader, script: &Script<'_>) -> Read {
    LocalSet::new().block_on(runtime, exchanged(reader, script))
}

async fn exchanged(reader: Reader, script: &Script<'_>) -> Read {
    // Nobody listens there: the connection at hand is the only one.
    let config = OriginConfig {
        servers: vec![Server::new(Address::Unix("/nowhere".into()))],
        ..OriginConfig::default()
    };
    let origin = Servers::new(config).unwrap();
    let (near, far) = UnixStream::pair().unwrap();
    let stream = Stream::new(Secured::Plain(Wire::Unix(near)));
    let received = stream.heard();
    let link = idle(reader, &origin, stream).await;
    let key = || Key {
        origin: &origin.identity,
        server: 0,
        epoch: 0,
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
        // Whoever has seen enough does not read on.
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
    let kept = far.is_some() && pool::take(key(), Instant::now()).is_some();
    Read {
        head,
        content,
        broke,
        kept,
        asked,
    }
}

/// A connection that waits for a request.
async fn idle(reader: Reader, origin: &Servers, stream: Stream) -> Single {
    let link = super::Link {
        stream,
        alarm: alarm(Instant::now() + Duration::from_mins(1)),
        epoch: 0,
        reused: false,
    };
    match reader {
        Reader::Ours => Single::Direct(link),
        Reader::Hyper => {
            let link = Http1::over(origin, link).await.unwrap();
            while !link.is_ready() {
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
    // hyper hands on what is said of the connection alone, too.
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

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Answers that are well formed, or broken in a way that both see; and whether the server closes the connection.
fn answers() -> Vec<(String, bool)> {
    let open = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1\r\nx-a: 2\r\n\r\nhello",
        "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
        "\r\nHTTP/1.1 200 OK\nContent-Length: 2\n\nok",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA : b\r\nContent-Length : 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nA b: c\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
    ];
    let chunks = [
        "5\r\nhello\r\n0\r\n\r\n",
        "1;a=b\r\nh\r\n4\r\nello\r\n0\r\nX-T: 1\r\n\r\n",
        "5\r\nhello\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "3\r\nhello\r\n0\r\n\r\n",
        "x\r\nhello\r\n0\r\n\r\n",
        "2\r\nok\r\nfffffffffffffffff\r\n",
    ];
    let closed = [
        "",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\n\r\nuntil it closes",
        "HTTP/1.0 200 OK\r\n\r\nuntil it closes",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ];
    let open = open.map(str::to_owned).into_iter();
    let chunks = chunks.map(|chunks| CHUNKED.to_owned() + chunks);
    let open = open.chain(chunks).map(|text| (text, false));
    let closed = closed.map(|text| (text.to_owned(), true));
    open.chain(closed).collect()
}

#[test]
fn both_read_the_same_wherever_it_is_cut() {
    let runtime = runtime();
    for (text, closes) in answers() {
        for method in [Method::GET, Method::HEAD] {
            // Content that nobody waits for: whether it is seen before the connection is put back is a matter of when it comes.
            if method == Method::HEAD && !text.ends_with("\r\n\r\n") && !closes {
                continue;
            }
            let mut whole = None;
            for cut in (0..=text.len()).rev() {
                let script = Script {
                    method: method.clone(),
                    bytes: text.as_bytes(),
                    cut,
                    closes,
                };
                let [ours, hypers] =
                    [Reader::Ours, Reader::Hyper].map(|reader| read(&runtime, reader, &script));
                assert_eq!(ours, hypers, "{method}, cut at {cut}: {text:?}");
                let whole = whole.get_or_insert_with(|| ours.clone());
                assert_eq!(ours, *whole, "{method}, cut at {cut}: {text:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn of_what_is_damaged_we_believe_no_more_than_hyper(
        which in any::<proptest::sample::Index>(),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), prop_oneof![any::<u8>(), proptest::sample::select(&b"\r\n\t :;,0159af"[..])]), 1..4),
        cut in any::<proptest::sample::Index>(),
        is_head in proptest::bool::weighted(0.1),
    ) {
        let answers = answers();
        let mut bytes = which.get(&answers).0.clone().into_bytes();
        for (at, byte) in damage {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        let script = Script {
            method: if is_head { Method::HEAD } else { Method::GET },
            bytes: &bytes,
            cut: cut.index(bytes.len() + 1),
            closes: true,
        };
        let runtime = runtime();
        let ours = read(&runtime, Reader::Ours, &script);
        let hypers = read(&runtime, Reader::Hyper, &script);
        match (&ours.head, ours.broke) {
            (Ok(_), None) => prop_assert_eq!(&ours, &hypers),
            (Ok(_), Some(_)) => prop_assert_eq!(&ours.head, &hypers.head),
            (Err(_), _) => {}
        }
    }
}
