//! An origin that is one or several servers.

use crate::{
    Context, Error, Fetching, Heeds, Kind, OriginConfig, Report, RequestBody, budget,
    config::{Balance, Protocol},
    fastcgi,
    fetch::{self, Bounds},
    files,
    files::Files,
    gate,
    health::TakenTrial,
    message::Upgrade,
    peer::Peer,
    pool,
    refused::Refused,
    roster::Roster,
    tls, watch,
};
use http::{HeaderValue, Request};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};
use tokio::time::Instant;

/// The servers of one origin, their health, and its limits.
#[derive(Debug)]
pub(crate) struct Servers {
    pub(crate) config: OriginConfig,
    pub(crate) roster: Arc<Roster>,
    pub(crate) gate: Arc<gate::Gate>,
    /// Fetches whose content is still on its way have a turn here as well. There are fewer of these.
    pub(crate) uploads: Arc<gate::Gate>,
    pub(crate) budget: budget::Budget,
    pub(crate) tls: Option<tls::Client>,
    /// Identifies this origin in the workers' pools. They drop their connections when it is dropped.
    pub(crate) identity: Arc<pool::Identity>,
    /// The files next to the scripts.
    pub(crate) files: Option<Files>,
    /// What scripts wrote to standard error, for the log.
    pub(crate) complaints: Arc<fastcgi::Complaints>,
    /// Whether a script that answers for what does not exist has ever been there.
    pub(crate) had_front: AtomicBool,
    refused: Refused,
}

impl Servers {
    /// See `Origin::new`.
    pub(crate) fn new(config: OriginConfig) -> Result<Arc<Self>, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        if config.servers.is_empty() {
            return Err(Error::new(Kind::Configuration).because("the origin has no server"));
        }
        let tls = config
            .tls
            .as_ref()
            .map(|tls| tls::Client::new(tls, &config.protocol))
            .transpose()?;
        let roster = Arc::new(Roster::new(&config.servers, tls.as_ref())?);
        let identity = pool::Identity {
            number: NUMBER.fetch_add(1, Relaxed),
            roster: Arc::clone(&roster),
            idle_connections: config.idle_connections,
            idle_time: config.idle_time,
        };
        let gate = gate::Gate::new(config.concurrency);
        let uploads = gate.beside(config.concurrency.for_uploads());
        let (files, had_front) = match &config.protocol {
            Protocol::FastCgi(cgi) => {
                let files = Files::new(files::Config {
                    name: config.name.clone(),
                    root: cgi.root.clone(),
                    concurrency: config.concurrency,
                })?;
                (Some(files), cgi.has_front())
            }
            _ => (None, false),
        };
        Ok(Arc::new(Self {
            roster,
            gate: Arc::new(gate),
            uploads: Arc::new(uploads),
            budget: budget::Budget::default(),
            tls,
            identity: Arc::new(identity),
            files,
            complaints: Arc::default(),
            had_front: had_front.into(),
            refused: Refused::default(),
            config,
        }))
    }

    /// Whether both were made of the same configuration, with the same authorities in the files that it names.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let believes = match (&self.tls, &other.tls) {
            (Some(one), Some(other)) => one.believes_as(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        self.config == other.config && believes
    }

    /// Returns the name from the configuration.
    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    /// See `Origin::fetch`.
    pub(crate) fn fetch(
        self: &Arc<Self>,
        request: Request<RequestBody>,
        context: Context,
        began: Instant,
    ) -> Fetching<'_> {
        match &self.config.protocol {
            Protocol::FastCgi(cgi) => Box::pin(fastcgi::fetch(self, cgi, request, context)),
            _ => Box::pin(fetch::fetch(
                self,
                request,
                context,
                None,
                self.bounds(began),
            )),
        }
    }

    /// Records that `peer` begins to answer what it was asked at `began`. If it has `switched` to another protocol,
    /// that is all of the answer.
    pub(crate) fn note_head(&self, peer: &Peer, began: Instant, switched: bool) {
        if peer.health.is_good() {
            return;
        }
        if switched {
            self.praise(peer, began);
        } else {
            peer.health.answers(self.at(began), self.now());
        }
    }

    /// Records that `peer` has answered what it was asked at `began`. It is in good health, and this is logged if the
    /// log said otherwise.
    pub(crate) fn praise(&self, peer: &Peer, began: Instant) {
        if !peer.health.is_good() && peer.health.succeeded(self.at(began), self.now()) {
            self.tell_of(peer);
        }
    }

    /// Records that the rest of `peer`'s answer to what it was asked at `began` is not read, which is not its fault.
    pub(crate) fn excuse(&self, peer: &Peer, began: Instant) {
        if !peer.health.is_good() && peer.health.was_left(self.at(began), self.now()) {
            self.tell_of(peer);
        }
    }

    /// Records that what came of a request says nothing of `peer`, which was on `trial` with it.
    pub(crate) fn leave_untried(&self, peer: &Peer, trial: TakenTrial) {
        peer.health.give_back(trial, self.now());
    }

    /// Logs that `peer` is in good health again.
    fn tell_of(&self, peer: &Peer) {
        let (origin, server) = (self.name(), &peer.label);
        tracing::info!(origin, %server, "server answers again");
    }

    /// Records that `peer` is at fault for `error`. This is logged if it is news.
    pub(crate) fn blame(&self, peer: &Peer, error: &Error) {
        peer.server.failures.fetch_add(1, Relaxed);
        if peer.health.failed(self.now(), self.config.passive) {
            tracing::warn!(origin = self.name(), %error, "server fails");
        }
    }

    /// Logs that no server was asked, for a reason that somebody has to mend.
    pub(crate) fn refuse(&self, error: &Error) {
        self.refused.tell(self.name(), error);
    }

    /// See `Origin::keep_watch`.
    pub(crate) async fn keep_watch(self: Arc<Self>) {
        watch::keep(self).await;
    }

    /// Returns a snapshot for metrics and the admin API.
    pub(crate) fn report(&self) -> Report {
        Report {
            name: self.config.name.clone(),
            active: self.gate.active(),
            queued: self.gate.waiting() + self.uploads.waiting(),
            servers: self.roster.report(self.now(), self.config.slow_start),
            ..Report::default()
        }
    }

    /// Returns the bounds of a fetch that begins at `began`.
    pub(crate) fn bounds(&self, began: Instant) -> Bounds {
        let whole = self.config.timeouts.whole;
        let until = whole.map(|whole| began + whole);
        Bounds { began, until }
    }

    /// Returns the milliseconds since the origin was made.
    pub(crate) fn now(&self) -> u64 {
        self.at(Instant::now())
    }

    /// Like [`now`](Self::now), for a known moment.
    pub(crate) fn at(&self, moment: Instant) -> u64 {
        self.roster.at(moment)
    }

    /// See `Origin::heeds`.
    pub(crate) fn heeds(&self) -> Heeds {
        Heeds {
            key: self.config.balance == Balance::ConsistentHash,
            asker: matches!(self.config.protocol, Protocol::FastCgi(_)),
        }
    }

    /// Whether the configuration says that no server has upgrades: all speak HTTP/2, and none is asked in a handshake what
    /// else it speaks.
    pub(crate) fn lacks_upgrades(&self) -> bool {
        self.config.protocol.is_http2() && self.tls.is_none()
    }

    /// See `Origin::heeds_upgrade`.
    pub(crate) fn heeds_upgrade(&self, protocols: &HeaderValue) -> bool {
        let has_upgrades = match self.config.protocol {
            Protocol::FastCgi(_) => return false,
            _ => !self.lacks_upgrades(),
        };
        has_upgrades || Upgrade::of(protocols) == Upgrade::Needed
    }

    /// Whether servers may turn out to speak HTTP/2, whose connections are shared.
    pub(crate) fn may_share(&self) -> bool {
        match &self.config.protocol {
            Protocol::Http1 | Protocol::FastCgi(_) => false,
            Protocol::Http2 => true,
            Protocol::Auto => self.tls.is_some(),
        }
    }
}
