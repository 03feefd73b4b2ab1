//! Chooses one of an origin's servers. Each address of a name counts as one.
//!
//! Healthy servers come first, then healthy backups. In each group are also servers that have rested: each gets one
//! request as a trial. If neither group has any, resting servers are asked all the same, each once per request: like
//! nginx, we would rather try than refuse. Servers that the active checks consider down are never asked.

#![allow(
    clippy::cast_precision_loss,
    reason = "weights and counts of fetches are far below 2^52, and a share need not be exact"
)]

use crate::{
    config::Balance,
    health::{Availability, TakenTrial, Trial},
    peer::Peer,
    pool::WrrWeights,
};
use std::{net::IpAddr, sync::Arc, time::Duration};

/// What a choice depends on.
pub(crate) struct Choice<'a> {
    pub(crate) peers: &'a [Arc<Peer>],
    /// Servers already asked for this request.
    pub(crate) tried: &'a [u64],
    pub(crate) balance: Balance,
    /// `Context::hash`.
    pub(crate) hash: u64,
    pub(crate) now: u64,
    pub(crate) slow_start: Duration,
    /// How long other requests leave a server alone after one has begun its trial.
    pub(crate) rest: Duration,
}

/// The server to ask.
pub(crate) struct Chosen<'a> {
    pub(crate) peer: &'a Arc<Peer>,
    /// Its trial, which was taken for this request.
    pub(crate) trial: Option<TakenTrial>,
}

/// The order in which groups of servers are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Primary,
    Backup,
    Resting,
}

/// How a server may be asked.
#[derive(Clone, Copy)]
struct Standard {
    rank: Rank,
    weight: f64,
    /// The trial to take before the request is sent.
    trial: Option<Trial>,
}

/// A server that may be asked, in the state in which it was looked at.
struct Candidate<'a> {
    peer: &'a Arc<Peer>,
    standard: Standard,
    /// Fetches under way in proportion to its weight. Idle servers are equal, and take turns by their weights.
    load: f64,
}

impl<'a> Choice<'a> {
    /// Chooses the server to ask. `weights` are the calling worker's own. `None`: no server is left.
    pub(crate) fn make(&self, weights: &mut WrrWeights) -> Option<Chosen<'a>> {
        loop {
            let Candidate { peer, standard, .. } = self.best(weights)?;
            let Some(trial) = standard.trial else {
                return Some(Chosen { peer, trial: None });
            };
            // If another request took the trial first, the server is at rest for this one.
            let trial = peer.health.take(trial, self.now, self.rest);
            if trial.is_some() {
                return Some(Chosen { peer, trial });
            }
        }
    }

    /// Whether `peer` may be asked.
    pub(crate) fn allows(&self, peer: &Peer) -> bool {
        self.weigh(peer).is_some()
    }

    fn best(&self, weights: &mut WrrWeights) -> Option<Candidate<'a>> {
        // Each server is looked at once, because other workers change what is compared.
        let weighed = self.peers.iter().filter_map(|peer| self.candidate(peer));
        let mut all: Vec<Candidate<'_>> = weighed.collect();
        let best = all.iter().map(|one| one.standard.rank).min()?;
        all.retain(|one| one.standard.rank == best);
        match self.balance {
            Balance::RoundRobin => in_turn(all, weights),
            Balance::LeastConnections => {
                let least = all.iter().map(|one| one.load).min_by(f64::total_cmp)?;
                all.retain(|one| one.load <= least);
                in_turn(all, weights)
            }
            Balance::ConsistentHash => all
                .into_iter()
                .map(|one| (self.score(&one), one))
                .max_by(|(one, _), (other, _)| one.total_cmp(other))
                .map(|(_, one)| one),
        }
    }

    fn candidate(&self, peer: &'a Arc<Peer>) -> Option<Candidate<'a>> {
        let standard = self.weigh(peer)?;
        let load = peer.active() as f64 / standard.weight;
        Some(Candidate {
            peer,
            standard,
            load,
        })
    }

    /// Weighted rendezvous hashing (Thaler and Ravishankar's highest random weight, with logarithmic weights).
    ///
    /// When a server goes, only its own share moves. If a name has several addresses, each is hashed by its own. If it
    /// has only one, that may change and everything stays where it was.
    fn score(&self, one: &Candidate<'_>) -> f64 {
        let Candidate { peer, standard, .. } = one;
        let server = peer.server.index;
        let is_one_of =
            |other: &Arc<Peer>| other.server.index == server && other.number != peer.number;
        let named = fold(mix(self.hash), peer.server.label.as_bytes());
        let mixed = match peer.pair().map(|pair| pair.own.ip()) {
            Some(ip) if self.peers.iter().any(is_one_of) => match ip {
                IpAddr::V4(ip) => fold(named, &ip.octets()),
                IpAddr::V6(ip) => fold(named, &ip.octets()),
            },
            _ => named,
        };
        // 53 bits make an evenly distributed number between 0 and 1, exclusive.
        let even = ((mixed >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        standard.weight / -even.ln()
    }

    /// Returns how a server may be asked now.
    fn weigh(&self, peer: &Peer) -> Option<Standard> {
        if self.tried.contains(&peer.number) {
            return None;
        }
        let rank = if peer.server.backup {
            Rank::Backup
        } else {
            Rank::Primary
        };
        let (rank, share, trial) = match peer.health.availability(self.now, self.slow_start) {
            Availability::Down => return None,
            Availability::Resting => (Rank::Resting, 1.0, None),
            Availability::Rested(trial) => (rank, 1.0, Some(trial)),
            Availability::Healthy(share) => (rank, share, None),
        };
        Some(Standard {
            rank,
            weight: f64::from(peer.server.weight) * share,
            trial,
        })
    }
}

/// Smooth weighted round robin, as in nginx: each candidate gains its weight, then the highest is chosen and pays the
/// sum. This spreads out a heavy server's turns.
fn in_turn<'a>(candidates: Vec<Candidate<'a>>, weights: &mut WrrWeights) -> Option<Candidate<'a>> {
    let mut sum = 0;
    let mut best: Option<(Candidate<'a>, i64)> = None;
    for one in candidates {
        let current = weights.entry(one.peer.number).or_default();
        // In hundredths, because of shares in slow start.
        let weight = ((one.standard.weight * 100.0) as i64).max(1);
        *current += weight;
        sum += weight;
        if best.as_ref().is_none_or(|(_, highest)| *current > *highest) {
            best = Some((one, *current));
        }
    }
    let (chosen, _) = best?;
    *weights.entry(chosen.peer.number).or_default() -= sum;
    Some(chosen)
}

fn fold(sum: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(sum, |sum, byte| mix(sum ^ u64::from(*byte)))
}

/// A bijective scramble: multiplies by an odd number and folds the high half down.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    value ^ (value >> 29)
}

#[cfg(test)]
mod tests;
