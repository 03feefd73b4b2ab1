//! Accepts connections and turns them into requests: limits, TLS, PROXY protocol, HTTP/1.1 and HTTP/2, drain.
//!
//! `bind` opens one socket for each worker, not paced where only this machine reaches it (`origin::pacing`), which
//! holds connections until they say something (`deferral`); each worker runs `accept_loop`
//! on its own, on a current-thread runtime that takes tasks which cannot leave it. A connection is one task (`task`). HTTP/1 requests without
//! content are read and answered here (`direct`), others by `hyper` (`http1`); HTTP/2 is framed by `h2` (`http2`). Below them
//! lies a `Meter`, which sees the bytes, and beside it a `Watch`, which knows what the connection is doing. Below the `Meter` lie the bytes with or without TLS (`stream`), what is sent from files in
//! between (`wire`, `splice`), and the `socket`.
//! One coarse clock for each loop judges all watches, so that no request sets a timer.

mod accept;
mod answer;
mod bind;
mod check;
mod config;
mod counters;
mod deferral;
mod direct;
mod drain;
mod fault;
mod http1;
mod http2;
mod in_flight;
mod interim;
mod limiter;
mod mapped;
mod meter;
mod own;
mod proxy_protocol;
mod redirect;
mod request_body;
mod request_head;
mod service;
mod socket;
mod splice;
mod stream;
mod task;
mod texts;
mod tls;
mod version;
mod watch;
mod wire;

pub use accept::accept_loop;
pub use bind::{BindError, Bound, bind};
pub use config::{Address, Limits, ListenConfig};
pub use counters::Snapshot;
pub use direct::{Head, PackedHead, Prepared, PreparedHead, request as parse_request};
pub use drain::{Drain, DrainSwitch, drain};
pub use http2::Frames;
pub use interim::InterimSink;
pub use limiter::ConnectionLimiter;
pub use own::{OwnAnswer, to_late_content};
pub use proxy_protocol::{
    Error as ProxyProtocolError, Header as ProxyHeader, parse as parse_proxy,
};
pub use request_body::{Cut, RequestBody};
pub use request_head::RequestHead;
pub use splice::Splices;
pub use texts::Texts;
pub use tls::{CertificateFiles, TlsError, TlsStore};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::Full;
use std::{cell::Cell, mem, net::SocketAddr, pin::Pin, rc::Rc, sync::Arc, time::Duration};
use store::Memory;

/// What every request knows of the connection it came on. One per connection, shared by its requests.
#[derive(Debug)]
pub struct Connection {
    /// The client's address (after PROXY protocol), an IPv4 address as one; `None` on a Unix socket.
    pub peer: Option<SocketAddr>,
    /// Whether `peer` is who asks: not a proxy that did not say for whom (PROXY protocol `UNKNOWN`, `LOCAL`).
    pub peer_asks: bool,
    /// Our own address.
    pub local: Option<SocketAddr>,
    /// Whether the client speaks TLS to us (or the PROXY protocol says so).
    pub tls: bool,
    /// Takes what can be sent to the client straight from a file; `None`: the connection cannot.
    pub splices: Option<Arc<Splices>>,
    /// Whether no client made it: what is asked there is asked by ourselves.
    pub is_ours: bool,
    /// What origins are told of it.
    pub texts: Texts,
    /// How long it may stay without a request, or half closed as a tunnel ([`Limits::idle_time`]).
    pub idle_time: Duration,
    /// Whether it ends since its client sent too slowly: what is in flight is answered with 408.
    pub late: Cell<bool>,
}

impl Connection {
    /// One that no client made, for what is asked here in the name of `peer`.
    pub fn imagined(peer: Option<SocketAddr>, tls: bool) -> Self {
        Self {
            peer,
            peer_asks: true,
            local: None,
            tls,
            splices: None,
            is_ours: true,
            texts: Texts::default(),
            idle_time: Duration::ZERO,
            late: Cell::new(false),
        }
    }

    /// The client's address as text. It is made once.
    pub fn address(&self) -> Option<&HeaderValue> {
        let peer = self.peer?;
        let text = self.texts.address.get_or_init(|| {
            let text = peer.ip().to_string();
            // Digits, letters, dots and colons.
            HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("unknown"))
        });
        Some(text)
    }
}

/// An answer, or the wait for one. Nothing of it is `Send`: it lives on its worker.
pub enum Served<B> {
    /// Ready.
    Now(Response<B>),
    /// Ready, with a head that is kept as it is sent.
    Prepared(Prepared<B>),
    /// Still to come.
    Later(Later<B>),
}

/// The wait for an answer.
pub type Later<B> = Pin<Box<dyn Future<Output = Response<B>>>>;

/// What a listener may take of a body beside its frames.
pub trait AtHand {
    /// All of the content, where it lies here in one piece of which nothing has been given out.
    fn at_hand(&self) -> Option<&[u8]> {
        None
    }
    /// The same, where it is stored, and may be at hand for other answers too.
    fn kept(&self) -> Option<&Bytes> {
        None
    }
    /// What is [at hand](Self::at_hand) was copied, and is out: it is not given out any more.
    fn taken(&mut self) {}
    /// Takes out the fields of the request, as they came, where nobody needs them any more.
    fn asked(&mut self) -> Option<HeaderMap> {
        None
    }
}

impl AtHand for Full<Bytes> {}

/// What a listener calls for each request.
pub trait Serve: 'static {
    /// The body of an answer.
    type Body: http_body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + AtHand
        + Unpin
        + 'static;
    /// Answers one request. Never fails: errors are answers. `InterimSink` is a cheap clone.
    fn serve(
        &self,
        request: Request<RequestBody>,
        connection: &Rc<Connection>,
        interim: InterimSink,
    ) -> Served<Self::Body>;
    /// As [`serve`](Self::serve), for a request that is its head and nothing more: it brings no content, wants no other protocol,
    /// and its `Connection` names no fields. The head is taken where it lies; what is left of it means nothing.
    fn serve_head(
        &self,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
        interim: InterimSink,
    ) -> Served<Self::Body> {
        self.serve(mem::take(head).into_request(), connection, interim)
    }
    /// Whether requests by this method are for the service itself, so that none is sent on to HTTPS: it is served as if it had come there.
    fn keeps(&self, _method: &Method) -> bool {
        false
    }
    /// Hears of an answer that the listener gives by itself, and tells the fields that say how it was made (`Cache-Status` and the like).
    fn answered(&self, own: &OwnAnswer<'_>) -> HeaderMap;
    /// What counts heads that have not come as a whole; `None`: nobody does.
    fn memory(&self) -> Option<Arc<Memory>> {
        None
    }
}
