//! A worker: its own state, and the interface by which a listener calls it.

use super::Cache;
use crate::{
    body::ReplyBody,
    endings::Endings,
    heads::{FieldValueCache, Heads},
    listen::{Connection, InterimSink, OwnAnswer, RequestBody, RequestHead, Serve, Served},
    outcome::{Counters, LogSender},
    policy::Site,
    purge_clients,
    walk::{self, outbound::own_comment},
};
use arc_swap::ArcSwap;
use http::{HeaderMap, Method, Request};
use rules::fields::Via;
use std::{
    cell::{Cell, RefCell},
    ops::Deref,
    rc::Rc,
    sync::Arc,
};
use store::Memory;

/// One worker's view of the cache. It stays on the worker's thread.
pub struct Worker {
    pub(crate) cache: Arc<Cache>,
    pub(crate) counters: Arc<Counters>,
    /// The queue of the access log; `None` if there is no log.
    pub(crate) log: Option<LogSender>,
    site: RefCell<SiteView>,
    /// Reused for variant keys, so that a hit allocates none.
    pub(crate) scratch: Cell<Vec<u8>>,
    /// Heads that this worker sends often.
    pub(crate) heads: RefCell<Heads>,
    /// Field values that it sends with them.
    pub(crate) field_values: RefCell<FieldValueCache>,
    /// Counts responses that were read from disk without waiting.
    reads: Cell<u32>,
    pub(crate) endings: Endings,
    /// How many of its requests wait for an origin.
    pub(crate) waiting: Cell<usize>,
}

/// One in this many responses read from disk is taken into memory. Hot responses soon get there, and those that are
/// rarely asked for do not push others out.
const PROMOTED: u32 = 8;

/// The configuration of the site, with a reference count of one worker: cloning it touches no memory that other workers
/// write.
pub(crate) type WorkerSite = Rc<PreparedSite>;

/// The configuration of the site, and values that are derived from it once.
#[derive(Debug)]
pub struct PreparedSite {
    site: Arc<Site>,
    pub(crate) via: Via,
    /// The same for requests, with a comment that tells this process from others of that name.
    pub(crate) via_of_requests: Via,
    /// Whether some route tells groups of users apart. Then no client may claim a group, on any route.
    pub(crate) has_groups: bool,
}

impl From<Arc<Site>> for PreparedSite {
    fn from(site: Arc<Site>) -> Self {
        let via = Via::new(&site.name);
        let via_of_requests = Via::new(&format!("{} {}", site.name, own_comment()));
        let mut routes = site.routes.iter();
        let has_groups = routes.any(|route| route.policy.user_context.is_some());
        Self {
            site,
            via,
            via_of_requests,
            has_groups,
        }
    }
}

impl PreparedSite {
    /// Returns the configuration as all workers share it.
    pub(crate) fn shared(&self) -> Arc<Site> {
        Arc::clone(&self.site)
    }
}

impl Deref for PreparedSite {
    type Target = Site;

    fn deref(&self) -> &Site {
        &self.site
    }
}

/// A worker's view of the configuration, and the latest one, with which it is compared.
struct SiteView {
    latest: arc_swap::Cache<Arc<ArcSwap<Site>>, Arc<Site>>,
    current: WorkerSite,
}

impl Worker {
    /// Creates a worker's view. Only this worker may write to `counters`.
    pub fn new(cache: Arc<Cache>, counters: Arc<Counters>, log: Option<LogSender>) -> Rc<Self> {
        let mut latest = arc_swap::Cache::new(cache.site.clone());
        let current = Rc::new(PreparedSite::from(latest.load().clone()));
        let site = RefCell::new(SiteView { latest, current });
        Rc::new(Self {
            cache,
            counters,
            log,
            site,
            scratch: Cell::default(),
            heads: RefCell::default(),
            field_values: RefCell::default(),
            reads: Cell::default(),
            endings: Endings::default(),
            waiting: Cell::new(0),
        })
    }

    /// Waits until every body that has come whole is stored or given up; for a shutdown once no clients are left.
    pub async fn has_stored(&self) {
        self.endings.over().await;
    }

    /// Waits until the shared tier has what came for it, and the leases that are over, and until the other nodes can know
    /// that this one answers nothing more; for a shutdown, after [`has_stored`](Self::has_stored).
    pub async fn has_shared(&self) {
        let settled = async {
            if let Some(shared) = &self.cache.shared {
                shared.settled().await;
            }
        };
        tokio::join!(settled, self.cache.purger.leave());
    }

    /// Whether to take into memory what was just read from disk without waiting for the device.
    pub(crate) fn promotes(&self) -> bool {
        let reads = self.reads.get().wrapping_add(1);
        self.reads.set(reads);
        reads.is_multiple_of(PROMOTED)
    }

    /// Returns the current configuration of the site.
    pub(crate) fn site(&self) -> WorkerSite {
        let mut view = self.site.borrow_mut();
        let view = &mut *view;
        let latest = view.latest.load();
        if !Arc::ptr_eq(latest, &view.current.site) {
            view.current = Rc::new(PreparedSite::from(latest.clone()));
        }
        view.current.clone()
    }
}

/// A worker, as a listener calls it.
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
        walk::walk(&self.0, request, connection, interim)
    }

    fn serve_head(
        &self,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
        interim: InterimSink,
    ) -> Served<ReplyBody> {
        walk::walk_head(&self.0, head, connection, interim)
    }

    fn answered(&self, own: &OwnAnswer<'_>) -> HeaderMap {
        walk::report::of_listener(&self.0, own)
    }

    fn keeps(&self, method: &Method) -> bool {
        purge_clients::is_ours(method)
    }

    fn memory(&self) -> Option<Arc<Memory>> {
        Some(self.0.cache.memory.clone())
    }
}
