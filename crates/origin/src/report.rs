//! State of an origin at a moment.

use crate::{latency::Latency, pages::PagesReport};

/// State of one origin at a moment.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The name from the configuration.
    pub name: String,
    /// Fetches under way.
    pub active: usize,
    /// Fetches waiting in the queue.
    pub queued: usize,
    /// How long it took to answer.
    pub latency: Latency,
    /// In the configuration's order.
    pub servers: Vec<ServerReport>,
    /// Of a page store.
    pub pages: Option<PagesReport>,
}

/// State of one server.
#[derive(Clone, Debug, Default)]
pub struct ServerReport {
    /// As configured.
    pub address: String,
    /// It, or one of its addresses where it is a name, is neither at rest after failures nor held for down by active checks.
    pub healthy: bool,
    /// Active checks hold it, or all of its addresses, for down: it is not asked.
    pub down: bool,
    /// Fetches under way, at all of its addresses.
    pub active: usize,
    /// Failures since the configuration was loaded.
    pub failures: u64,
}
