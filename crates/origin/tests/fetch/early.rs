//! Servers that answer before they have read all of the request.

use crate::support::*;
use bytes::Bytes;
use http::{Method, StatusCode};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use origin::{Context, Kind, Origin, RequestBody};
use std::{
    io::{Read, Write},
    net,
    pin::{Pin, pin},
    sync::mpsc,
    task, thread,
    time::Duration,
};
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

/// Two pieces. Before the second the worker stands still until the server has done what it is then told to do.
struct StandsStill {
    asked: usize,
    go: mpsc::Sender<()>,
    closed: mpsc::Receiver<()>,
}

impl Body for StandsStill {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut task::Context<'_>,
    ) -> task::Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.asked += 1;
        match self.asked {
            // What has come so far goes out.
            2 => {
                cx.waker().wake_by_ref();
                return task::Poll::Pending;
            }
            3 => {
                self.go.send(()).unwrap();
                self.closed.recv().unwrap();
            }
            _ => {}
        }
        let piece = Bytes::from(vec![b'x'; 1000]);
        task::Poll::Ready((self.asked < 4).then(|| Ok(Frame::data(piece))))
    }
}

/// Takes the first byte of a request, and when it is told to, answers with `answer` and closes while there is more to
/// be read.
fn answers_and_closes(answer: &'static str) -> (net::SocketAddr, RequestBody) {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let ((go, told), (closing, closed)) = (mpsc::channel(), mpsc::channel());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0]).unwrap();
        told.recv().unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        drop(stream);
        closing.send(()).unwrap();
        // Whoever comes again waits.
        let _second = listener.accept();
    });
    let asked = 0;
    let body = StandsStill { asked, go, closed };
    (address, body.boxed_unsync())
}

/// The answer is heard although what is still to be sent cannot be sent any more, and the server has done nothing wrong.
#[test]
fn a_server_that_answers_an_upload_and_closes_is_heard() {
    const REFUSAL: &str =
        "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 8\r\n\r\ntoo much";
    let refused = Ok((StatusCode::PAYLOAD_TOO_LARGE, "too much"));
    for (answer, want, failures) in [
        (REFUSAL, refused, 0),
        ("", Err(Kind::Truncated), 1),
        ("HTTP/1.1 413 Too Large\r\nConn", Err(Kind::Truncated), 1),
    ] {
        work(async {
            let (address, body) = answers_and_closes(answer);
            let origin = Origin::new(config([tcp(address)])).unwrap();
            let asked = request(Method::POST, "/", body);
            let got = match origin.fetch(asked, Context::default()).await {
                Ok(response) => {
                    let status = response.status();
                    let body = response.into_body().collect().await.unwrap().to_bytes();
                    Ok((status, body))
                }
                Err(error) => Err(error.kind()),
            };
            let got = got.as_ref().map(|(status, body)| (*status, &body[..]));
            let want = want
                .as_ref()
                .map(|(status, body)| (*status, body.as_bytes()));
            assert_eq!(got, want);
            assert_eq!(origin.report().servers[0].failures, failures, "{answer}");
        });
    }
}
