//! The admin API: metrics, health, `explain`, purges. It has an address of its own, for the operator and not for
//! clients.

mod answer;
mod error;
mod explain;
mod guard;
mod openapi;
pub mod peers;
pub mod purge;
pub mod purges;
mod redirects;
mod slots;

#[cfg(test)]
mod tests;

pub use answer::{Answer, From, Judged};
pub use error::{Refusal, Written};
pub use redirects::Plain;

use crate::telemetry::metrics::{self, Sources};
use arc_swap::ArcSwap;
use axum::{
    Json, Router,
    extract::State as AppState,
    http::{Method, StatusCode, header},
    middleware,
    response::IntoResponse,
    routing::{MethodRouter, get, post},
};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, SystemTime},
};
use tokio::{net::TcpListener, sync::Notify};

/// The state that the admin API shows, shared with everything that runs.
#[derive(Debug)]
pub struct State {
    /// The cache, for its store and for `explain`.
    pub cache: Arc<proxy::Cache>,
    /// The counters of each worker and of the access log.
    pub counters: Vec<Arc<proxy::outcome::Counters>>,
    /// The connections of each listener, or of all.
    pub connections: Vec<Arc<proxy::listen::ConnectionLimiter>>,
    /// The origins of the configuration in use.
    pub origins: ArcSwap<Vec<Arc<origin::Origin>>>,
    /// The listeners without TLS.
    pub plain: ArcSwap<Vec<Plain>>,
    /// Whether requests are welcome: false during start and drain.
    pub ready: AtomicBool,
}

/// How long requests in progress may take after the stop.
const GRACE: Duration = Duration::from_secs(1);

/// The list of paths, for people who look.
const INDEX: &str = "\
Larder's admin API

/metrics       figures in OpenMetrics text
/healthz       200 while the process lives
/readyz        200 while requests are welcome, 503 while starting or draining
/purge         POST: forget what is named in JSON; see /openapi.json
/purges        what was purged; after=CURSOR for what came after, wait=30s to wait for it
/openapi.json  all of this as an OpenAPI document
/explain?url=  why a URL is or is not answered from the store; header=Name:%20value adds a field, repeatedly
";

/// Serves the admin API on `listener` until `stop` completes. Requests in progress then have a second.
///
/// # Errors
/// Those of the listener.
pub async fn serve(
    listener: TcpListener,
    state: Arc<State>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    // A monitor behind a firewall that forgets connections leaves one with each visit.
    origin::keepalive::turn_on(&listener);
    let stopped = Arc::new(Notify::new());
    let tell = stopped.clone();
    let stop = async move {
        stop.await;
        tell.notify_one();
    };
    let service = router(state).into_make_service_with_connect_info::<slots::ConnectionSlot>();
    let served = axum::serve(slots::Listener::new(listener), service).with_graceful_shutdown(stop);
    let bound = async {
        stopped.notified().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        served = served.into_future() => served,
        () = bound => Ok(()),
    }
}

fn router(state: Arc<State>) -> Router {
    routes()
        .into_iter()
        .fold(Router::new(), |router, (path, methods)| {
            router.route(path, methods)
        })
        .fallback(async || {
            Refusal::new(
                StatusCode::NOT_FOUND,
                "there is nothing here; / lists what there is",
            )
        })
        .method_not_allowed_fallback(async |method: Method| {
            let what = format!("{method} is not known here; Allow says what is");
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, what)
        })
        .layer(middleware::from_fn(guard::guard))
        .layer(middleware::from_fn(slots::keep))
        .with_state(state)
}

/// Every path and its handlers; `openapi` describes each.
fn routes() -> [(&'static str, MethodRouter<Arc<State>>); 8] {
    let started = SystemTime::now();
    let metrics = move |state| async move { metrics(state, started) };
    [
        ("/", get(async || INDEX)),
        ("/metrics", get(metrics)),
        ("/healthz", get(async || "ok\n")),
        ("/readyz", get(readyz)),
        ("/explain", get(explain::explain)),
        ("/purge", post(purge::purge)),
        ("/purges", get(purges::purges)),
        ("/openapi.json", get(async || Json(openapi::document()))),
    ]
}

fn metrics(AppState(state): AppState<Arc<State>>, started: SystemTime) -> impl IntoResponse {
    let text = metrics::render(&Sources {
        store: state.cache.memory.statistics(),
        codings: state.cache.compressor.counts.figures(),
        purges: state.cache.memory.log().statistics(),
        purge_log_is_failing: state.cache.purger.is_failing(),
        disk: state.cache.disk.as_ref().map(|disk| disk.statistics()),
        shared: state
            .cache
            .shared
            .as_ref()
            .map(|shared| shared.statistics()),
        counters: &state.counters,
        connections: &state.connections,
        origins: &state.origins.load(),
        started,
    });
    ([(header::CONTENT_TYPE, metrics::MEDIA_TYPE)], text)
}

async fn readyz(AppState(state): AppState<Arc<State>>) -> Result<&'static str, Refusal> {
    if state.ready.load(Relaxed) {
        Ok("ready\n")
    } else {
        Err(Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "starting or draining",
        ))
    }
}
