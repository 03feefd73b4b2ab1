//! One attempt: a connection, the request on it, and the response's head in time.

use crate::{
    Error, Kind, Servers,
    body::Carrier,
    connect::{self, Speaks},
    direct, fastcgi,
    interim::Passing,
    link::{Http1, Http2, alarm},
    message::{self, Asked},
    peer::Peer,
    pool::{self, Key, Sharing, Single},
    upload::Outgoing,
    wait::{Lost, Wait},
};
use http::{Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use std::{error::Error as _, sync::Arc, time::Duration};
use tokio::{
    task::yield_now,
    time::{Instant, timeout},
};

/// A head that arrived, and what its body comes on.
pub(crate) enum Answer {
    Direct(direct::Arrived),
    Http(Response<Incoming>, Box<Carrier>),
    FastCgi(fastcgi::Arrived, Box<fastcgi::Exchange>),
}

/// How an attempt failed, which decides whether another is safe.
pub(crate) enum Failure {
    /// Nothing of the request was sent: it may always go elsewhere.
    Unsent {
        request: Box<Request<Outgoing>>,
        error: Error,
        /// It was a reused connection that had just been closed: nobody's fault.
        stale: bool,
    },
    /// Some of it may have been sent.
    Sent {
        error: Error,
        /// A reused connection closed without a byte of answer: most likely it was closing already.
        stale: bool,
        /// The request once more, if it is repeatable.
        again: Option<Box<Request<Outgoing>>>,
    },
}

/// What one attempt is made with.
pub(crate) struct Attempt<'a> {
    pub(crate) origin: &'a Servers,
    pub(crate) peer: &'a Arc<Peer>,
    pub(crate) asked: Asked,
    /// What FastCGI servers get in place of the request's head.
    pub(crate) call: Option<&'a Arc<fastcgi::Call>>,
    /// No idle connection: the last attempt found one stale.
    pub(crate) fresh: bool,
    pub(crate) began: Instant,
    /// The request has no content, and may be sent twice.
    pub(crate) repeatable: bool,
    pub(crate) interim: Option<&'a Passing>,
    /// When the whole exchange must have ended.
    pub(crate) until: Option<Instant>,
}

/// A connection to send on.
enum Line {
    Direct(direct::Link),
    Http1(Http1),
    Http2(Http2),
    FastCgi(fastcgi::Link),
}

/// Whose an HTTP/1.1 connection must be for a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Engine {
    /// Anybody's: there is no content, and no upgrade is asked for.
    Any,
    Hyper,
}

impl Attempt<'_> {
    /// Sends `request` and waits for the head.
    pub(crate) async fn make(&self, request: Box<Request<Outgoing>>) -> Result<Answer, Failure> {
        let unsent = |request, error: Error| Failure::Unsent {
            request,
            error: error.at(&self.peer.label),
            stale: false,
        };
        let mut request = request;
        // As it was when the framing fields were written: a body that has ended meanwhile still has to be framed as they say.
        let engine = match self.asked {
            Asked {
                content: false,
                upgrade: false,
            } => Engine::Any,
            Asked { .. } => Engine::Hyper,
        };
        let line = match self.line(engine).await {
            Ok(line) => line,
            Err(error) => return Err(unsent(request, error)),
        };
        let speaks = match &line {
            Line::Direct(_) | Line::Http1(_) => Speaks::Http1,
            Line::Http2(_) => Speaks::Http2,
            Line::FastCgi(_) => Speaks::FastCgi,
        };
        let spare = match &line {
            // These give it back.
            Line::Direct(_) | Line::FastCgi(_) => None,
            Line::Http1(_) | Line::Http2(_) => self.repeatable.then(|| again(&request)),
        };
        let tls = self.origin.tls.is_some();
        if let Err(error) = message::address(&mut request, self.asked, speaks, tls) {
            return Err(unsent(request, error));
        }
        let sent = match line {
            Line::Direct(own) => self.send_direct(own, request).await,
            // Boxed, lest what waits for ours be as large as they are.
            Line::Http1(own) => Box::pin(self.send_http1(own, *request)).await,
            Line::Http2(common) => Box::pin(self.send_http2(common, *request)).await,
            Line::FastCgi(own) => Box::pin(self.send_fastcgi(own, *request)).await,
        };
        sent.map_err(|failure| failure.at(&self.peer.label).or_again(spare))
    }

    fn key(&self) -> Key<'_> {
        Key {
            origin: &self.origin.identity,
            server: self.peer.index,
            epoch: self.peer.place.epoch(),
        }
    }

    /// Upgrades are HTTP/1.1's (RFC 9110 section 7.8); only a server that is HTTP/2 by configuration has no choice.
    fn needs_http1(&self) -> bool {
        self.asked.upgrade && !self.origin.config.protocol.is_http2()
    }

    /// An idle connection, the shared one, or a new one.
    async fn line(&self, engine: Engine) -> Result<Line, Error> {
        if !self.repeatable && !self.fresh {
            // Lets the runtime look at its sockets, so that a connection closed in the meantime is known to be. A request
            // that may be sent twice need not wait for that.
            yield_now().await;
        }
        let now = self.began;
        if !self.fresh
            && let Some(link) = pool::take(self.key(), now)
        {
            return match link {
                Single::Http1(link) => Ok(Line::Http1(link)),
                Single::Direct(link) => self.with(engine, link).await,
                Single::FastCgi(link) => Ok(Line::FastCgi(link)),
            };
        }
        if self.needs_http1() || !self.origin.may_share() {
            return Box::pin(self.dial(engine, now)).await;
        }
        loop {
            match pool::shared(self.key(), now) {
                Some(Sharing::Open(link)) => return Ok(Line::Http2(link)),
                Some(Sharing::Make(_making)) => return Box::pin(self.dial(engine, now)).await,
                None => return Box::pin(self.dial(engine, now)).await,
                Some(Sharing::Wait(done)) => {
                    let wait = timeout(self.limit(now), done.notified());
                    wait.await.map_err(|_| Error::new(Kind::ConnectTimeout))?;
                }
            }
        }
    }

    /// A new connection. Whoever awaits it boxes it: most fetches need none, and it is the largest part of an attempt.
    async fn dial(&self, engine: Engine, now: Instant) -> Result<Line, Error> {
        let limit = self.limit(now);
        let only_http1 = self.needs_http1();
        let dialled = connect::dial(self.origin, self.peer, only_http1, limit).await?;
        pool::tend();
        if dialled.speaks == Speaks::FastCgi {
            return Ok(Line::FastCgi(fastcgi::Link::new(dialled, self.peer)));
        }
        if dialled.speaks == Speaks::Http1 {
            if self.origin.may_share() && !only_http1 {
                pool::note_http1(self.key());
            }
            let first_byte = self.origin.config.timeouts.first_byte;
            let link = direct::Link::new(dialled, first_byte);
            return self.with(engine, link).await;
        }
        let link = Http2::new(self.origin, dialled).await?;
        pool::share(self.key(), link.clone(), now);
        Ok(Line::Http2(link))
    }

    /// A connection of ours, handed to hyper where the request is for hyper.
    async fn with(&self, engine: Engine, link: direct::Link) -> Result<Line, Error> {
        match engine {
            Engine::Any => Ok(Line::Direct(link)),
            Engine::Hyper => {
                let handing = Box::pin(Http1::over(self.origin, link));
                Ok(Line::Http1(handing.await?))
            }
        }
    }

    /// Time for connecting.
    fn limit(&self, now: Instant) -> Duration {
        let connect = self.origin.config.timeouts.connect;
        match self.until {
            Some(until) => connect.min(until.saturating_duration_since(now)),
            None => connect,
        }
    }

    async fn send_direct(
        &self,
        link: direct::Link,
        request: Box<Request<Outgoing>>,
    ) -> Result<Answer, Failure> {
        let asking = direct::Asking {
            request: &request,
            asked: self.asked,
            largest_head: self.origin.config.largest_head,
            interim: self.interim,
        };
        // One that lay idle was at hand at once.
        let now = if link.reused {
            self.began
        } else {
            Instant::now()
        };
        let direct::Lost {
            error,
            unsent,
            stale,
        } = match direct::ask(&asking, self.wait(&request, now), link).await {
            Ok(arrived) => return Ok(Answer::Direct(arrived)),
            Err(lost) => lost,
        };
        if unsent {
            return Err(Failure::Unsent {
                request,
                error,
                stale,
            });
        }
        let again = self.repeatable.then_some(request);
        Err(Failure::Sent {
            error,
            stale,
            again,
        })
    }

    async fn send_http1(
        &self,
        mut link: Http1,
        mut request: Request<Outgoing>,
    ) -> Result<Answer, Failure> {
        let before = link.heard();
        let wait = self.wait(&request, Instant::now());
        if let Some(passing) = self.interim.cloned() {
            hyper::ext::on_informational(&mut request, move |interim| {
                passing.pass(interim.status(), interim.headers());
            });
        }
        let sending = link.sender.try_send_request(request);
        let waited = wait.head(sending, &mut link.alarm).await;
        let mut response = waited.map_err(|lost| {
            let stale = link.reused && link.heard() == before;
            failure(lost, stale)
        })?;
        let judged = message::judge(&mut response, self.asked, Speaks::Http1).map_err(sent)?;
        link.reused = true;
        let carrier = if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            link.hand_over();
            Carrier::Upgraded
        } else {
            Carrier::Http1 {
                link,
                afterwards: judged.afterwards,
            }
        };
        Ok(Answer::Http(response, Box::new(carrier)))
    }

    async fn send_http2(
        &self,
        mut link: Http2,
        request: Request<Outgoing>,
    ) -> Result<Answer, Failure> {
        let wait = self.wait(&request, Instant::now());
        let sending = link.sender.try_send_request(request);
        let mut alarm = alarm(Instant::now());
        let waited = wait.head(sending, &mut alarm).await;
        // A request that comes back unsent met a GOAWAY (RFC 9113 section 6.8).
        let mut response = waited.map_err(|lost| {
            let was_taken = matches!(&lost, Lost::Sent(error) if was_taken(error));
            failure(lost, !was_taken)
        })?;
        message::judge(&mut response, self.asked, Speaks::Http2).map_err(sent)?;
        let carrier = Carrier::Http2 { alarm, _link: link };
        Ok(Answer::Http(response, Box::new(carrier)))
    }

    async fn send_fastcgi(
        &self,
        link: fastcgi::Link,
        request: Request<Outgoing>,
    ) -> Result<Answer, Failure> {
        let Some(call) = self.call else {
            return Err(sent(
                Error::new(Kind::Configuration).because("not a call of a script"),
            ));
        };
        let (head, body) = request.into_parts();
        let limits = fastcgi::Limits {
            first_byte: self.origin.config.timeouts.first_byte,
            until: self.until,
        };
        let exchange = fastcgi::Exchange::new(link, call, &self.origin.complaints, body);
        let largest = self.origin.config.largest_head;
        match exchange.head(limits, largest).await {
            Ok((arrived, exchange)) => Ok(Answer::FastCgi(arrived, Box::new(exchange))),
            Err(lost) => {
                let fastcgi::Lost {
                    error,
                    unsent,
                    stale,
                } = *lost;
                Err(match unsent {
                    Some(body) => Failure::Unsent {
                        request: Box::new(Request::from_parts(head, body)),
                        error,
                        stale,
                    },
                    None => Failure::Sent {
                        error,
                        stale,
                        again: self.repeatable.then(|| {
                            let none = Outgoing::empty();
                            Box::new(Request::from_parts(head, none))
                        }),
                    },
                })
            }
        }
    }

    fn wait(&self, request: &Request<Outgoing>, now: Instant) -> Wait {
        let first_byte = self.origin.config.timeouts.first_byte;
        Wait::new(first_byte, self.until, request.body().progress(), now)
    }
}

/// What no head means for the attempt.
fn failure(lost: Lost, stale: bool) -> Failure {
    match lost {
        Lost::Unsent(request, error) => Failure::Unsent {
            request,
            error,
            stale,
        },
        Lost::Sent(error) => Failure::Sent {
            error,
            stale,
            again: None,
        },
        Lost::Late(kind) => sent(Error::new(kind)),
    }
}

/// Whether the server had begun with a request before it gave the stream up, and not the connection. It says so where it had not (RFC
/// 9113 section 8.7).
fn was_taken(error: &Error) -> bool {
    let mut cause = error.source();
    while let Some(one) = cause {
        if let Some(lost) = one.downcast_ref::<h2::Error>() {
            return lost.is_reset() && lost.reason() != Some(h2::Reason::REFUSED_STREAM);
        }
        cause = one.source();
    }
    false
}

fn sent(error: Error) -> Failure {
    Failure::Sent {
        error,
        stale: false,
        again: None,
    }
}

/// A request without content once more.
fn again(request: &Request<Outgoing>) -> Box<Request<Outgoing>> {
    let mut again = Request::new(Outgoing::empty());
    *again.method_mut() = request.method().clone();
    *again.uri_mut() = request.uri().clone();
    *again.headers_mut() = request.headers().clone();
    *again.version_mut() = Version::HTTP_11;
    Box::new(again)
}

impl Failure {
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Unsent { error, .. } | Self::Sent { error, .. } => error,
        }
    }

    /// With the request in it once more, unless it came back by itself.
    fn or_again(mut self, spare: Option<Box<Request<Outgoing>>>) -> Self {
        if let Self::Sent { again, .. } = &mut self
            && again.is_none()
        {
            *again = spare;
        }
        self
    }

    fn at(self, label: &Arc<str>) -> Self {
        match self {
            Self::Unsent {
                request,
                error,
                stale,
            } => Self::Unsent {
                request,
                error: error.at(label),
                stale,
            },
            Self::Sent {
                error,
                stale,
                again,
            } => Self::Sent {
                error: error.at(label),
                stale,
                again,
            },
        }
    }
}
