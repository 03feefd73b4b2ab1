//! Chooses one of an origin's servers.
//!
//! Healthy servers first, then healthy backups. If there are none, those at rest are asked all the same, each once a
//! request: like nginx, we would rather try than refuse. Servers that the active checks hold for down are never asked.

#![allow(
    clippy::cast_precision_loss,
    reason = "weights and counts of fetches are far below 2^52, and a share need not be exact"
)]

use crate::{config::Balance, health::Standing, peer::Peer};
use std::{sync::Arc, time::Duration};

/// What a choice depends on.
pub(crate) struct Choice<'a> {
    pub(crate) peers: &'a [Arc<Peer>],
    /// Servers already asked for this request.
    pub(crate) tried: &'a [usize],
    pub(crate) balance: Balance,
    /// `Context::hash`.
    pub(crate) hash: u64,
    pub(crate) now: u64,
    pub(crate) slow_start: Duration,
}

/// In which order groups of servers are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Primary,
    Backup,
    Resting,
}

/// A server that may be asked, as it was when it was looked at.
struct Candidate<'a> {
    peer: &'a Arc<Peer>,
    rank: Rank,
    weight: f64,
    /// Fetches under way for its weight, were it given one more.
    load: f64,
}

impl<'a> Choice<'a> {
    /// The server to ask; `turns` are the calling worker's own. `None`: nobody is left.
    pub(crate) fn make(&self, turns: &mut [i64]) -> Option<&'a Arc<Peer>> {
        if let [only] = self.peers {
            return self.allows(only).then_some(only);
        }
        // Each is looked at once: other workers change what is compared.
        let weighed = self.peers.iter().filter_map(|peer| self.candidate(peer));
        let mut all: Vec<Candidate<'_>> = weighed.collect();
        let best = all.iter().map(|one| one.rank).min()?;
        all.retain(|one| one.rank == best);
        match self.balance {
            Balance::RoundRobin => in_turn(&all, turns),
            Balance::LeastConnections => {
                let least = all.iter().map(|one| one.load).min_by(f64::total_cmp)?;
                all.retain(|one| one.load <= least);
                in_turn(&all, turns)
            }
            Balance::ConsistentHash => all
                .iter()
                .map(|one| (one.peer, score(self.hash, one.peer, one.weight)))
                .max_by(|(_, one), (_, other)| one.total_cmp(other))
                .map(|(peer, _)| peer),
        }
    }

    /// Whether `peer` may be asked.
    pub(crate) fn allows(&self, peer: &Peer) -> bool {
        self.weigh(peer).is_some()
    }

    fn candidate(&self, peer: &'a Arc<Peer>) -> Option<Candidate<'a>> {
        let (rank, weight) = self.weigh(peer)?;
        let load = (peer.active() + 1) as f64 / weight;
        Some(Candidate {
            peer,
            rank,
            weight,
            load,
        })
    }

    /// A server's rank and its weight as of now.
    fn weigh(&self, peer: &Peer) -> Option<(Rank, f64)> {
        if self.tried.contains(&peer.index) {
            return None;
        }
        let weight = f64::from(peer.weight);
        match peer.health.standing(self.now, self.slow_start) {
            Standing::Down => None,
            Standing::Resting => Some((Rank::Resting, weight)),
            Standing::Healthy(share) if peer.backup => Some((Rank::Backup, weight * share)),
            Standing::Healthy(share) => Some((Rank::Primary, weight * share)),
        }
    }
}

/// Smooth weighted round robin, as nginx does it: each candidate gains its weight, the highest is chosen and pays the
/// sum, so that a heavy server's turns are spread out.
fn in_turn<'a>(candidates: &[Candidate<'a>], turns: &mut [i64]) -> Option<&'a Arc<Peer>> {
    let mut sum = 0;
    let mut best: Option<(&Arc<Peer>, i64)> = None;
    for one in candidates {
        let peer = one.peer;
        let Some(turn) = turns.get_mut(peer.index) else {
            continue;
        };
        // Hundredths, for a share in slow start.
        let weight = ((one.weight * 100.0) as i64).max(1);
        *turn += weight;
        sum += weight;
        if best.is_none_or(|(_, highest)| *turn > highest) {
            best = Some((peer, *turn));
        }
    }
    let (peer, _) = best?;
    if let Some(turn) = turns.get_mut(peer.index) {
        *turn -= sum;
    }
    Some(peer)
}

/// Weighted rendezvous hashing (Thaler and Ravishankar's highest random weight, with logarithmic weights): when a
/// server goes, only its own share moves.
fn score(hash: u64, peer: &Peer, weight: f64) -> f64 {
    let mixed = peer
        .label
        .bytes()
        .fold(mix(hash), |sum, byte| mix(sum ^ u64::from(byte)));
    // 53 bits make an even number between 0 and 1, exclusive.
    let even = ((mixed >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    weight / -even.ln()
}

/// A bijective scramble: multiply by an odd number, fold the high half down.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    value ^ (value >> 29)
}

#[cfg(test)]
mod tests;
