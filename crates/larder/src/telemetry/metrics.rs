//! Metrics as `OpenMetrics` text: sums over all workers, made when somebody asks.
//!
//! `names` declares every metric once; `sums` adds up what workers count; `encode` writes the one as told by the other.

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

/// Where the figures come from.
#[derive(Debug)]
pub struct Sources<'a> {
    /// The store's.
    pub store: store::Statistics,
    /// The log of purges'.
    pub purges: store::purge::Statistics,
    /// Whether what is purged is to be kept over a restart and cannot be.
    pub purge_log_is_failing: bool,
    /// Of what was compressed here.
    pub codings: proxy::compress::Figures,
    /// The disk tier's, where there is one.
    pub disk: Option<store::disk::Statistics>,
    /// The shared tier's, where there is one.
    pub shared: Option<store::shared::Statistics>,
    /// Each worker's.
    pub counters: &'a [Arc<Counters>],
    /// Each listener's, or one for all.
    pub connections: &'a [Arc<proxy::listen::ConnectionLimiter>],
    /// The origins of the configuration in force.
    pub origins: &'a [Arc<origin::Origin>],
    /// When the program started.
    pub started: SystemTime,
}

/// All metrics now.
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
