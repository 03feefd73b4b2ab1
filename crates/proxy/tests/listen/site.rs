//! A listener on a thread of its own with a scripted service.

use crate::frames::Frames;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use proxy::listen::{
    Address, AtHand, BindError, Bound, Connection, ConnectionLimiter, DrainSwitch, InterimSink,
    Limits, ListenConfig, OwnAnswer, RequestBody, Serve, Served, Snapshot, accept_loop, bind,
    drain,
};
use std::{
    net::SocketAddr,
    pin::Pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, ready},
    thread::JoinHandle,
    time::Duration,
};
use testkit::{Client, wait_until};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    runtime::Builder,
    sync::Semaphore,
    task::LocalSet,
    time::{Interval, interval},
};

/// What tests and service share.
#[derive(Debug)]
pub struct Stage {
    /// Requests that reached a path that waits.
    entered: AtomicUsize,
    /// Requests that were dropped while they waited.
    left: AtomicUsize,
    /// How often those that wait were asked whether they still do.
    polled: AtomicUsize,
    /// Requests whose content broke off.
    broken: AtomicUsize,
    /// One permit lets one waiting request go on.
    permits: Semaphore,
}

impl Stage {
    pub fn wait_entered(&self, count: usize) {
        wait_until("requests to wait", || self.entered.load(SeqCst) >= count);
    }

    pub fn wait_left(&self, count: usize) {
        wait_until("requests to be dropped", || self.left.load(SeqCst) >= count);
    }

    pub fn broken(&self) -> usize {
        self.broken.load(SeqCst)
    }

    pub fn wait_broken(&self, count: usize) {
        wait_until("contents to break off", || self.broken() >= count);
    }

    pub fn polled(&self) -> usize {
        self.polled.load(SeqCst)
    }

    pub fn let_go(&self, count: usize) {
        self.permits.add_permits(count);
    }

    pub async fn wait(&self) {
        struct Leaving<'a>(&'a AtomicUsize);
        impl Drop for Leaving<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        self.entered.fetch_add(1, SeqCst);
        let leaving = Leaving(&self.left);
        let mut permit = std::pin::pin!(self.permits.acquire());
        let permit = std::future::poll_fn(|cx| {
            self.polled.fetch_add(1, SeqCst);
            permit.as_mut().poll(cx)
        });
        permit.await.unwrap().forget();
        std::mem::forget(leaving);
    }
}

/// A running listener. Stops when dropped.
pub struct Site {
    pub address: Option<SocketAddr>,
    pub stage: Arc<Stage>,
    pub limiter: Arc<ConnectionLimiter>,
    pub switch: DrainSwitch,
    threads: Vec<JoinHandle<()>>,
}

/// Limits that may strike [`SOON`]: the clock makes a step each 5 ms.
pub fn quick(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits {
        tick: Duration::from_millis(5),
        ..Limits::default()
    };
    change(&mut limits);
    limits
}

/// Bytes of the answer to `/large`: more than sockets hold.
pub const LARGE: usize = 16_000_000;

/// Soon, and not before a client on a slow machine has said what it is to say.
pub const SOON: Duration = Duration::from_millis(400);

pub fn loopback() -> ListenConfig {
    ListenConfig::plain(Address::Tcp(([127, 0, 0, 1], 0).into()))
}

impl Site {
    pub fn plain() -> Self {
        Self::start(loopback(), quick(|_| ()))
    }

    pub fn with(limits: Limits) -> Self {
        Self::start(loopback(), limits)
    }

    pub fn start(config: ListenConfig, limits: Limits) -> Self {
        Self::try_start(config, limits, 1).unwrap()
    }

    pub fn try_start(
        config: ListenConfig,
        limits: Limits,
        workers: usize,
    ) -> Result<Self, BindError> {
        let bounds = bind(config, workers)?;
        assert_eq!(bounds.len(), workers);
        let address = bounds[0].local();
        assert!(bounds.iter().all(|bound| bound.local() == address));
        let stage = Arc::new(Stage {
            entered: AtomicUsize::new(0),
            left: AtomicUsize::new(0),
            polled: AtomicUsize::new(0),
            broken: AtomicUsize::new(0),
            permits: Semaphore::new(0),
        });
        let limiter = ConnectionLimiter::new(limits);
        let (switch, handle) = drain();
        let work = |bound: Bound| {
            let (stage, limiter, handle) = (stage.clone(), limiter.clone(), handle.clone());
            std::thread::spawn(move || {
                let runtime = Builder::new_current_thread().enable_all().build().unwrap();
                let script = Rc::new(Script { stage });
                let serving = accept_loop(bound, script, limiter, handle);
                LocalSet::new().block_on(&runtime, serving).unwrap();
            })
        };
        let threads = bounds.into_iter().map(work).collect();
        Ok(Self {
            address,
            stage,
            limiter,
            switch,
            threads,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address.unwrap()
    }

    pub fn client(&self) -> Client {
        Client::connect(self.address())
    }

    /// The whole answer to these bytes on a connection of their own.
    pub fn ask(&self, bytes: impl AsRef<[u8]>) -> testkit::Response {
        let mut client = self.client();
        client.send(bytes);
        client.read()
    }

    /// Waits until the counters say so.
    pub fn wait_counted(&self, what: &str, condition: impl Fn(&Snapshot) -> bool) {
        wait_until(what, || condition(&self.limiter.snapshot()));
    }

    /// Waits until the accept loops have returned.
    pub fn join(&mut self) {
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.switch.start(Duration::ZERO);
        if !std::thread::panicking() {
            self.join();
        }
    }
}

/// The scripted service.
struct Script {
    stage: Arc<Stage>,
}

impl Serve for Script {
    type Body = Scripted;

    fn serve(
        &self,
        request: Request<RequestBody>,
        connection: &Rc<Connection>,
        interim: InterimSink,
    ) -> Served<Scripted> {
        let stage = Arc::clone(&self.stage);
        let connection = Rc::clone(connection);
        assert_ne!(request.uri().path(), "/panic-at-once", "as asked");
        if let Some(response) = at_once(&request) {
            return Served::Now(response);
        }
        Served::Later(Box::pin(async move {
            let is_dated = request.uri().path() != "/undated";
            let response = play(&stage, request, &connection, &interim).await;
            if is_dated { dated(response) } else { response }
        }))
    }

    fn answered(&self, own: &OwnAnswer<'_>) -> HeaderMap {
        let mut told = HeaderMap::new();
        if let Some(detail) = own.detail {
            let value = format!("script; detail={detail}");
            told.insert("cache-status", HeaderValue::try_from(value).unwrap());
        }
        told.insert("told-bytes", own.bytes.into());
        told
    }
}

fn dated(mut response: Response<Scripted>) -> Response<Scripted> {
    let date = HeaderValue::from_static("Sun, 22 Nov 2026 08:00:00 GMT");
    response.headers_mut().insert(header::DATE, date);
    response
}

fn hint() -> HeaderMap {
    let mut fields = HeaderMap::new();
    fields.insert(
        header::LINK,
        HeaderValue::from_static("</a.css>; rel=preload"),
    );
    fields.insert(header::CONTENT_LENGTH, HeaderValue::from_static("7"));
    fields
}

/// What is answered without waiting: whatever has no part in the script.
fn at_once(request: &Request<RequestBody>) -> Option<Response<Scripted>> {
    let path = request.uri().path();
    let scripted = [
        "/panic",
        "/who",
        "/read",
        "/unread",
        "/wait",
        "/hint",
        "/hints",
        "/hint-and-wait",
        "/hint-from-elsewhere",
        "/hint-then-stream",
        "/endless",
        "/drip",
        "/echo",
        "/upgrade",
        "/undated",
        "/later",
        "/frames",
    ];
    if scripted.contains(&path) {
        return None;
    }
    Some(dated(match path {
        "/large" => reply(vec![b'x'; LARGE]),
        _ => reply(format!("{} {}", request.method(), request.uri())),
    }))
}

/// Sends interim responses from another task, the last of them too late.
async fn hint_from_elsewhere(stage: Arc<Stage>, sink: InterimSink) {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    tokio::task::spawn_local(async move {
        sink.send(StatusCode::PROCESSING, &HeaderMap::new());
        stage.wait().await;
        sink.send(StatusCode::EARLY_HINTS, &hint());
        // Nobody waits where the client has left.
        let _ = sender.send(());
        stage.wait().await;
        // The final head is out: this must go nowhere.
        sink.send(StatusCode::EARLY_HINTS, &hint());
        stage.entered.fetch_add(1, SeqCst);
    });
    receiver.await.unwrap();
}

/// Answers with the content, or with what is wrong with it.
async fn read(stage: &Stage, content: RequestBody) -> Response<Scripted> {
    match content.collect().await {
        Ok(content) => reply(content.to_bytes()),
        Err(error) => {
            stage.broken.fetch_add(1, SeqCst);
            let mut response = reply(format!("unreadable: {error}"));
            *response.status_mut() = StatusCode::BAD_REQUEST;
            response
        }
    }
}

/// Sends a thousand interim responses of a thousand bytes each.
fn hint_much(sink: &InterimSink) {
    let mut fields = hint();
    let long = HeaderValue::from_str(&"x".repeat(1000)).unwrap();
    fields.insert(header::LINK, long);
    (0..1000).for_each(|_| sink.send(StatusCode::EARLY_HINTS, &fields));
}

async fn play(
    stage: &Arc<Stage>,
    request: Request<RequestBody>,
    connection: &Connection,
    interim: &InterimSink,
) -> Response<Scripted> {
    let path = request.uri().path().to_owned();
    let text = match path.as_str() {
        "/panic" => panic!("as asked"),
        "/who" => format!(
            "peer={:?} local={:?} tls={}",
            connection.peer, connection.local, connection.tls
        ),
        "/read" => return read(stage, request.into_body()).await,
        "/unread" => {
            let mut response = reply("too large");
            *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            return response;
        }
        "/wait" => {
            stage.wait().await;
            "waited".to_owned()
        }
        "/hint" => {
            interim.send(StatusCode::EARLY_HINTS, &hint());
            "hinted".to_owned()
        }
        "/hints" => {
            hint_much(interim);
            "hinted".to_owned()
        }
        "/hint-and-wait" => {
            interim.send(StatusCode::EARLY_HINTS, &hint());
            stage.wait().await;
            "hinted".to_owned()
        }
        "/hint-from-elsewhere" => {
            hint_from_elsewhere(Arc::clone(stage), interim.clone()).await;
            "hinted twice".to_owned()
        }
        "/hint-then-stream" => {
            interim.send(StatusCode::EARLY_HINTS, &hint());
            return Response::new(Scripted::Pieces(3, stage.clone(), Some(interim.clone())));
        }
        "/endless" => return Response::new(Scripted::Endless(Bytes::from(vec![b'x'; 65_536]))),
        "/drip" => {
            let first = request.uri().query().map(str::parse).unwrap().unwrap();
            return Response::new(Scripted::Drip(first, interval(SOON / 4)));
        }
        "/echo" => return Response::new(Scripted::Echo(request.into_body())),
        "/upgrade" => return upgrade(request),
        // Without a date, which only `hyper` makes up.
        "/undated" | "/later" => {
            tokio::task::yield_now().await;
            format!("{} {}", request.method(), request.uri())
        }
        "/frames" => {
            tokio::task::yield_now().await;
            let script = request.uri().query().unwrap_or_default();
            return frames(script, request.method() == Method::HEAD, stage);
        }
        other => unreachable!("{other} has no part"),
    };
    reply(text)
}

/// An answer whose status and content are told in the target's query.
fn frames(script: &str, is_head: bool, stage: &Arc<Stage>) -> Response<Scripted> {
    let frames = Frames::read(script, stage);
    let status = frames.status;
    let none = is_head || matches!(status, 204 | 304);
    let mut response = Response::new(if none {
        Scripted::Whole(None)
    } else {
        Scripted::Frames(frames)
    });
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

fn reply(text: impl Into<Bytes>) -> Response<Scripted> {
    Response::new(Scripted::Whole(Some(text.into())))
}

/// 101, then every byte comes back until the client ends.
fn upgrade(mut request: Request<RequestBody>) -> Response<Scripted> {
    let upgraded = hyper::upgrade::on(&mut request);
    tokio::task::spawn_local(async move {
        let mut tunnel = TokioIo::new(upgraded.await.unwrap());
        let mut bytes = [0; 64];
        while let Ok(n @ 1..) = tunnel.read(&mut bytes).await {
            tunnel.write_all(&bytes[..n]).await.unwrap();
        }
    });
    let mut response = reply("");
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let fields = response.headers_mut();
    fields.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    fields.insert(header::UPGRADE, HeaderValue::from_static("echo"));
    response
}

/// Answers' bodies.
pub enum Scripted {
    Whole(Option<Bytes>),
    /// So many pieces; before each it tries to send an interim response, which must go nowhere.
    Pieces(usize, Arc<Stage>, Option<InterimSink>),
    Endless(Bytes),
    /// So many bytes, and then one each quarter of [`SOON`].
    Drip(usize, Interval),
    /// What the request brings, as it comes.
    Echo(RequestBody),
    Frames(Frames),
}

impl AtHand for Scripted {}

impl Body for Scripted {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let piece = match &mut *self {
            Self::Whole(text) => text.take().filter(|text| !text.is_empty()),
            Self::Endless(piece) => Some(piece.clone()),
            Self::Frames(frames) => return frames.poll(cx),
            Self::Drip(first, clock) => {
                ready!(clock.poll_tick(cx));
                Some(Bytes::from(vec![b'x'; std::mem::replace(first, 1)]))
            }
            Self::Echo(content) => {
                let polled = Pin::new(content).poll_frame(cx);
                return polled.map_err(std::io::Error::other);
            }
            Self::Pieces(0, ..) => None,
            Self::Pieces(left, stage, sink) => {
                if let Some(sink) = sink {
                    sink.send(StatusCode::EARLY_HINTS, &hint());
                }
                // One piece a permit, so that each is flushed on its own.
                let Ok(permit) = stage.permits.try_acquire() else {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                };
                permit.forget();
                *left -= 1;
                Some(Bytes::from_static(b"piece"))
            }
        };
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(text) => text.is_none(),
            Self::Frames(frames) => frames.left == Some(0),
            _ => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(text) => SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64),
            Self::Frames(frames) => frames
                .left
                .map_or_else(SizeHint::default, SizeHint::with_exact),
            _ => SizeHint::default(),
        }
    }
}
