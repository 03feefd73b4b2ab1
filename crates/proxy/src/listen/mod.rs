//! Accepts connections and turns them into requests: limits, TLS, PROXY protocol, HTTP/1.1 and HTTP/2, drain.

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use std::{net::SocketAddr, rc::Rc};

/// What every request knows of the connection it came on. One per connection, shared by its requests.
#[derive(Debug)]
pub struct Connection {
    /// The client's address (after PROXY protocol); `None` on a Unix socket.
    pub peer: Option<SocketAddr>,
    /// Our own address.
    pub local: Option<SocketAddr>,
    /// Whether the client speaks TLS to us (or the PROXY protocol says so).
    pub tls: bool,
}

/// Where the walk hands interim responses for the client of one request. On HTTP/1.1 the bytes go out before the final
/// head; on HTTP/1.0 and HTTP/2 it does nothing.
#[derive(Clone, Debug)]
pub struct InterimSink {}

impl InterimSink {
    /// Sends one interim response (1xx except 100 and 101) now or as soon as the connection allows.
    pub fn send(&self, status: StatusCode, fields: &HeaderMap) {
        todo!()
    }
}

/// What a listener calls for each request. The future is not `Send`: it lives on its worker.
pub trait Serve: 'static {
    /// The body of an answer.
    type Body: http_body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + 'static;
    /// Answers one request. Never fails: errors are answers. `InterimSink` is a cheap clone.
    fn serve(
        &self,
        request: Request<hyper::body::Incoming>,
        connection: &Rc<Connection>,
        interim: InterimSink,
    ) -> impl Future<Output = Response<Self::Body>> + 'static;
}
