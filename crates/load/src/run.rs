//! A run: starts the workers, gathers their counts, and watches the machine meanwhile.

mod busy;
mod gather;
mod measured;

use crate::{
    fault::Fault,
    plan::Plan,
    worker::{self, Common, Engine, Present},
};
use gather::Gatherer;
use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::channel,
    },
    thread,
    time::{Instant, SystemTime},
};

pub(crate) use busy::FULL;
pub use gather::Live;
pub use measured::{Ended, Measured};

/// Ends a run early, from another thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends the current run, and every later one at once.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the end was asked for.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs a plan to its end, or until `stop`. Calls `live` with its progress.
///
/// # Errors
/// The machine has no room for the workers.
pub fn run(plan: &Arc<Plan>, stop: &Stop, live: &mut dyn FnMut(Live<'_>)) -> io::Result<Measured> {
    if plan.site.origins.iter().any(|one| one.addresses.is_empty()) {
        return Ok(nowhere());
    }
    let engines = (0..plan.threads()).map(|_| Engine::new(plan.shape));
    let engines = engines.collect::<io::Result<Vec<_>>>()?;
    let common = Arc::new(Common {
        plan: Arc::clone(plan),
        begin: Instant::now(),
        begun: AtomicU64::new(0),
        chosen: AtomicU64::new(0),
        present: Present::default(),
        agreed: OnceLock::new(),
        refused: OnceLock::new(),
        stop: Arc::clone(&stop.0),
    });
    let (sender, slices) = channel();
    let mut gatherer = Gatherer::new(&common);
    let workers = engines.into_iter().enumerate().map(|(index, engine)| {
        let (common, sender) = (Arc::clone(&common), sender.clone());
        let name = format!("load-{index}");
        let body = move || worker::run(common, index, engine, &sender);
        thread::Builder::new().name(name).spawn(body)
    });
    let workers: Vec<_> = workers.collect();
    drop(sender);
    gatherer.gather(&slices, live);
    for worker in workers {
        match worker?.join() {
            Ok(result) => result?,
            Err(_) => return Err(io::Error::other("a worker broke off")),
        }
    }
    Ok(gatherer.end(stop))
}

/// Returns a result with one request that could not be made, so that nobody takes silence for success.
fn nowhere() -> Measured {
    let mut measured = Measured {
        ended: Ended::NoAddress,
        ..Measured::default()
    };
    measured.tally.fault(Fault::UnknownHost);
    measured
}

/// Returns the current moment, for a report.
pub fn date() -> String {
    httpdate::fmt_http_date(SystemTime::now())
}
