//! What the configuration means: plain values, ready to be used, that cannot be built wrong.

mod addresses;
mod back;
mod certificate;
mod compress;
mod fastcgi;
mod fetching;
mod https;
mod kinds;
mod limits;
mod listen;
mod machine;
mod matchers;
mod names;
mod origins;
mod outside;
mod policy;
mod purge;
mod routes;
mod server;
mod settings;
mod sink;
mod sources;
mod tiers;
mod warnings;

pub use addresses::meet;
pub use limits::Limits;
pub use listen::Listener;
pub use purge::Purge;
pub use settings::{AccessTarget, Admin, Log, PORT};
pub(super) use sink::Sink;

use super::{Faults, Flags, Probe, written};
use origin::Origin;
use proxy::policy::Site;
use std::sync::Arc;

/// Everything that the program is built from.
#[derive(Debug)]
pub struct Config {
    /// Where clients connect; at least one.
    pub listeners: Vec<Listener>,
    /// Metrics, health and `explain`.
    pub admin: Admin,
    /// Worker threads; at least one.
    pub workers: usize,
    /// Budget of the store in memory, in bytes.
    pub memory: u64,
    /// The tier on disk, if there is one.
    pub disk: Option<store::disk::Config>,
    /// The tier that nodes share, if there is one.
    pub shared: Option<store::shared::Config>,
    /// Purging.
    pub purge: Purge,
    /// Limits on what clients may cost.
    pub limits: Limits,
    /// Logs.
    pub log: Log,
    /// Every origin, in the order of the file; at least one.
    pub origins: Vec<Arc<Origin>>,
    /// The routes and settings that a walk uses.
    pub site: Site,
    /// What is allowed, but hardly meant.
    pub warnings: Faults,
}

/// Whether a route matches every request, so that no route behind it is reached.
pub(super) fn matches_everything(route: &written::Route) -> bool {
    matchers::everything(&matchers::build(route))
}

/// What a configuration is built from beside what is written.
#[derive(Clone, Copy, Default)]
pub(super) struct Beside<'a> {
    /// The name of the file and its text, for warnings.
    pub(super) source: (&'a str, &'a str),
    /// Tests addresses; the files and folders that Larder writes are then tested too.
    pub(super) probe: Option<Probe>,
    /// The origins that run.
    pub(super) running: &'a [Arc<Origin>],
    /// The [`largest_body()`] of the store that runs.
    pub(super) largest_body_in_force: Option<u64>,
}

/// Returns the size of the largest body that the store keeps. One that is too large for memory may still be stored on
/// disk.
pub fn largest_body(memory: u64, disk: Option<&store::disk::Config>) -> u64 {
    let in_memory = store::model::largest_body(memory);
    disk.map_or(in_memory, |disk| in_memory.max(disk.size))
}

/// Builds the configuration from what is written, and from what is there `beside`. Returns `None` only if `sink` has a
/// fault.
pub(super) fn build(
    written: &written::Config,
    flags: &Flags,
    beside: Beside<'_>,
    mut sink: Sink<'_>,
) -> Option<Config> {
    let limits = limits::build(written.limits.as_ref(), &mut sink);
    let memory = settings::memory(written.memory.as_ref(), flags, &mut sink);
    let disk = tiers::disk(written.disk.as_ref(), &mut sink);
    let shared = tiers::shared(written.shared.as_ref(), &mut sink);
    let purge = purge::build(written, &mut sink);
    let workers = settings::workers(written.workers.as_ref(), flags, &mut sink);
    let admin = settings::admin(written, flags);
    let listeners = listen::build(written, flags, &mut sink);
    addresses::check(&listeners, written, admin, beside.probe, &mut sink);
    back::check(&listeners, written, flags, &mut sink);
    https::check(&listeners, written, flags, &mut sink);
    if beside.probe.is_some() {
        outside::check(written, &mut sink);
        machine::check(memory, written.memory.as_ref(), flags, &mut sink);
    }
    let origins = origins::build(written, flags, beside.running, &mut sink);
    let largest_body = largest_body(memory, disk.as_ref());
    let in_force = beside.largest_body_in_force.unwrap_or(largest_body);
    let routes = routes::build(written, &origins, (largest_body, in_force), &mut sink);
    let report = settings::report(written.report.as_ref(), &mut sink);
    let targets = settings::targets(written, &mut sink);
    if sink.any() {
        return None;
    }
    warnings::find(written, beside.source.1, &mut sink);
    let listeners = listeners
        .into_iter()
        .map(|(listener, _)| listener)
        .collect();
    let (refetch, policy) = (purge.refresh, purge.policy.clone());
    Some(Config {
        listeners,
        admin,
        workers,
        memory,
        disk,
        shared,
        purge,
        log: settings::log(written.log.as_ref(), flags),
        origins: origins.all(),
        site: Site {
            routes: routes.into(),
            report,
            name: settings::name(written),
            trusted: settings::trusted(written),
            largest_request_body: limits.request_body,
            targets,
            most_variants: limits.variants,
            refetch,
            purge: policy,
        },
        limits,
        warnings: sink.into_warnings(beside.source),
    })
}
