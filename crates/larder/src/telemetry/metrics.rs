//! Metrics as `OpenMetrics` text: sums over all workers, made for each request.
//!
//! `names` declares every metric once, `sums` adds up the counts of the workers, and `encode` writes the sums under
//! those names.

mod encode;
pub mod names;
mod reference;
mod sums;

#[cfg(test)]
mod tests;

pub use reference::reference;

use prometheus_client::{encoding::text, registry::Registry};
use proxy::outcome::Counters;
use std::{sync::Arc, time::SystemTime};
use sums::Sums;

/// The media type of what [`render`] returns.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The sources of the figures.
#[derive(Debug)]
pub struct Sources<'a> {
    /// Figures of the store.
    pub store: store::Statistics,
    /// Figures of the log of purges.
    pub purges: store::purge::Statistics,
    /// Whether purges that should survive a restart cannot be recorded.
    pub purge_log_is_failing: bool,
    /// Figures of what was compressed here.
    pub codings: proxy::compress::Figures,
    /// Figures of the disk tier, if there is one.
    pub disk: Option<store::disk::Statistics>,
    /// Figures of the shared tier, if there is one.
    pub shared: Option<store::shared::Statistics>,
    /// The counters of each worker.
    pub counters: &'a [Arc<Counters>],
    /// The limiter of each listener, or one for all.
    pub connections: &'a [Arc<proxy::listen::ConnectionLimiter>],
    /// The origins of the configuration in force.
    pub origins: &'a [Arc<origin::Origin>],
    /// When the program started.
    pub started: SystemTime,
}

/// Returns all metrics as they are now.
pub fn render(sources: &Sources<'_>) -> String {
    written(Sums::of(sources))
}

fn written(sums: Sums) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(sums));
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = text::encode(&mut text, &registry);
    text
}
