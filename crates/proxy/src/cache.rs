//! What workers share; what each has of its own is in `worker`.

mod worker;

pub(crate) use worker::OwnSite;
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

/// Where stored responses are kept, the nearest first.
#[derive(Debug)]
pub struct Tiers {
    /// Asked by every request.
    pub memory: Arc<Memory>,
    /// Bigger than memory, survives a restart.
    pub disk: Option<Arc<Disk>>,
    /// One for many nodes.
    pub shared: Option<Arc<SharedTier>>,
}

impl Tiers {
    /// Memory alone.
    pub const fn memory(memory: Arc<Memory>) -> Self {
        Self {
            memory,
            disk: None,
            shared: None,
        }
    }
}

/// The cache: shared by all workers, outlives every configuration.
#[derive(Debug)]
pub struct Cache {
    /// The memory tier.
    pub memory: Arc<Memory>,
    /// The disk tier, where there is one.
    pub disk: Option<Arc<Disk>>,
    /// The shared tier, where there is one.
    pub shared: Option<Arc<SharedTier>>,
    /// Takes purges.
    pub purger: Purger,
    /// Makes codings.
    pub compressor: Compressor,
    /// The site's say; swapped whole on reload.
    pub site: Arc<ArcSwap<Site>>,
    pub(crate) flights: Arc<Flights>,
    pub(crate) readings: Readings,
    pub(crate) hit_for_miss: HitForMiss,
    /// Keys, as flights have them, of which a fetch has just failed: no refresh is worth beginning.
    pub(crate) failed: RecentKeys,
    /// Keys that were fetched lately: what is fetched again is worth writing to disk, although memory did not keep it.
    pub(crate) fetched: RecentKeys,
    refetch: Sender<Vec<Busy>>,
    refetched: Mutex<Option<Receiver<Vec<Busy>>>>,
}

/// Seconds within which something must be fetched again to be worth writing to disk.
const FETCHED: u64 = 3600;

/// Seconds for which a page is not refreshed again whose origin has failed.
const FAILED: u64 = 1;

/// Batches for the refetch that may wait; more are left out: what is asked for is fetched anyway.
const BATCHES: usize = 64;

impl Cache {
    /// A cache over these tiers.
    pub fn new(tiers: Tiers, purger: Purger, site: Site) -> Arc<Self> {
        let Tiers {
            memory,
            disk,
            shared,
        } = tiers;
        // Eight megabytes, where there is a disk to be spared.
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

    /// Purges, all of them or on an error none; see [`Purger::purge`]. What is busy is fetched again where the site wants that.
    ///
    /// # Errors
    /// See [`PurgeError`].
    pub async fn purge(
        &self,
        purges: Vec<Purge>,
        wait: Option<Duration>,
    ) -> Result<PurgeAnswer, PurgeError> {
        let now = clock::now();
        let door = &self.purger;
        door.purge(purges, now, wait, self.busiest()).await
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
        let door = &self.purger;
        door.purge_here(purges, now, asker, self.busiest()).await
    }

    /// Who fetches again what soft purges touched, where the site wants that.
    fn busiest(&self) -> Option<Busiest> {
        let refetch = self.site.load().refetch?;
        Some(Busiest {
            most: refetch.most,
            to: self.refetch.clone(),
        })
    }

    /// What is to be fetched again, for the one worker that does it ([`refetch`](mod@crate::refetch)).
    pub fn refetches(&self) -> Option<Receiver<Vec<Busy>>> {
        let mut refetched = self
            .refetched
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        refetched.take()
    }
}
