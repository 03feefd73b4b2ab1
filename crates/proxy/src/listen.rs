//! Accepts connections and turns them into requests: limits, TLS, PROXY protocol, HTTP/1.1 and HTTP/2, drain.
//!
//! `bind` opens one socket for each worker. The socket is not paced if only this machine can reach it
//! (`origin::pacing`), and it holds connections until they send something (`deferral`). Each worker runs `accept_loop`
//! on a current-thread runtime of its own, with tasks that cannot leave it.
//!
//! Each connection is one task (`task`). HTTP/1 requests without content are read and answered here (`direct`), others
//! by `hyper` (`http1`). HTTP/2 is framed by `h2` (`http2`). Below them is a `Meter`, which sees the bytes, and beside
//! it a `Watch`, which knows what the connection is doing. Below the `Meter` are, in this order, the bytes with or
//! without TLS (`stream`), what is sent from files in between (`wire`, `splice`), and the `socket`.
//!
//! One coarse clock for each loop judges all watches, so that no request sets a timer.

mod accept;
mod answer;
mod bind;
mod check;
mod config;
mod counters;
mod date;
mod deferral;
mod direct;
mod drain;
mod fault;
mod field_map;
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
mod served;
mod service;
mod socket;
mod splice;
mod stream;
mod task;
mod texts;
mod tls;
mod under_tls;
mod version;
mod watch;
mod wire;

pub use accept::accept_loop;
pub use bind::{BindError, Bound, bind};
pub use check::refusal;
pub use config::{Address, Limits, ListenConfig};
pub use counters::Snapshot;
pub use direct::{Head, PackedHead, Prepared, PreparedHead, read_target, request as parse_request};
pub use drain::{Drain, DrainSwitch, drain};
pub use field_map::{PLACE, places};
pub use interim::InterimSink;
pub use limiter::ConnectionLimiter;
pub use own::{OwnAnswer, to_late_content};
pub use proxy_protocol::{
    Error as ProxyProtocolError, Header as ProxyHeader, parse as parse_proxy,
};
pub use request_body::{Cut, RequestBody};
pub use request_head::RequestHead;
pub use served::{Later, Served};
pub use splice::Splices;
pub use texts::Texts;
pub use tls::{CertificateFiles, TlsError, TlsStore};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request};
use http_body_util::{Either, Full};
use std::{cell::Cell, mem, net::SocketAddr, rc::Rc, sync::Arc, time::Duration};
use store::Memory;

/// What every request knows about its connection. There is one per connection, shared by its requests.
#[derive(Debug)]
pub struct Connection {
    /// The client's address (after PROXY protocol). An IPv4-mapped address is given as IPv4. `None` on a Unix socket.
    pub peer: Option<SocketAddr>,
    /// Whether `peer` is the client, and not a proxy that did not name one (PROXY protocol `UNKNOWN`, `LOCAL`).
    pub peer_asks: bool,
    /// Our own address.
    pub local: Option<SocketAddr>,
    /// Whether the client speaks TLS to us (or the PROXY protocol says so).
    pub tls: bool,
    /// Takes what can be sent to the client straight from a file; `None` if the connection cannot do that.
    pub splices: Option<Arc<Splices>>,
    /// Whether no client made the connection: its requests are our own.
    pub is_ours: bool,
    /// Texts about the connection that origins are told.
    pub texts: Texts,
    /// How long the connection may stay without a request, or half closed as a tunnel ([`Limits::idle_time`]).
    pub idle_time: Duration,
    /// How long a client may take nothing of what a tunnel brings ([`Limits::write_time`]).
    pub write_time: Duration,
    /// Whether the connection ends because its client sent too slowly: requests in flight are answered with 408.
    pub late: Cell<bool>,
}

impl Connection {
    /// A connection that no client made, for requests of our own in the name of `peer`.
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
            write_time: Duration::ZERO,
            late: Cell::new(false),
        }
    }

    /// Returns the client's address as text. The text is made once.
    pub fn address(&self) -> Option<&HeaderValue> {
        let peer = self.peer?;
        let text = self.texts.address.get_or_init(|| {
            let text = peer.ip().to_string();
            // Always valid: digits, letters, dots and colons.
            HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("unknown"))
        });
        Some(text)
    }
}

/// What a listener may take from a body other than its frames, and what it tells it.
pub trait AtHand {
    /// All of the content, if it is here in one piece and nothing of it has been given out.
    fn at_hand(&self) -> Option<&[u8]> {
        None
    }
    /// As [`at_hand`](Self::at_hand), for stored content, which may be at hand for other answers too.
    fn kept(&self) -> Option<&Bytes> {
        None
    }
    /// Says that what is [at hand](Self::at_hand) was copied and sent, so that the body does not give it out again.
    fn taken(&mut self) {}
    /// Says that the connection or the stream has ended and left these last bytes of what the body gave out unsent.
    fn left_unsent(&mut self, _bytes: u64) {}
    /// Takes the fields of the request, as they came, if nothing needs them any more.
    fn asked(&mut self) -> Option<HeaderMap> {
        None
    }
}

impl AtHand for Full<Bytes> {}

/// An answer of the service, or one of ours, which nobody counts.
impl<B: AtHand> AtHand for Either<B, Full<Bytes>> {
    fn left_unsent(&mut self, bytes: u64) {
        if let Self::Left(body) = self {
            body.left_unsent(bytes);
        }
    }
}

/// The service that a listener calls for each request.
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
    /// As [`serve`](Self::serve), for a request that is only a head: it has no content, asks for no other protocol, and
    /// its `Connection` names no fields. The head is taken in place; what is left of it means nothing.
    fn serve_head(
        &self,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
        interim: InterimSink,
    ) -> Served<Self::Body> {
        self.serve(mem::take(head).into_request(), connection, interim)
    }
    /// Whether requests with this method are for the service itself. They are not redirected to HTTPS, but served as if
    /// they had come there.
    fn keeps(&self, _method: &Method) -> bool {
        false
    }
    /// Reports an answer that the listener gives by itself. Returns the fields that say how it was made (`Cache-Status`
    /// and the like).
    fn answered(&self, own: &OwnAnswer<'_>) -> HeaderMap;
    /// What counts heads that have come only in part; `None` if nothing does.
    fn memory(&self) -> Option<Arc<Memory>> {
        None
    }
}
