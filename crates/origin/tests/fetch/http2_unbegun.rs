//! What a server of HTTP/2 says that it has not begun with, and may be sent once more whatever it asks for (RFC 9113
//! section 8.7).

use crate::support::*;
use bytes::Bytes;
use http::{Method, Request};
use http_body::Frame;
use http_body_util::{BodyExt, Full};
use origin::{
    Context, Error, Kind, Origin, RequestBody,
    config::{Protocol, Server},
};
use std::{cell::RefCell, rc::Rc, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::spawn_local,
};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

const REFUSED_STREAM: u8 = 7;
const HTTP_1_1_REQUIRED: u8 = 13;

/// What a server does with a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Does {
    /// Sends its content back.
    Answers,
    Resets(u8),
    SaysNothing,
    /// Refuses it, and goes away.
    RefusesAndLeaves,
    /// Goes away in peace, without having begun with it, when all of it has come.
    Leaves,
    /// The same as soon as some of its content has come.
    LeavesEarly,
}

/// What came to a server: the connection's number, and the content.
pub(crate) type Came = Rc<RefCell<Vec<(usize, usize)>>>;

/// Does with each request what `plan` says of its connection's number and of how many came before.
async fn serve(listener: TcpListener, plan: fn(usize, usize) -> Does, came: Came) {
    for number in 1.. {
        let (stream, _) = listener.accept().await.unwrap();
        let came = Rc::clone(&came);
        spawn_local(connection(stream, number, plan, came));
    }
}

async fn connection(
    mut stream: TcpStream,
    number: usize,
    plan: fn(usize, usize) -> Does,
    came: Came,
) {
    stream.read_exact(&mut [0; 24]).await.unwrap();
    // A window for all content here, on each stream and on the connection.
    let settings = frame(SETTINGS, 0, 0, &[0, 4, 0, 8, 0, 0]);
    let window = frame(WINDOW_UPDATE, 0, 0, &[0, 8, 0, 0]);
    stream
        .write_all(&[settings, window].concat())
        .await
        .unwrap();
    let (mut head, mut content) = ([0; 9], Vec::new());
    while stream.read_exact(&mut head).await.is_ok() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).await.unwrap();
        let (kind, ends) = (head[3], head[4] & 1 == 1);
        if (kind, head[4]) == (SETTINGS, 0) {
            stream.write_all(&frame(SETTINGS, 1, 0, &[])).await.unwrap();
        }
        if ![DATA, HEADERS].contains(&kind) {
            continue;
        }
        if kind == DATA {
            content.extend(payload);
        }
        let id = u32::from_be_bytes(head[5..].try_into().unwrap());
        let does = plan(number, came.borrow().len());
        let is_early = matches!(does, Does::LeavesEarly) && kind == DATA;
        if !ends && !is_early {
            continue;
        }
        came.borrow_mut().push((number, content.len()));
        let answer = match does {
            // `:status: 200` (RFC 7541 appendix A).
            Does::Answers => {
                let mut answer = frame(HEADERS, 4, id, &[0x88]);
                for piece in content.chunks(16 * 1024) {
                    answer.extend(frame(DATA, 0, id, piece));
                }
                [answer, frame(DATA, 1, id, &[])].concat()
            }
            Does::Resets(reason) => frame(RST_STREAM, 0, id, &[0, 0, 0, reason]),
            Does::SaysNothing => continue,
            Does::RefusesAndLeaves => {
                let refusal = frame(RST_STREAM, 0, id, &[0, 0, 0, REFUSED_STREAM]);
                let last = [&id.to_be_bytes()[..], &[0; 4]].concat();
                [refusal, frame(GOAWAY, 0, 0, &last)].concat()
            }
            Does::Leaves | Does::LeavesEarly => frame(GOAWAY, 0, 0, &[0; 8]),
        };
        content.clear();
        stream.write_all(&answer).await.unwrap();
    }
}

pub(crate) async fn origin_that(plan: fn(usize, usize) -> Does) -> (Arc<Origin>, Came) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = config([tcp(listener.local_addr().unwrap())]);
    config.protocol = Protocol::Http2;
    config.retry.attempts = 0;
    let came = Came::default();
    spawn_local(serve(listener, plan, Rc::clone(&came)));
    (Origin::new(config).unwrap(), came)
}

fn post(body: RequestBody) -> Request<RequestBody> {
    request(Method::POST, "/", body)
}

async fn ask(origin: &Arc<Origin>, request: Request<RequestBody>) -> Result<Answer, Error> {
    read(origin.fetch(request, Context::default()).await?).await
}

#[test]
fn content_comes_again_to_another_connection() {
    for leaves in [
        (|number, _| [Does::Leaves, Does::Answers][number - 1]) as fn(usize, usize) -> Does,
        |number, _| [Does::LeavesEarly, Does::Answers][number - 1],
        |_, before| [Does::Resets(REFUSED_STREAM), Does::Answers][before],
    ] {
        work(async {
            let (origin, came) = origin_that(leaves).await;
            let answer = ask(&origin, post(full("content"))).await.unwrap();
            assert_eq!(answer.text(), "content");
            assert_eq!(came.borrow().len(), 2);
            assert_eq!(origin.report().servers[0].failures, 0);
        });
    }
}

/// What has not come yet follows what has.
#[test]
fn content_that_is_still_coming_goes_on_there() {
    work(async {
        let plan = |number, _| [Does::LeavesEarly, Does::Answers][number - 1];
        let (origin, came) = origin_that(plan).await;
        let (sender, body) = pieces_of(12);
        let client = async {
            sender.send("first").await.unwrap();
            until(|| came.borrow().len() == 1).await;
            sender.send(" second").await.unwrap();
            drop(sender);
        };
        let (answer, ()) = tokio::join!(ask(&origin, post(body)), client);
        assert_eq!(answer.unwrap().text(), "first second");
        assert_eq!(came.borrow()[..], [(1, 5), (2, 12)]);
    });
}

/// 64 KiB are kept. Whoever sends more is told.
#[test]
fn only_so_much_content_comes_again() {
    const MOST: usize = 64 * 1024;
    for (length, comes_again) in [(MOST, true), (MOST + 1, false)] {
        work(async {
            let plan = |number, _| [Does::Leaves, Does::Answers][number - 1];
            let (origin, came) = origin_that(plan).await;
            let content = Full::new(Bytes::from(vec![b'x'; length]));
            let content = content.map_err(|never| match never {}).boxed_unsync();
            let answer = ask(&origin, post(content)).await;
            assert_eq!(answer.is_ok(), comes_again, "{answer:?}");
            if let Ok(answer) = answer {
                assert_eq!(answer.body.len(), length);
            }
            assert_eq!(came.borrow().len(), 1 + usize::from(comes_again));
        });
    }
}

/// What is kept holds the room that was taken for it, and that is much if nobody knew how much comes.
#[test]
fn content_of_unknown_length_comes_once() {
    work(async {
        let (origin, came) = origin_that(|_, _| Does::Leaves).await;
        let (sender, body) = pieces();
        let client = async {
            sender.send("content").await.unwrap();
            drop(sender);
        };
        let (answer, ()) = tokio::join!(ask(&origin, post(body)), client);
        assert_eq!(kind(answer), Kind::Protocol);
        assert_eq!(came.borrow()[..], [(1, 7)]);
    });
}

/// It is let go when the server has all of it, however late the answer.
#[test]
fn content_that_is_not_kept_is_not_held_until_the_answer() {
    work(async {
        let (origin, came) = origin_that(|_, _| Does::SaysNothing).await;
        let held = Arc::new(());
        let watch = Arc::downgrade(&held);
        // The length of this is unknown.
        let body = Full::from("content").map_frame(move |frame: Frame<Bytes>| {
            let _ = &held;
            frame
        });
        let body = body.map_err(|never| match never {}).boxed_unsync();
        let asking = spawn_local(async move { ask(&origin, post(body)).await });
        until(|| came.borrow().len() == 1).await;
        until(|| watch.strong_count() == 0).await;
        assert!(!asking.is_finished());
        asking.abort();
    });
}

/// A server that had begun may have acted on it.
#[test]
fn content_comes_once_if_the_server_had_begun() {
    const INTERNAL_ERROR: u8 = 2;
    work(async {
        let (origin, came) = origin_that(|_, _| Does::Resets(INTERNAL_ERROR)).await;
        let failed = ask(&origin, post(full("content"))).await;
        assert_eq!(kind(failed), Kind::Protocol);
        assert_eq!(came.borrow().len(), 1);
    });
}

/// One that says no may say so again: another connection is asked, and no server is blamed.
#[test]
fn what_is_refused_goes_to_another_connection_once() {
    for method in [Method::GET, Method::POST] {
        work(async {
            let plan = |number, before| match (number, before) {
                (1, 1) => Does::Resets(REFUSED_STREAM),
                _ => Does::Answers,
            };
            let (origin, came) = origin_that(plan).await;
            for _ in 0..3 {
                once(&origin, method.clone(), "/").await.unwrap();
            }
            let connections: Vec<_> = came.borrow().iter().map(|came| came.0).collect();
            assert_eq!(connections, [1, 1, 2, 1]);
        });
        work(async {
            let (origin, came) = origin_that(|_, _| Does::Resets(REFUSED_STREAM)).await;
            let failed = once(&origin, method.clone(), "/").await;
            assert_eq!(kind(failed), Kind::StreamRefused);
            let connections: Vec<_> = came.borrow().iter().map(|came| came.0).collect();
            assert_eq!(connections, [1, 2]);
            assert_eq!(origin.report().servers[0].failures, 0);
        });
    }
}

/// A server that takes no other connection gets it on the same, if it takes more there. It is not blamed.
#[test]
fn what_is_refused_goes_to_the_same_connection_where_there_is_no_other() {
    let again: fn(usize, usize) -> Does = |_, before| match before {
        0 | 3 => Does::Resets(REFUSED_STREAM),
        _ => Does::Answers,
    };
    for method in [Method::GET, Method::POST] {
        for (plan, asked, failed) in [
            (again, 5, None),
            (
                |_, _| Does::Resets(REFUSED_STREAM),
                2,
                Some(Kind::StreamRefused),
            ),
            (|_, _| Does::RefusesAndLeaves, 1, Some(Kind::StreamRefused)),
        ] {
            work(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let mut config = config([tcp(listener.local_addr().unwrap())]);
                config.protocol = Protocol::Http2;
                let origin = Origin::new(config).unwrap();
                let came = Came::default();
                let arrivals = Rc::clone(&came);
                spawn_local(async move {
                    let (stream, _) = listener.accept().await.unwrap();
                    drop(listener);
                    connection(stream, 1, plan, arrivals).await;
                });
                let count = if failed.is_none() { 3 } else { 1 };
                for _ in 0..count {
                    let result = once(&origin, method.clone(), "/").await;
                    assert_eq!(result.err().map(|error| error.kind()), failed);
                }
                assert_eq!(came.borrow().len(), asked);
                assert_eq!(origin.report().servers[0].failures, 0);
            });
        }
    }
}

/// And then to another server.
#[test]
fn what_a_server_refuses_goes_to_another_server() {
    work(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let backup = Server {
            backup: true,
            ..tcp(other.local_addr().unwrap())
        };
        let mut config = config([tcp(listener.local_addr().unwrap()), backup]);
        config.protocol = Protocol::Http2;
        let (busy, came) = (Came::default(), Came::default());
        spawn_local(serve(
            listener,
            |_, _| Does::Resets(REFUSED_STREAM),
            Rc::clone(&busy),
        ));
        spawn_local(serve(other, |_, _| Does::Answers, Rc::clone(&came)));
        let origin = Origin::new(config).unwrap();
        let answer = ask(&origin, post(full("content"))).await.unwrap();
        assert_eq!(answer.text(), "content");
        assert_eq!((busy.borrow().len(), came.borrow().len()), (2, 1));
        assert_eq!(origin.report().servers[0].failures, 0);
    });
}

/// A server that is HTTP/2 by configuration has no HTTP/1.1 to fall back on.
#[test]
fn a_server_that_wants_http1_is_told_apart_in_words() {
    work(async {
        let (origin, came) = origin_that(|_, _| Does::Resets(HTTP_1_1_REQUIRED)).await;
        let failed = get(&origin, "/").await.unwrap_err();
        assert_eq!(failed.kind(), Kind::Protocol);
        assert!(failed.to_string().contains("requires HTTP/1.1"), "{failed}");
        assert_eq!(came.borrow().len(), 1);
    });
}
