//! What workers share, and what each has of its own.

use crate::{
    body::ReplyBody,
    collapse::Flights,
    compress::Compressor,
    endings::Endings,
    heads::{FieldValueCache, Heads},
    hit_for_miss::HitForMiss,
    listen::{Connection, InterimSink, OwnAnswer, RequestBody, RequestHead, Serve, Served},
    outcome::{Counters, Record},
    policy::Site,
    purge_clients,
    recent::RecentKeys,
    walk::{self, WalkAnswer, esi::Readings, outbound::own_comment, receive},
};
use arc_swap::ArcSwap;
use http::{HeaderValue, Method, Request};
use rules::fields::Via;
use std::{
    cell::{Cell, RefCell},
    ops::Deref,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError, mpsc::SyncSender},
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
        let now = receive::now();
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
        let now = receive::now();
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

/// One worker's view of the cache. Lives on its thread.
pub struct Worker {
    pub(crate) cache: Arc<Cache>,
    pub(crate) counters: Arc<Counters>,
    /// The access log's queue; `None`: no log.
    pub(crate) log: Option<SyncSender<Record>>,
    site: RefCell<SiteView>,
    /// Reused for variant keys, so that a hit allocates none.
    pub(crate) scratch: Cell<Vec<u8>>,
    /// Heads this worker sends often.
    pub(crate) heads: RefCell<Heads>,
    /// What it says with them.
    pub(crate) told: RefCell<FieldValueCache>,
    /// Counts what was read from disk at once.
    reads: Cell<u32>,
    pub(crate) endings: Endings,
}

/// One of so many responses read from disk is taken into memory: what is hot is soon there, and what is asked for once in a long
/// while does not push others out.
const PROMOTED: u32 = 8;

/// The site's say, counted by one worker alone: cloning it touches no memory that other workers write.
pub(crate) type OwnSite = Rc<Own>;

/// The site's say, and what is made of it once.
#[derive(Debug)]
pub struct Own {
    site: Arc<Site>,
    pub(crate) via: Via,
    /// The same on requests, with what tells this process from others of the name.
    pub(crate) via_of_requests: Via,
}

impl From<Arc<Site>> for Own {
    fn from(site: Arc<Site>) -> Self {
        let via = Via::new(&site.name);
        let via_of_requests = Via::new(&format!("{} {}", site.name, own_comment()));
        Self {
            site,
            via,
            via_of_requests,
        }
    }
}

impl Deref for Own {
    type Target = Site;

    fn deref(&self) -> &Site {
        &self.site
    }
}

/// A worker's view of the site's say, and the latest that it is held against.
struct SiteView {
    latest: arc_swap::Cache<Arc<ArcSwap<Site>>, Arc<Site>>,
    own: OwnSite,
}

impl Worker {
    /// A worker's view. `counters` are this worker's alone to write.
    pub fn new(
        cache: Arc<Cache>,
        counters: Arc<Counters>,
        log: Option<SyncSender<Record>>,
    ) -> Rc<Self> {
        let mut latest = arc_swap::Cache::new(cache.site.clone());
        let own = Rc::new(Own::from(latest.load().clone()));
        let site = RefCell::new(SiteView { latest, own });
        Rc::new(Self {
            cache,
            counters,
            log,
            site,
            scratch: Cell::default(),
            heads: RefCell::default(),
            told: RefCell::default(),
            reads: Cell::default(),
            endings: Endings::default(),
        })
    }

    /// Waits until every body of which all has come is stored, or given up; for who stops when no client is left.
    pub async fn has_stored(&self) {
        self.endings.over().await;
    }

    /// Whether what was just read from disk, without waiting for the device, is taken into memory.
    pub(crate) fn promotes(&self) -> bool {
        let reads = self.reads.get().wrapping_add(1);
        self.reads.set(reads);
        reads.is_multiple_of(PROMOTED)
    }

    /// The site's say as it stands.
    pub(crate) fn site(&self) -> OwnSite {
        let mut view = self.site.borrow_mut();
        let view = &mut *view;
        let latest = view.latest.load();
        if !Arc::ptr_eq(latest, &view.own.site) {
            view.own = Rc::new(Own::from(latest.clone()));
        }
        view.own.clone()
    }
}

impl From<WalkAnswer> for Served<ReplyBody> {
    fn from(answer: WalkAnswer) -> Self {
        match answer {
            WalkAnswer::Now(response) => Self::Now(response),
            WalkAnswer::Prepared(prepared) => Self::Prepared(prepared),
            WalkAnswer::Later(response) => Self::Later(response),
        }
    }
}

/// A worker as a listener calls it.
#[derive(Clone)]
pub struct Service(pub Rc<Worker>);

impl Serve for Service {
    type Body = ReplyBody;

    fn serve(
        &self,
        request: Request<RequestBody>,
        connection: &Rc<Connection>,
        interim: InterimSink,
    ) -> Served<ReplyBody> {
        walk::walk(&self.0, request, connection, interim).into()
    }

    fn serve_head(
        &self,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
        interim: InterimSink,
    ) -> Served<ReplyBody> {
        walk::walk_head(&self.0, head, connection, interim).into()
    }

    fn answered(&self, own: &OwnAnswer<'_>) -> Option<HeaderValue> {
        walk::report::of_listener(&self.0, own)
    }

    fn keeps(&self, method: &Method) -> bool {
        purge_clients::is_ours(method)
    }

    fn memory(&self) -> Option<Arc<Memory>> {
        Some(self.0.cache.memory.clone())
    }
}
