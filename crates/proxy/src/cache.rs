//! The state that workers share. The state of each worker is in `worker`.

mod worker;

pub(crate) use worker::WorkerSite;
pub use worker::{Service, Worker};

use crate::{
    clock, collapse::Flights, compress::Compressor, hit_for_miss::HitForMiss, policy::Site,
    recent::RecentKeys, walk::esi::Readings,
};
use arc_swap::ArcSwap;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use store::{
    Asker, Busiest, Busy, Memory, PurgeAnswer, PurgeError, Purger, disk::Disk, purge::Purge,
    shared::SharedTier,
};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The tiers, nearest first.
#[derive(Debug)]
pub struct Tiers {
    /// Every request looks here.
    pub memory: Arc<Memory>,
    /// Larger than memory; survives a restart.
    pub disk: Option<Arc<Disk>>,
    /// One tier for many nodes.
    pub shared: Option<Arc<SharedTier>>,
}

impl Tiers {
    /// Returns tiers that are memory alone.
    pub const fn memory(memory: Arc<Memory>) -> Self {
        Self {
            memory,
            disk: None,
            shared: None,
        }
    }
}

/// The cache: shared by all workers, and kept across changes of the configuration.
#[derive(Debug)]
pub struct Cache {
    /// The memory tier.
    pub memory: Arc<Memory>,
    /// The disk tier, if there is one.
    pub disk: Option<Arc<Disk>>,
    /// The shared tier, if there is one.
    pub shared: Option<Arc<SharedTier>>,
    /// Takes purges.
    pub purger: Purger,
    /// Makes codings.
    pub compressor: Compressor,
    /// The configuration of the site; replaced as a whole on reload.
    pub site: Arc<ArcSwap<Site>>,
    pub(crate) flights: Arc<Flights>,
    pub(crate) readings: Readings,
    pub(crate) hit_for_miss: HitForMiss,
    /// Keys of flights whose fetch has just failed: a refresh is not worth starting.
    pub(crate) failed: RecentKeys,
    /// Keys that were fetched lately. What is fetched again is worth writing to disk, although memory did not keep it.
    pub(crate) fetched: RecentKeys,
    refetch: Sender<Vec<Busy>>,
    refetched: Mutex<Option<Receiver<Vec<Busy>>>>,
}

/// The number of seconds within which a response must be fetched again to be worth writing to disk.
const FETCHED: u64 = 3600;

/// The number of seconds for which a page is not refreshed again after its origin failed.
const FAILED: u64 = 1;

/// The number of batches that may wait for the refetch. More are dropped: what clients ask for is fetched anyway.
const BATCHES: usize = 64;

impl Cache {
    /// Creates a cache over these tiers.
    pub fn new(tiers: Tiers, purger: Purger, site: Site) -> Arc<Self> {
        let Tiers {
            memory,
            disk,
            shared,
        } = tiers;
        // Eight megabytes, if there is a disk to spare writes to.
        let fetched = if disk.is_some() { 1 << 20 } else { 1 };
        let (refetch, refetched) = channel(BATCHES);
        Arc::new(Self {
            compressor: Compressor::new(&memory),
            memory,
            disk,
            shared,
            purger,
            site: Arc::new(ArcSwap::from_pointee(site)),
            flights: Arc::default(),
            readings: Readings::default(),
            hit_for_miss: HitForMiss::default(),
            failed: RecentKeys::lasting(FAILED, 1 << 12),
            fetched: RecentKeys::lasting(FETCHED, fetched),
            refetch,
            refetched: Mutex::new(Some(refetched)),
        })
    }

    /// Applies all of these purges, or none on an error; see [`Purger::purge`]. Busy responses are fetched again if the
    /// site wants that.
    ///
    /// # Errors
    /// See [`PurgeError`].
    pub async fn purge(
        &self,
        purges: Vec<Purge>,
        wait: Option<Duration>,
    ) -> Result<PurgeAnswer, PurgeError> {
        let now = clock::now();
        let busiest = self.busiest();
        self.purger.purge(purges, now, wait, busiest).await
    }

    /// As [`purge`](Self::purge), on this node alone, for this `asker`.
    ///
    /// # Errors
    /// See [`Purger::purge_here`].
    pub async fn purge_here(
        &self,
        purges: Vec<Purge>,
        asker: Asker,
    ) -> Result<PurgeAnswer, PurgeError> {
        let now = clock::now();
        let busiest = self.busiest();
        self.purger.purge_here(purges, now, asker, busiest).await
    }

    /// Returns the refetch's limit and channel for what soft purges touch, if the site wants a refetch.
    fn busiest(&self) -> Option<Busiest> {
        let refetch = self.site.load().refetch?;
        Some(Busiest {
            most: refetch.most,
            to: self.refetch.clone(),
        })
    }

    /// Returns the batches to fetch again, for the one worker that does so ([`refetch`](mod@crate::refetch)).
    pub fn refetches(&self) -> Option<Receiver<Vec<Busy>>> {
        let mut refetched = self
            .refetched
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        refetched.take()
    }
}
