//! One server's lane: what lies in it, and for how long. Who takes and puts is told in `pool`.

use crate::{
    direct, fastcgi,
    link::{Http1, Http2},
};
use std::{collections::VecDeque, sync::Arc, time::Duration};
use tokio::{sync::Notify, time::Instant};

/// One worker's connections to one server.
#[derive(Default)]
pub(super) struct Lane {
    /// The one used last at the back: it has the most life left, and the others may grow old and go.
    pub(super) idle: VecDeque<Idle>,
    pub(super) http2: Option<Shared>,
    /// Somebody is making the HTTP/2 connection; the others wait for it.
    pub(super) dialling: Option<Arc<Notify>>,
    /// ALPN settled on HTTP/1.1 last time: nothing to share, so nobody waits.
    pub(super) chose_http1: bool,
}

impl Lane {
    pub(super) fn sweep(&mut self, now: Instant, idle_time: Duration) {
        self.idle
            .retain_mut(|idle| idle.link.may_rest() && now.duration_since(idle.since) < idle_time);
        if let Some(shared) = &mut self.http2 {
            if !shared.link.is_idle() {
                shared.used = now;
            }
            if shared.link.is_closed() || now.duration_since(shared.used) >= idle_time {
                self.http2 = None;
            }
        }
    }
}

pub(super) struct Idle {
    pub(super) link: Single,
    pub(super) since: Instant,
}

/// A connection that carries one fetch at a time.
#[derive(Debug)]
pub(crate) enum Single {
    /// Made for a request with content or for an upgrade.
    Http1(Http1),
    Direct(direct::Link),
    FastCgi(fastcgi::Link),
}

impl Single {
    pub(super) fn epoch(&self) -> u64 {
        match self {
            Self::Http1(link) => link.epoch,
            Self::Direct(link) => link.epoch,
            Self::FastCgi(link) => link.epoch,
        }
    }

    /// Nothing is under way on it and the server has not closed it.
    pub(super) fn is_ready(&mut self) -> bool {
        match self {
            Self::Http1(link) => link.is_ready(),
            Self::Direct(link) => link.is_ready(),
            Self::FastCgi(link) => link.is_ready(),
        }
    }

    /// It may lie idle.
    pub(super) fn may_rest(&mut self) -> bool {
        match self {
            Self::Http1(link) => link.is_ready(),
            Self::Direct(link) => link.may_rest(),
            Self::FastCgi(link) => link.may_rest(),
        }
    }
}

pub(super) struct Shared {
    pub(super) link: Http2,
    pub(super) used: Instant,
}
