//! What the workers of the listeners share: the limits, and how much of them is used.

use super::{
    config::Limits,
    counters::{Counters, Snapshot, add},
};
use arc_swap::ArcSwap;
use origin::seldom::Seldom;
use std::{
    collections::HashMap,
    mem,
    net::IpAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// The counters of accept loops.
#[derive(Debug, Default)]
struct Workers {
    /// Of the loops that run, or whose last connections do.
    at_work: Vec<Arc<Counters>>,
    /// The sum over the loops that have ended.
    ended: Snapshot,
}

impl Workers {
    /// Adds up the counters of loops that have ended. Nothing else of them is kept.
    fn settle(&mut self) {
        for counters in mem::take(&mut self.at_work) {
            match Arc::try_unwrap(counters) {
                Ok(ended) => self.ended = self.ended + ended.snapshot(),
                Err(counters) => self.at_work.push(counters),
            }
        }
    }
}

/// Limits and occupancy, one for all listeners (or one for each, if they are not to share).
#[derive(Debug)]
pub struct ConnectionLimiter {
    limits: ArcSwap<Limits>,
    open: AtomicUsize,
    by_address: Mutex<HashMap<IpAddr, usize>>,
    workers: Mutex<Workers>,
    /// Limits how often the workers together log that no connection can be accepted.
    pub(super) cannot_accept: Seldom,
}

impl ConnectionLimiter {
    /// A limiter with no open connections.
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            limits: ArcSwap::from_pointee(limits),
            open: AtomicUsize::new(0),
            by_address: Mutex::default(),
            workers: Mutex::default(),
            cannot_accept: Seldom::default(),
        })
    }

    /// Sets the limits for new connections. Open connections keep theirs, except for the times that the coarse clock
    /// judges.
    pub fn set_limits(&self, limits: Limits) {
        self.limits.store(Arc::new(limits));
    }

    /// The limits in force.
    pub fn limits(&self) -> Arc<Limits> {
        self.limits.load_full()
    }

    /// The counters of all workers added up.
    pub fn snapshot(&self) -> Snapshot {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let at_work = workers.at_work.iter().map(|counters| counters.snapshot());
        at_work.fold(workers.ended, |sum, one| sum + one)
    }

    /// Returns counters for one more accept loop. `snapshot` includes their values for good.
    pub(super) fn enlist(&self) -> Arc<Counters> {
        let counters = Arc::new(Counters::default());
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.settle();
        workers.at_work.push(Arc::clone(&counters));
        counters
    }

    /// Takes a place among all connections; `None` if there is none.
    pub(super) fn claim(
        self: &Arc<Self>,
        most: usize,
        counters: &Arc<Counters>,
    ) -> Option<ConnectionSlot> {
        if self.open.fetch_add(1, Relaxed) >= most {
            self.open.fetch_sub(1, Relaxed);
            add(&counters.refused, 1);
            return None;
        }
        add(&counters.accepted, 1);
        Some(ConnectionSlot {
            limiter: Arc::clone(self),
            counters: Arc::clone(counters),
            address: None,
        })
    }
}

/// A connection's place, given back on drop.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    limiter: Arc<ConnectionLimiter>,
    counters: Arc<Counters>,
    address: Option<IpAddr>,
}

impl ConnectionSlot {
    /// Takes a place among the connections of `address` too; `false` if there is none.
    pub(super) fn claim_address(&mut self, address: IpAddr, most: usize) -> bool {
        let block = block_of(address);
        let mut table = self
            .limiter
            .by_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let used = table.entry(block).or_insert(0);
        if *used >= most {
            add(&self.counters.refused, 1);
            return false;
        }
        *used += 1;
        self.address = Some(block);
        true
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.limiter.open.fetch_sub(1, Relaxed);
        add(&self.counters.closed, 1);
        let Some(block) = self.address else { return };
        let mut table = self
            .limiter
            .by_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(used) = table.get_mut(&block) {
            *used -= 1;
            if *used == 0 {
                table.remove(&block);
            }
        }
    }
}

/// The addresses that count as one client: an IPv4 address, or the /64 that an IPv6 host commonly has to itself.
fn block_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let network = v6.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(network.into())
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reload may remove listeners and add others any number of times.
    #[test]
    fn of_loops_that_have_ended_only_the_sum_is_kept() {
        let limiter = ConnectionLimiter::new(Limits::default());
        let lasting = limiter.enlist();
        let slot = limiter.claim(10, &lasting);
        for _ in 0..100 {
            let counters = limiter.enlist();
            drop(limiter.claim(10, &counters));
        }
        let ended = limiter.enlist();
        assert_eq!(limiter.workers.lock().unwrap().at_work.len(), 2);
        let Snapshot {
            accepted, active, ..
        } = limiter.snapshot();
        assert_eq!((accepted, active), (101, 1));
        // A loop may end before its connections do.
        drop((lasting, ended));
        limiter.enlist();
        assert_eq!(limiter.snapshot().active, 1);
        drop(slot);
        limiter.enlist();
        assert_eq!(
            limiter.snapshot(),
            Snapshot {
                accepted: 101,
                ..Snapshot::default()
            }
        );
    }
}
