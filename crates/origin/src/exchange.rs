//! One attempt: gets a connection, sends the request on it, and waits for the response's head in time.

mod connection;
mod failure;
mod http2;
mod send;

pub(crate) use failure::Failure;
pub(crate) use send::{wants_http1, was_left};

use crate::{
    Error, Interim, Kind, Servers,
    body::{Carried, Carrier, Incoming},
    connect::Speaks,
    direct, fastcgi,
    message::{self, RequestFraming},
    peer::Peer,
    sent::{Sent, Writing},
    upload::Outgoing,
};
use bytes::Bytes;
use connection::{Connection, Engine};
use http::{HeaderValue, Request, Response, Version, header::HOST};
use http_body::Body as _;
use rules::fields::begins_event_stream;
use send::{is_refusal, is_untouched};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// A head that arrived, and the carrier of its body.
pub(crate) enum ExchangeAnswer {
    Direct(direct::Arrived),
    Http(Response<Incoming>, Box<Carried>),
    FastCgi(fastcgi::Arrived, Box<fastcgi::Exchange>),
}

impl ExchangeAnswer {
    /// Whether the answer begins something that does not end by itself: an event stream, or another protocol.
    pub(crate) fn is_endless(&self) -> bool {
        self.is_upgrade() || self.is_event_stream()
    }

    /// Whether the connection speaks another protocol from now on.
    pub(crate) fn is_upgrade(&self) -> bool {
        matches!(self, Self::Http(_, carried) if matches!(carried.carrier, Carrier::Upgraded))
    }

    fn is_event_stream(&self) -> bool {
        let fields = match self {
            Self::Direct(response) => response.headers(),
            Self::Http(response, _) => response.headers(),
            Self::FastCgi(fastcgi::Arrived::Response(response), _) => response.headers(),
            Self::FastCgi(fastcgi::Arrived::Local(_), _) => return false,
        };
        begins_event_stream(fields)
    }
}

/// Which connection an attempt may be made on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Any connection that is fit.
    Any,
    /// Not an idle one, because the last attempt may have found one that was closing. HTTP/2 may share one all the same.
    New,
    /// A new connection that nobody shares: connecting itself is tested.
    Alone,
}

/// What the server said of the request in the attempt before, over HTTP/2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Said {
    #[default]
    Nothing,
    /// It refused the request on this connection. It gets it on another if there may be one.
    Refused { by: u64 },
    /// It wants the request over HTTP/1.1.
    WantsHttp1,
}

/// The parameters of one attempt.
pub(crate) struct Attempt<'a> {
    pub(crate) origin: &'a Servers,
    pub(crate) peer: &'a Arc<Peer>,
    pub(crate) asked: RequestFraming,
    /// What FastCGI servers get instead of the request's head.
    pub(crate) call: Option<&'a Arc<fastcgi::Call>>,
    pub(crate) which: Which,
    pub(crate) began: Instant,
    /// Time for connecting.
    pub(crate) patience: Duration,
    pub(crate) said: Said,
    /// Whether the request may be sent twice.
    pub(crate) repeatable: bool,
    /// The content it is then sent with.
    pub(crate) content: Option<&'a Bytes>,
    pub(crate) interim: Option<&'a Interim>,
    /// Learns whether some of the request may have reached the server.
    pub(crate) sent: &'a Sent,
    /// When the whole exchange must have ended.
    pub(crate) until: Option<Instant>,
}

impl Attempt<'_> {
    /// Sends `request` and waits for the head.
    pub(crate) async fn make(
        &self,
        request: Box<Request<Outgoing>>,
    ) -> Result<ExchangeAnswer, Failure> {
        let unsent = |request, error: Error| Failure::Unsent {
            request,
            error: error.at(&self.peer.label),
            was_closing: false,
        };
        let mut request = request;
        // Decided as of when the framing fields were written: a body that has ended since must still be framed as they
        // say.
        let engine = match self.asked {
            RequestFraming {
                content: false,
                upgrade: None,
                ..
            } => Engine::Any,
            RequestFraming { .. } => Engine::Hyper,
        };
        let connection = match self.connection(engine).await {
            Ok(connection) => connection,
            Err(error) => return Err(unsent(request, error)),
        };
        let speaks = match &connection {
            Connection::Direct(_) | Connection::Http1(_) => Speaks::Http1,
            Connection::Http2(_) => Speaks::Http2,
            Connection::FastCgi(_) => Speaks::FastCgi,
        };
        let spare = self.spare(&connection, &mut request);
        if self.asked.unnamed && speaks != Speaks::FastCgi {
            // RFC 9112 section 3.2 requires a name, and so does HTTP/2. Scripts are told that there is none.
            if let Ok(name) = HeaderValue::from_str(self.peer.host()) {
                request.headers_mut().insert(HOST, name);
            }
        }
        let tls = self.origin.tls.is_some();
        if let Err(error) = message::address(&mut request, self.asked, speaks, tls) {
            return Err(unsent(request, error));
        }
        // Dropped with the attempt, however that ends.
        let _writing = self.begin_to_write(&connection);
        let sent = match connection {
            Connection::Direct(own) => self.send_direct(own, request).await,
            // Boxed, so that the future of a direct exchange does not become as large as these.
            Connection::Http1(own) => Box::pin(self.send_http1(own, *request)).await,
            Connection::Http2(slot) => {
                let by = slot.connection();
                let sent = Box::pin(self.send_http2(slot, *request)).await;
                return sent.map_err(|lost| naming_refuser(self.after_http2(lost, spare), by));
            }
            Connection::FastCgi(own) => Box::pin(self.send_fastcgi(own, *request)).await,
        };
        sent.map_err(|failure| self.after_http1(failure, spare))
    }

    /// Returns the request once more, if `connection` may lose one that may be sent again.
    fn spare(
        &self,
        connection: &Connection,
        request: &mut Request<Outgoing>,
    ) -> Option<Box<Request<Outgoing>>> {
        let is_known = request.body().is_end_stream() || self.content.is_some();
        match connection {
            // These give the request back.
            Connection::Direct(_) | Connection::FastCgi(_) => None,
            Connection::Http1(_) => {
                let may_be_unread = self.has_no_choice() && is_known;
                (self.repeatable || may_be_unread).then(|| again(request, self.content))
            }
            // An HTTP/2 server may say that it had not begun with the request, which may then be sent again whatever
            // its method. Short content that is still to come is kept for that as it is sent.
            Connection::Http2(_) => {
                if !is_known {
                    request.body_mut().keep();
                }
                is_known.then(|| again(request, self.content))
            }
        }
    }

    /// Has the request count as sent as soon as some of it may be.
    fn begin_to_write(&self, connection: &Connection) -> Option<Writing<'_>> {
        let written = connection.written();
        if written.is_none() {
            // What `h2` has taken goes out even if nobody waits for it any more.
            self.sent.set(true);
        }
        written.map(|written| Writing::begin(self.sent, written))
    }

    /// Whether the server was offered HTTP/1.1 alone, which it may not speak.
    fn has_no_choice(&self) -> bool {
        self.asked.upgrade.is_some() && self.origin.may_share()
    }

    /// Turns a failure over HTTP/1.1 into one that contains the request again, if it may be sent again. A server that
    /// answers in HTTP/2 to a request for an upgrade has not read it: that may always go elsewhere.
    fn after_http1(&self, failure: Failure, spare: Option<Box<Request<Outgoing>>>) -> Failure {
        match (failure.at(&self.peer.label), spare) {
            (Failure::Sent { error, .. }, Some(request)) if error.kind() == Kind::NoUpgrade => {
                Failure::Unsent {
                    request,
                    error,
                    was_closing: false,
                }
            }
            (failure, spare) => failure.or_again(spare.filter(|_| self.repeatable)),
        }
    }

    /// Turns a failure over HTTP/2 into one that contains the request again, if it may be sent again.
    fn after_http2(&self, failure: Failure, spare: Option<Box<Request<Outgoing>>>) -> Failure {
        match (failure.at(&self.peer.label), spare) {
            (Failure::Sent { error, .. }, Some(request)) if is_untouched(&error) => {
                Failure::Unsent {
                    request,
                    error,
                    was_closing: true,
                }
            }
            (failure, spare) => failure.or_again(spare.filter(|_| self.repeatable)),
        }
    }
}

/// Names the connection on which the server refused the request, if that is how the attempt failed.
fn naming_refuser(failure: Failure, by: u64) -> Failure {
    match failure {
        Failure::Unsent { request, error, .. } if is_refusal(&error) => {
            Failure::Refused { request, error, by }
        }
        failure => failure,
    }
}

/// Makes a request once more.
fn again(request: &Request<Outgoing>, content: Option<&Bytes>) -> Box<Request<Outgoing>> {
    let mut again = Request::new(Outgoing::again(content));
    *again.method_mut() = request.method().clone();
    *again.uri_mut() = request.uri().clone();
    *again.headers_mut() = request.headers().clone();
    *again.version_mut() = Version::HTTP_11;
    Box::new(again)
}
