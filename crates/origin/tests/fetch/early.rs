//! Servers that answer before they have read all of the request.

use crate::support::*;
use http::Method;
use http_body_util::BodyExt;
use origin::{Context, Kind, Origin};
use std::{pin::pin, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::yield_now,
};

/// Answers the first request with the beginning of a body.
async fn answer_early(listener: TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut asked = Vec::new();
    while !asked.windows(4).any(|end| end == b"\r\n\r\n") {
        stream.read_buf(&mut asked).await.unwrap();
    }
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
    stream.write_all(head).await.unwrap();
    stream
}

/// What becomes of the answer is then the client's doing.
#[test]
fn a_client_that_stops_behind_the_head_is_at_fault_itself() {
    for stalls in [false, true] {
        work(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut config = config([tcp(listener.local_addr().unwrap())]);
            config.timeouts.between_bytes = LONG;
            let origin = Origin::new(config).unwrap();
            let (sender, body) = pieces();
            sender.send("a").await.unwrap();
            let asked = request(Method::POST, "/", body);
            let asking = origin.fetch(asked, Context::default());
            let (response, _stream) = tokio::join!(asking, answer_early(listener));
            let mut body = response.unwrap().into_body();
            let first = body.frame().await.unwrap().unwrap();
            assert_eq!(first.into_data().unwrap(), "half");
            if stalls {
                tokio::time::pause();
                for _ in 0..3 {
                    tokio::select! {
                        biased;
                        ended = pin!(body.frame()) => panic!("{ended:?}"),
                        () = yield_now() => {}
                    }
                    tokio::time::advance(LONG + Duration::from_millis(1)).await;
                }
                tokio::time::resume();
            }
            sender.send("!").await.unwrap();
            let broke = body.frame().await.unwrap();
            assert_eq!(kind(broke), Kind::RequestBody);
            assert_eq!(origin.report().servers[0].failures, 0);
        });
    }
}
