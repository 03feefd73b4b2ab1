//! The worker threads: each has a runtime and everything that a request needs.

use super::threads;
use proxy::{
    Cache, Service, Worker,
    listen::{Bound, ConnectionLimiter, Drain, accept_loop},
    outcome::{Counters, LogSender},
    refetch,
};
use std::{
    io,
    rc::Rc,
    sync::{Arc, mpsc::sync_channel},
    thread::{self, JoinHandle},
    time::Duration,
};
use store::Busy;
use tokio::{
    runtime::{Builder, LocalOptions, LocalRuntime},
    sync::{
        mpsc::{Receiver, UnboundedReceiver, UnboundedSender, unbounded_channel},
        watch,
    },
    task::{JoinSet, spawn_local},
    time::timeout,
};

/// How long a worker that has drained waits for the disk to take what came from origins.
const DISK_PATIENCE: Duration = Duration::from_secs(10);

/// How long it waits after that for the shared tier to take what other nodes may be waiting for.
const SHARED_PATIENCE: Duration = Duration::from_secs(1);

/// A listener for one worker to serve.
pub struct Order {
    /// The socket; it is to be registered with the worker's runtime.
    pub bound: Bound,
    /// Tells the accept loop when to stop.
    pub drain: Drain,
}

/// All worker threads.
pub struct Workers {
    workers: Vec<Handle>,
}

struct Handle {
    orders: UnboundedSender<Order>,
    counters: Arc<Counters>,
    thread: JoinHandle<()>,
}

impl Workers {
    /// Starts `count` threads, which serve nothing yet. None ends before all have drained: the others too read what one
    /// of them fetches.
    pub fn start(
        count: usize,
        cache: &Arc<Cache>,
        limiter: &Arc<ConnectionLimiter>,
        log: Option<&LogSender>,
    ) -> io::Result<Self> {
        let (all_drained, drained) = watch::channel(());
        let all_drained = Arc::new(all_drained);
        let start = |number| {
            let draining = Draining {
                own: drained.clone(),
                all: all_drained.clone(),
            };
            let (cache, limiter) = (cache.clone(), limiter.clone());
            Handle::start(number, cache, limiter, log.cloned(), draining)
        };
        Ok(Self {
            workers: (0..count.max(1)).map(start).collect::<io::Result<_>>()?,
        })
    }

    /// Each worker's counters.
    pub fn counters(&self) -> Vec<Arc<Counters>> {
        self.workers
            .iter()
            .map(|worker| worker.counters.clone())
            .collect()
    }

    /// Gives each worker its socket of a listener.
    pub fn serve(&self, orders: impl IntoIterator<Item = Order>) {
        for (worker, order) in self.workers.iter().zip(orders) {
            // A worker that is gone has panicked; the others go on.
            let _ = worker.orders.send(order);
        }
    }

    /// Waits until every listener has drained.
    pub fn join(self) {
        // No worker ends before the orders of all others have ended too, so the handles are dropped first.
        let threads: Vec<_> = self.workers.into_iter().map(|it| it.thread).collect();
        for thread in threads {
            let _ = thread.join();
        }
    }
}

impl Handle {
    fn start(
        number: usize,
        cache: Arc<Cache>,
        limiter: Arc<ConnectionLimiter>,
        log: Option<LogSender>,
        draining: Draining,
    ) -> io::Result<Self> {
        let (orders, received) = unbounded_channel();
        let counters = Arc::new(Counters::default());
        let own = counters.clone();
        let (ready, is_ready) = sync_channel(1);
        let thread = thread::Builder::new()
            .name(format!("larder-{number}"))
            .spawn(move || {
                let (runtime, built) = match runtime() {
                    Ok(runtime) => (Some(runtime), Ok(())),
                    Err(error) => (None, Err(error)),
                };
                let _ = ready.send(built);
                let Some(runtime) = runtime else { return };
                let refetches = cache.refetches();
                let service = Rc::new(Service(Worker::new(cache, own, log)));
                runtime.block_on(work(service, limiter, received, refetches, draining));
            })?;
        is_ready.recv().map_err(io::Error::other)??;
        Ok(Self {
            orders,
            counters,
            thread,
        })
    }
}

/// A worker's part in the common end.
struct Draining {
    /// Held until this worker's listeners have drained, or its thread has panicked.
    own: watch::Receiver<()>,
    /// Closed once nobody holds a receiver any more.
    all: Arc<watch::Sender<()>>,
}

impl Draining {
    /// Says that this worker has drained, and waits for the others.
    async fn wait(self) {
        drop(self.own);
        self.all.closed().await;
    }
}

/// Builds the worker's own runtime, which cannot leave the thread that makes it. Its tasks need no `LocalSet`, which
/// would wake and poll each of them in two steps.
fn runtime() -> io::Result<LocalRuntime> {
    let mut builder = Builder::new_current_thread();
    let runtime = threads::stay(builder.enable_all()).build_local(LocalOptions::default())?;
    threads::begin(runtime.handle())?;
    Ok(runtime)
}

/// Serves listeners as they are ordered, until no more can come and all have drained, here and on the other workers.
async fn work(
    service: Rc<Service>,
    limiter: Arc<ConnectionLimiter>,
    mut orders: UnboundedReceiver<Order>,
    refetches: Option<Receiver<Vec<Busy>>>,
    draining: Draining,
) {
    let refetching = refetches.map(|busiest| spawn_local(refetch(service.0.clone(), busiest)));
    let mut loops = JoinSet::new();
    loop {
        let order = tokio::select! {
            order = orders.recv() => order,
            // A finished task takes memory until it is joined.
            Some(_) = loops.join_next() => continue,
        };
        let Some(Order { bound, drain }) = order else {
            break;
        };
        let (service, limiter) = (service.clone(), limiter.clone());
        loops.spawn_local(async move {
            if let Err(error) = accept_loop(bound, service, limiter, drain).await {
                tracing::error!(%error, "a listener has stopped");
            }
        });
    }
    while loops.join_next().await.is_some() {}
    // The worker whose client caused a fill or a form runs the task that writes it.
    draining.wait().await;
    let _ = timeout(DISK_PATIENCE, service.0.has_stored()).await;
    let _ = timeout(SHARED_PATIENCE, service.0.has_shared()).await;
    if let Some(refetching) = refetching {
        refetching.abort();
    }
}
