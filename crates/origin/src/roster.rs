//! An origin's servers as known now: those of the configuration, and the addresses of each.
//!
//! A choice is made among `Peer`s, one for each address. When a name gets other addresses, those that stay continue
//! with their health and connections. The others are not chosen any more, and the workers drop their idle connections
//! (`pool::tend`).

use crate::{
    Error, ServerReport,
    config::Server,
    health::Availability,
    peer::{Configured, Peer},
    pool,
    resolve::{MOST, Pair, pair},
    tls,
};
use arc_swap::{ArcSwap, Guard};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

/// Servers and their addresses.
#[derive(Debug)]
pub(crate) struct Roster {
    servers: Vec<Arc<Configured>>,
    /// In the configuration's order, with those of one name next to each other.
    peers: ArcSwap<Vec<Arc<Peer>>>,
    /// The next peer's number. Locked while peers are made.
    next: Mutex<u64>,
    changed: Notify,
    /// The origin of time for health and budget, which count milliseconds.
    born: Instant,
}

impl Roster {
    pub(crate) fn new(configured: &[Server], tls: Option<&tls::Client>) -> Result<Self, Error> {
        let mut servers = Vec::new();
        let mut peers = Vec::new();
        let mut next = 0;
        for (index, server) in configured.iter().enumerate() {
            let (server, place) = Configured::new(index, server, tls)?;
            let server = Arc::new(server);
            peers.push(Arc::new(Peer::new(next, Arc::clone(&server), place)));
            servers.push(server);
            next += 1;
        }
        Ok(Self {
            servers,
            peers: ArcSwap::from_pointee(peers),
            next: Mutex::new(next),
            changed: Notify::new(),
            born: Instant::now(),
        })
    }

    /// Returns the servers of the configuration.
    pub(crate) fn servers(&self) -> &[Arc<Configured>] {
        &self.servers
    }

    /// Returns all addresses known now.
    pub(crate) fn peers(&self) -> Guard<Arc<Vec<Arc<Peer>>>> {
        self.peers.load()
    }

    /// Whether `peer` is one of them.
    pub(crate) fn has(&self, peer: &Peer) -> bool {
        let peers = self.peers();
        peers.iter().any(|one| one.number == peer.number)
    }

    /// Returns how many addresses `peer`'s server has.
    pub(crate) fn count(&self, peer: &Peer) -> usize {
        of(&peer.server, &self.peers()).count()
    }

    /// Waits until the addresses have changed since the last call. Only one task at a time may call this.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Returns `moment` as milliseconds since the origin was made.
    pub(crate) fn at(&self, moment: Instant) -> u64 {
        moment.saturating_duration_since(self.born).as_millis() as u64
    }

    /// Finds the addresses of a name that has none yet. After a failure it fails again at once for a while, so that
    /// requests do not queue up behind a dead resolver.
    pub(crate) async fn resolve(self: &Arc<Self>, server: &Arc<Configured>) -> Result<(), Error> {
        if !of(server, &self.peers()).any(|peer| peer.is_unknown()) {
            return Ok(());
        }
        let failed = server.name.as_ref().and_then(|name| name.just_failed());
        match failed {
            Some(error) => Err(error),
            None => self.refresh(server).await,
        }
    }

    /// Resolves a name again. On failure the last good answer stays.
    pub(crate) async fn refresh(self: &Arc<Self>, server: &Arc<Configured>) -> Result<(), Error> {
        let Some(name) = &server.name else {
            return Ok(());
        };
        let (this, own) = (Arc::clone(self), Arc::clone(server));
        name.ask(move |found| this.learn(&own, found)).await
    }

    /// Whether an address of `server` is known.
    pub(crate) fn knows(&self, server: &Configured) -> bool {
        of(server, &self.peers()).any(|peer| !peer.is_unknown())
    }

    /// Records the addresses of `server`.
    pub(crate) fn learn(&self, server: &Arc<Configured>, found: Vec<SocketAddr>) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let peers = self.peers.load_full();
        let known: Vec<Pair> = of(server, &peers).filter_map(|peer| peer.pair()).collect();
        let mut pairs = pair(found, &known);
        let all = pairs.len();
        pairs.truncate(MOST);
        if pairs == known {
            return;
        }
        if all > MOST {
            let (server, used) = (&server.label, MOST);
            tracing::warn!(%server, addresses = all, used, "the name has more addresses than are used");
        }
        let joined = (!known.is_empty()).then(|| self.at(Instant::now()));
        let mut own = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let stays = of(server, &peers).find(|peer| peer.pair() == Some(pair));
            own.push(stays.cloned().unwrap_or_else(|| {
                let number = *next;
                *next += 1;
                Arc::new(Peer::found(number, server, pair, joined))
            }));
        }
        let before = peers.iter().filter(|peer| peer.server.index < server.index);
        let after = peers.iter().filter(|peer| peer.server.index > server.index);
        let all = before.cloned().chain(own).chain(after.cloned());
        self.peers.store(Arc::new(all.collect()));
        drop(next);
        pool::forget_gone();
        self.changed.notify_one();
    }

    /// Returns a snapshot at `now`, by server.
    pub(crate) fn report(&self, now: u64, slow_start: Duration) -> Vec<ServerReport> {
        let peers = self.peers();
        let healthy = |peer: &Arc<Peer>| {
            let availability = peer.health.availability(now, slow_start);
            matches!(availability, Availability::Healthy(_))
        };
        let down =
            |peer: &Arc<Peer>| peer.health.availability(now, slow_start) == Availability::Down;
        let servers = self.servers.iter().map(|server| ServerReport {
            address: server.label.to_string(),
            healthy: of(server, &peers).any(healthy),
            down: of(server, &peers).all(down),
            active: of(server, &peers).map(|peer| peer.active()).sum(),
            failures: server.failures.load(Relaxed),
        });
        servers.collect()
    }
}

/// Returns the addresses of `server`.
fn of<'a>(
    server: &Configured,
    peers: &'a [Arc<Peer>],
) -> impl Iterator<Item = &'a Arc<Peer>> + use<'a> {
    let index = server.index;
    peers.iter().filter(move |peer| peer.server.index == index)
}

#[cfg(test)]
mod tests;
