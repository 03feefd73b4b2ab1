//! The connection that an attempt is made on: an idle one, a shared one, or a new one.

use super::{Attempt, Which};
use crate::{
    Error, Kind,
    connect::{self, Speaks},
    direct, fastcgi,
    link::{Http1, Http2},
    pool::{self, Key, Sharing, Single},
};
use tokio::{
    task::yield_now,
    time::{Instant, timeout_at},
};

/// A connection to send on.
pub(super) enum Line {
    Direct(direct::Link),
    Http1(Http1),
    Http2(Http2),
    FastCgi(fastcgi::Link),
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
    pub(super) async fn line(&self, engine: Engine) -> Result<Line, Error> {
        if !self.repeatable && self.which == Which::Any {
            // Lets the runtime look at its sockets, so that we know if a connection was closed in the meantime. A
            // request that may be sent twice need not wait for that.
            yield_now().await;
        }
        let now = self.began;
        if self.which == Which::Any
            && let Some(link) = pool::take(self.key(), now)
        {
            return match link {
                Single::Http1(link) => Ok(Line::Http1(link)),
                Single::Direct(link) => self.with(engine, link).await,
                Single::FastCgi(link) => Ok(Line::FastCgi(link)),
            };
        }
        if self.which == Which::Alone || self.needs_http1() || !self.origin.may_share() {
            return Box::pin(self.dial(engine, now)).await;
        }
        loop {
            match pool::shared(self.key(), now) {
                Some(Sharing::Open(link)) => return Ok(Line::Http2(link)),
                Some(Sharing::Make(_making)) => return Box::pin(self.dial(engine, now)).await,
                None => return Box::pin(self.dial(engine, now)).await,
                Some(Sharing::Wait(done)) => {
                    let wait = timeout_at(now + self.patience, done.notified());
                    wait.await.map_err(|_| Error::new(Kind::ConnectTimeout))?;
                }
            }
        }
    }

    /// Makes a new connection. Callers box this future: most fetches need none, and it is the largest part of an
    /// attempt.
    async fn dial(&self, engine: Engine, now: Instant) -> Result<Line, Error> {
        let limit = self.patience;
        let only_http1 = self.needs_http1();
        pool::tend();
        let dialled = connect::dial(self.origin, self.peer, only_http1, now + limit).await?;
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
        let link = timeout_at(now + limit, Http2::new(self.origin, dialled)).await;
        let link = link.map_err(|_| Error::new(Kind::ConnectTimeout))??;
        if self.which != Which::Alone {
            pool::share(self.key(), link.clone(), now);
        }
        Ok(Line::Http2(link))
    }

    /// Returns a connection of ours as it is, or hands it to hyper if the request needs hyper.
    async fn with(&self, engine: Engine, link: direct::Link) -> Result<Line, Error> {
        match engine {
            Engine::Any => Ok(Line::Direct(link)),
            Engine::Hyper => {
                let handing = Box::pin(Http1::over(self.origin, link));
                Ok(Line::Http1(handing.await?))
            }
        }
    }

    /// Whether the request needs HTTP/1.1. Only HTTP/1.1 has upgrades (RFC 9110 section 7.8). A server that is HTTP/2
    /// by configuration has no choice.
    fn needs_http1(&self) -> bool {
        self.asked.upgrade && !self.origin.config.protocol.is_http2()
    }

    fn key(&self) -> Key<'_> {
        Key {
            origin: &self.origin.identity,
            peer: self.peer.number,
        }
    }
}
