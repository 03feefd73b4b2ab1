//! One server's lane: what it holds, and for how long. See `pool` for taking and putting.

use super::Identity;
use crate::{
    direct, fastcgi,
    link::{Http1, Http2, StreamQueue, StreamSlot},
};
use std::{collections::VecDeque, sync::Arc};
use tokio::{sync::Notify, time::Instant};

/// Most HTTP/2 connections from a worker to a server at a time. Most servers allow a hundred streams on each. Event
/// streams hold theirs for hours, and there may be some thousands.
const MOST_SHARED: usize = 64;

/// One worker's connections to one server.
#[derive(Default)]
pub(super) struct Lane {
    /// The last used is at the back: it has the most life left, and the others may grow old and go.
    pub(super) idle: VecDeque<Idle>,
    /// The oldest first. Another is added only if these were full, and removed when it has not been needed for a while.
    pub(super) http2: Vec<MultiplexedLink>,
    /// Set while a fetch makes the HTTP/2 connection. The others wait for it.
    pub(super) dialling: Option<Arc<Notify>>,
    /// Those that wait for a stream on any of the HTTP/2 connections.
    pub(super) queue: Arc<StreamQueue>,
    /// Whether ALPN agreed on HTTP/1.1 last time. Then there is nothing to share, and nobody waits.
    pub(super) chose_http1: bool,
}

impl Lane {
    /// Lets go of connections that may not be kept any more.
    pub(super) fn sweep(&mut self, now: Instant, origin: &Identity) {
        self.idle.retain_mut(|idle| {
            idle.link.may_rest() && now.duration_since(idle.since) < origin.idle_time
        });
        self.sweep_http2(now, origin);
    }

    /// Lets go of HTTP/2 connections that are closed, that have rested too long, or that rest beyond the number of idle
    /// ones. Requests under way on a closed one continue. The last of them closes the socket.
    pub(super) fn sweep_http2(&mut self, now: Instant, origin: &Identity) {
        self.http2.retain_mut(|one| {
            let rests = one.rests();
            if !rests {
                one.used = one.used.max(now);
            }
            let is_young = now.duration_since(one.used) < origin.idle_time;
            !one.link.is_closed() && (is_young || !rests)
        });
        // Who waits for a stream or a connection comes next, and takes a stream of one that rests.
        if self.http2.len() <= origin.idle_connections || self.is_awaited() {
            return;
        }
        let resting = self.http2.iter().filter(|one| one.rests()).count();
        let mut surplus = resting.saturating_sub(origin.idle_connections);
        self.http2.retain(|one| {
            let goes = surplus > 0 && one.rests();
            surplus -= usize::from(goes);
            !goes
        });
    }

    /// Adds an HTTP/2 connection. If the server chose HTTP/1.1 before, no fetch waits for another's connection, so that
    /// many may come at once.
    pub(super) fn add(&mut self, multiplexed: MultiplexedLink) {
        if self.has_most() {
            self.http2.remove(0);
        }
        self.http2.push(multiplexed);
    }

    /// Takes a stream of the first HTTP/2 connection that has room. The one that has refused the fetch before
    /// is the last choice, if there may be no more of them.
    pub(super) fn open(&mut self, now: Instant, refused_by: Option<u64>) -> Option<StreamSlot> {
        let has_room = |one: &MultiplexedLink| one.link.has_room();
        let is_other = |one: &MultiplexedLink| refused_by != Some(one.link.number());
        let other = self
            .http2
            .iter()
            .position(|one| has_room(one) && is_other(one));
        let index = other.or_else(|| {
            let any = self.http2.iter().position(has_room);
            any.filter(|_| self.has_most())
        })?;
        let multiplexed = self.http2.get_mut(index)?;
        multiplexed.used = now;
        Some(multiplexed.link.clone().slot())
    }

    pub(super) fn has_connections(&self) -> bool {
        !self.idle.is_empty() || !self.http2.is_empty()
    }

    /// Whether somebody waits for a stream, or makes an HTTP/2 connection.
    pub(super) fn is_awaited(&self) -> bool {
        self.dialling.is_some() || !self.queue.is_empty()
    }

    /// Whether there are HTTP/2 connections, and none of them has room.
    pub(super) fn is_full(&self) -> bool {
        !self.http2.is_empty() && !self.http2.iter().any(|one| one.link.has_room())
    }

    /// Whether there may be no more HTTP/2 connections.
    pub(super) fn has_most(&self) -> bool {
        self.http2.len() >= MOST_SHARED
    }
}

pub(super) struct Idle {
    pub(super) link: Single,
    pub(super) since: Instant,
}

/// A connection that carries one fetch at a time.
#[derive(Debug)]
pub(crate) enum Single {
    /// A connection made for a request with content or for an upgrade.
    Http1(Http1),
    Direct(direct::Link),
    FastCgi(fastcgi::Link),
}

impl Single {
    /// Whether nothing is under way on it, and the server has neither closed it nor said anything.
    pub(super) fn is_ready(&mut self) -> bool {
        match self {
            Self::Http1(link) => link.is_ready(),
            Self::Direct(link) => link.is_ready(),
            Self::FastCgi(link) => link.is_ready(),
        }
    }

    /// Whether it may lie idle.
    pub(super) fn may_rest(&mut self) -> bool {
        match self {
            Self::Http1(link) => link.may_rest(),
            Self::Direct(link) => link.may_rest(),
            Self::FastCgi(link) => link.may_rest(),
        }
    }
}

pub(super) struct MultiplexedLink {
    pub(super) link: Http2,
    /// When a stream began on it, or was last seen under way.
    pub(super) used: Instant,
}

impl MultiplexedLink {
    /// Whether no stream is under way on it.
    fn rests(&self) -> bool {
        self.link.under_way() == 0
    }
}
