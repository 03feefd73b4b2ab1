//! What all tests here share: a worker, an origin's configuration, a fetch read to its end.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Empty, Full};
use origin::{
    Context, Error, Kind, Origin, OriginConfig, RequestBody, ResponseBody,
    config::{Address, Server},
};
use std::{
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{self, Poll},
    time::Duration,
};
use tokio::{sync::mpsc, task::LocalSet};

/// Runs a test as a worker does: a current-thread runtime with a `LocalSet`.
pub(crate) fn work<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, async {
        tokio::time::timeout(testkit::BOUND, test)
            .await
            .expect("the test hangs")
    })
}

pub(crate) fn tcp(address: SocketAddr) -> Server {
    Server::new(Address::Tcp {
        host: address.ip().to_string(),
        port: address.port(),
    })
}

/// The default configuration for these servers.
pub(crate) fn config(servers: impl IntoIterator<Item = Server>) -> OriginConfig {
    OriginConfig {
        servers: servers.into_iter().collect(),
        ..OriginConfig::default()
    }
}

/// An origin of one server with the default configuration.
pub(crate) fn plain(server: &testkit::Origin) -> Arc<Origin> {
    Origin::new(config([tcp(server.address())])).unwrap()
}

pub(crate) fn empty() -> RequestBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// Waits, with the worker going on, until this holds.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    while !holds() {
        tokio::task::yield_now().await;
    }
}

/// As many HTTP/2 connections as a worker makes to a server.
pub(crate) const MOST_SHARED: usize = 64;

/// A limit that no server comes near by itself, however busy the machine.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// Runs something for which no time passes, however long it takes.
pub(crate) async fn at_once<T>(test: impl Future<Output = T>) -> T {
    tokio::time::pause();
    let done = std::cell::Cell::new(false);
    let test = async {
        let came = test.await;
        done.set(true);
        came
    };
    // A runtime with nothing to do would let the time pass that is waited for.
    let (came, ()) = tokio::join!(test, until(|| done.get()));
    tokio::time::resume();
    came
}

/// Runs a fetch in which time stands still until `sent` holds, and then [`LONG`] passes at once: who has been asked by
/// then is too late, and who is asked afterwards has as long as it takes.
pub(crate) async fn too_late<T>(fetch: impl Future<Output = T>, sent: impl Fn() -> bool) -> T {
    tokio::time::pause();
    let clock = async {
        until(sent).await;
        // Timers are rounded up to milliseconds.
        tokio::time::advance(LONG + Duration::from_millis(1)).await;
        tokio::time::resume();
    };
    tokio::join!(fetch, clock).0
}

/// A body of known length.
pub(crate) fn full(text: &'static str) -> RequestBody {
    let body = Full::new(Bytes::from_static(text.as_bytes()));
    body.map_err(|never| match never {}).boxed_unsync()
}

/// A request body of pieces that the test sends one by one.
pub(crate) fn pieces() -> (mpsc::Sender<&'static str>, RequestBody) {
    pieces_hinted(SizeHint::default())
}

/// One whose length is known: so many bytes in all.
pub(crate) fn pieces_of(length: u64) -> (mpsc::Sender<&'static str>, RequestBody) {
    pieces_hinted(SizeHint::with_exact(length))
}

fn pieces_hinted(hint: SizeHint) -> (mpsc::Sender<&'static str>, RequestBody) {
    let (sender, pieces) = mpsc::channel(1);
    (sender, Pieces { pieces, hint }.boxed_unsync())
}

struct Pieces {
    pieces: mpsc::Receiver<&'static str>,
    /// Of all of them.
    hint: SizeHint,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut task::Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let piece = self.pieces.poll_recv(cx);
        piece.map(|piece| {
            piece.map(|text| match text {
                "!" => Err("the client broke".into()),
                text => Ok(Frame::data(Bytes::from_static(text.as_bytes()))),
            })
        })
    }

    fn size_hint(&self) -> SizeHint {
        self.hint
    }
}

pub(crate) fn request(method: Method, target: &str, body: RequestBody) -> Request<RequestBody> {
    Request::builder()
        .method(method)
        .uri(target)
        .header("host", "site.example")
        .body(body)
        .unwrap()
}

pub(crate) fn repeatable() -> Context {
    Context {
        repeatable: true,
        ..Context::default()
    }
}

/// A response read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

pub(crate) async fn read(response: Response<ResponseBody>) -> Result<Answer, Error> {
    let (parts, body) = response.into_parts();
    Ok(Answer {
        status: parts.status,
        headers: parts.headers,
        body: body.collect().await?.to_bytes(),
    })
}

/// A repeatable GET, read to its end.
pub(crate) async fn get(origin: &Arc<Origin>, target: &str) -> Result<Answer, Error> {
    let request = request(Method::GET, target, empty());
    read(origin.fetch(request, repeatable()).await?).await
}

/// A request with this method that must not be sent twice, read to its end.
pub(crate) async fn once(
    origin: &Arc<Origin>,
    method: Method,
    target: &str,
) -> Result<Answer, Error> {
    let request = request(method, target, empty());
    read(origin.fetch(request, Context::default()).await?).await
}

pub(crate) fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> Kind {
    result.expect_err("a failure").kind()
}

/// A frame of HTTP/2 (RFC 9113 section 4.1).
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}
