//! An origin's state at one moment.

use crate::{latency::Latency, pages::PagesReport};

/// The state of one origin at one moment.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The name from the configuration.
    pub name: String,
    /// Fetches under way.
    pub active: usize,
    /// Fetches waiting in the queue.
    pub queued: usize,
    /// How long its answers took.
    pub latency: Latency,
    /// Its servers, in the configuration's order.
    pub servers: Vec<ServerReport>,
    /// The counts of a page store.
    pub pages: Option<PagesReport>,
}

/// The state of one server.
#[derive(Clone, Debug, Default)]
pub struct ServerReport {
    /// As configured.
    pub address: String,
    /// Whether it is neither at rest after failures nor considered down by active checks. For a name, whether one of
    /// its addresses is so.
    pub healthy: bool,
    /// Whether active checks consider it, or all of its addresses, down. It is then not asked.
    pub down: bool,
    /// Fetches under way, at all of its addresses.
    pub active: usize,
    /// Failures since the configuration was loaded.
    pub failures: u64,
}
