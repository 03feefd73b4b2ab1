//! The connection that an attempt is made on: an idle one, a shared one, or a new one.

use super::{Attempt, Said, Which};
use crate::{
    Error, Kind,
    connect::{self, Speaks},
    direct, fastcgi,
    link::{Http1, Http2, StreamQueue, StreamSlot},
    pool::{self, Key, Sharing, Single, StreamWish},
};
use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};
use tokio::{
    task::yield_now,
    time::{Instant, timeout_at},
};

/// How long ago a connection may have been used at most for a request that must not be sent twice. Servers close idle ones
/// after a time of their own (gunicorn 2 s, Node and uvicorn 5 s), and what is sent at that moment is lost.
const JUST_USED: Duration = Duration::from_secs(1);

/// A connection to send on.
pub(super) enum Connection {
    Direct(direct::Link),
    Http1(Http1),
    Http2(StreamSlot),
    FastCgi(fastcgi::Link),
}

impl Connection {
    /// Returns the counter of how often it was written to. `None`: others share it.
    pub(super) fn written(&self) -> Option<Arc<AtomicU64>> {
        match self {
            Self::Direct(link) => Some(link.stream.written()),
            Self::Http1(link) => Some(link.written()),
            Self::FastCgi(link) => Some(link.stream.written()),
            Self::Http2(_) => None,
        }
    }
}

/// Which implementation of HTTP/1.1 a request needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    /// Any: the request has no content and asks for no upgrade.
    Any,
    Hyper,
}

impl Attempt<'_> {
    /// Returns an idle connection, the shared one, or a new one.
    pub(super) async fn connection(&self, engine: Engine) -> Result<Connection, Error> {
        if !self.repeatable && self.which == Which::Any {
            // Lets the runtime look at its sockets, so that we know if a connection was closed in the meantime. A
            // request that may be sent twice need not wait for that.
            yield_now().await;
        }
        let now = self.began;
        let within = if self.repeatable {
            Duration::MAX
        } else {
            JUST_USED
        };
        // Behind an upgrade that was declined, a connection of HTTP/1.1 is there also where all else is HTTP/2.
        let may_be_single = !self.origin.config.protocol.is_http2() || self.needs_http1();
        if self.which == Which::Any
            && may_be_single
            && let Some(link) = pool::take(self.key(), now, within)
        {
            return match link {
                Single::Http1(link) => Ok(Connection::Http1(link)),
                Single::Direct(link) => self.with(engine, link).await,
                Single::FastCgi(link) => Ok(Connection::FastCgi(link)),
            };
        }
        if self.which == Which::Alone || self.needs_http1() || !self.origin.may_share() {
            return Box::pin(self.dial(engine, now)).await;
        }
        let shared = Box::pin(self.share(engine)).await;
        match self.said {
            Said::Refused { by } => shared.or_else(|error| self.same_again(by, error)),
            Said::Nothing | Said::WantsHttp1 => shared,
        }
    }

    /// Returns a stream on a connection that there is, for a request that one of them refused when no other could be made.
    fn same_again(&self, refused_by: u64, error: Error) -> Result<Connection, Error> {
        match pool::room(self.key(), Instant::now(), refused_by) {
            Some(slot) => Ok(Connection::Http2(slot)),
            // The server that took no more requests took no more connections either.
            None => Err(Error::new(Kind::StreamRefused).because(error)),
        }
    }

    /// Returns a stream on a shared connection, or a new connection if there is to be one more.
    async fn share(&self, engine: Engine) -> Result<Connection, Error> {
        let mut now = self.began;
        let mut sharing = self.ask_pool(now, false);
        loop {
            sharing = match sharing {
                Some(Sharing::Open(slot)) => return Ok(Connection::Http2(slot)),
                Some(Sharing::Make(_making)) => return self.dial(engine, now).await,
                None => return self.dial(engine, now).await,
                Some(Sharing::Wait(done)) => {
                    let wait = timeout_at(self.connected_by(now), done.notified());
                    wait.await.map_err(|_| Error::new(Kind::ConnectTimeout))?;
                    self.ask_pool(now, false)
                }
                Some(Sharing::Full(queue)) => {
                    let next = self.after_others(&queue).await?;
                    now = Instant::now();
                    next
                }
            }
        }
    }

    fn ask_pool(&self, now: Instant, is_first: bool) -> Option<Sharing> {
        let refused_by = match self.said {
            Said::Refused { by } => Some(by),
            Said::Nothing | Said::WantsHttp1 => None,
        };
        let wish = StreamWish {
            is_first,
            refused_by,
        };
        pool::shared(self.key(), now, wish)
    }

    /// Waits for its turn and for room on any of the connections, as long as an answer may take to begin. Returns what
    /// is to be done then.
    async fn after_others(&self, queue: &StreamQueue) -> Result<Option<Sharing>, Error> {
        let limit = self.began + self.origin.config.timeouts.first_byte;
        let limit = self.until.map_or(limit, |until| until.min(limit));
        let found = timeout_at(limit, async {
            let _first = queue.first().await;
            loop {
                match self.ask_pool(Instant::now(), true) {
                    Some(Sharing::Full(_)) => queue.news().await,
                    found => return found,
                }
            }
        });
        // Not left to `h2`: it would send the request later even if nobody waited for it any more.
        found.await.map_err(|_| Error::new(Kind::QueueTimeout))
    }

    /// Returns until when a connection must be made that is wanted `now`.
    fn connected_by(&self, now: Instant) -> Instant {
        let limit = now + self.patience;
        self.until.map_or(limit, |until| until.min(limit))
    }

    /// Makes a new connection. Callers box this future: most fetches need none, and it is the largest part of an
    /// attempt.
    async fn dial(&self, engine: Engine, now: Instant) -> Result<Connection, Error> {
        let limit = self.connected_by(now);
        let only_http1 = self.needs_http1();
        pool::tend();
        let dialled = connect::dial(self.origin, self.peer, only_http1, limit).await?;
        if dialled.speaks == Speaks::FastCgi {
            return Ok(Connection::FastCgi(fastcgi::Link::new(dialled, self.peer)));
        }
        if dialled.speaks == Speaks::Http1 {
            if self.origin.may_share() && !only_http1 {
                pool::note_http1(self.key());
            }
            let first_byte = self.origin.config.timeouts.first_byte;
            let link = direct::Link::new(dialled, first_byte);
            return self.with(engine, link).await;
        }
        let queue = pool::queue(self.key());
        let link = timeout_at(limit, Http2::new(self.origin, dialled, queue)).await;
        let link = link.map_err(|_| Error::new(Kind::ConnectTimeout))??;
        let slot = link.clone().slot();
        if self.which != Which::Alone {
            pool::share(self.key(), link, now);
        }
        Ok(Connection::Http2(slot))
    }

    /// Returns a connection of ours as it is, or hands it to hyper if the request needs hyper.
    async fn with(&self, engine: Engine, link: direct::Link) -> Result<Connection, Error> {
        match engine {
            Engine::Any => Ok(Connection::Direct(link)),
            Engine::Hyper => {
                let handing = Box::pin(Http1::over(self.origin, link));
                Ok(Connection::Http1(handing.await?))
            }
        }
    }

    /// Whether the request needs HTTP/1.1. Only HTTP/1.1 has upgrades (RFC 9110 section 7.8). A server that is HTTP/2
    /// by configuration is asked for it by no other request.
    fn needs_http1(&self) -> bool {
        self.asked.upgrade.is_some()
            || (self.said == Said::WantsHttp1 && !self.origin.config.protocol.is_http2())
    }

    fn key(&self) -> Key<'_> {
        Key {
            origin: &self.origin.identity,
            peer: self.peer.number,
        }
    }
}
