//! The sums of the workers' counts.

use super::Sources;
use origin::Report;
use proxy::{
    listen::Snapshot,
    outcome::{Counters, FORWARDS, HIT_KINDS},
};
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{SystemTime, UNIX_EPOCH},
};

/// All figures at one moment.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) hits: [u64; HIT_KINDS.len()],
    pub(super) forwarded: [u64; FORWARDS.len()],
    pub(super) statuses: [u64; 5],
    pub(super) own: u64,
    pub(super) clients_left: u64,
    pub(super) stored: u64,
    pub(super) collapsed: u64,
    pub(super) validated: u64,
    pub(super) refreshes: u64,
    pub(super) pages_read: u64,
    pub(super) fragments: u64,
    pub(super) fragments_failed: u64,
    pub(super) fills: u64,
    pub(super) fills_failed: u64,
    pub(super) invalidations: u64,
    pub(super) purges: u64,
    pub(super) purges_denied: u64,
    pub(super) origin_errors: u64,
    pub(super) log_lost: u64,
    pub(super) store: store::Statistics,
    pub(super) purges_applied: store::purge::Statistics,
    pub(super) purge_log_is_failing: bool,
    pub(super) codings: proxy::compress::Figures,
    pub(super) disk: Option<store::disk::Statistics>,
    pub(super) shared: Option<store::shared::Statistics>,
    pub(super) connections: Snapshot,
    pub(super) origins: Vec<Report>,
    /// Seconds since 1970.
    pub(super) started: f64,
}

impl Sums {
    pub(super) fn of(sources: &Sources<'_>) -> Self {
        let connections = sources.connections.iter();
        let mut sums = Self {
            store: sources.store,
            purges_applied: sources.purges,
            purge_log_is_failing: sources.purge_log_is_failing,
            codings: sources.codings,
            disk: sources.disk,
            shared: sources.shared.clone(),
            connections: connections
                .map(|shared| shared.snapshot())
                .fold(Snapshot::default(), |sum, one| sum + one),
            origins: sources
                .origins
                .iter()
                .map(|origin| origin.report())
                .collect(),
            started: seconds(sources.started),
            ..Self::default()
        };
        for counters in sources.counters {
            sums.add(counters);
        }
        sums
    }

    fn add(&mut self, counters: &Counters) {
        add_each(&mut self.hits, &counters.hits);
        add_each(&mut self.forwarded, &counters.forwarded);
        add_each(&mut self.statuses, &counters.statuses);
        for (sum, counter) in [
            (&mut self.own, &counters.own),
            (&mut self.clients_left, &counters.clients_left),
            (&mut self.stored, &counters.stored),
            (&mut self.collapsed, &counters.collapsed),
            (&mut self.validated, &counters.validated),
            (&mut self.refreshes, &counters.refreshes),
            (&mut self.pages_read, &counters.pages_read),
            (&mut self.fragments, &counters.fragments),
            (&mut self.fragments_failed, &counters.fragments_failed),
            (&mut self.fills, &counters.fills),
            (&mut self.fills_failed, &counters.fills_failed),
            (&mut self.invalidations, &counters.invalidations),
            (&mut self.purges, &counters.purges),
            (&mut self.purges_denied, &counters.purges_denied),
            (&mut self.origin_errors, &counters.origin_errors),
            (&mut self.log_lost, &counters.log_lost),
        ] {
            *sum += counter.load(Relaxed);
        }
    }
}

fn add_each<const N: usize>(sums: &mut [u64; N], counters: &[AtomicU64; N]) {
    for (sum, counter) in sums.iter_mut().zip(counters) {
        *sum += counter.load(Relaxed);
    }
}

fn seconds(moment: SystemTime) -> f64 {
    let since = moment.duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}
