//! The plan of a run.

use crate::{
    process::Watched,
    shape::{End, Shape},
    site::Site,
    tls::Tls,
};
use std::{num::NonZeroUsize, sync::Arc, time::Duration};

/// The version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.1, never pipelined.
    #[default]
    One,
    /// HTTP/2: with prior knowledge on plain connections, by ALPN with TLS.
    Two,
}

/// A run against one target.
#[derive(Debug)]
pub struct Plan {
    /// The servers and requests.
    pub site: Arc<Site>,
    /// How many ask, and when.
    pub shape: Shape,
    /// When the run ends.
    pub end: End,
    /// Most requests a second, whatever the shape.
    pub most_rate: Option<f64>,
    /// The version of HTTP.
    pub version: Version,
    /// Whether connections are used again.
    pub keep_alive: bool,
    /// Concurrent requests on each connection, on HTTP/2 in a closed loop.
    pub streams: NonZeroUsize,
    /// TLS settings, for servers whose scheme needs TLS.
    pub tls: Arc<Tls>,
    /// How long a connection may take to open, and an answer to arrive completely.
    pub timeout: Duration,
    /// Whether each user keeps the cookies that it gets.
    pub cookies: bool,
    /// How many threads generate load.
    pub workers: NonZeroUsize,
    /// The seed of all random choices: the same seed draws the same requests and pauses.
    pub seed: u64,
    /// The processes whose CPU time and memory are reported.
    pub watched: Option<Watched>,
}

impl Plan {
    /// Returns how many tasks ask: users, or streams of connections.
    pub(crate) fn askers(&self) -> usize {
        match self.shape {
            Shape::Closed { connections } => connections.saturating_mul(self.per_lane()),
            other => other.most(),
        }
    }

    /// Returns how many threads are needed: never more than there are users.
    pub(crate) fn threads(&self) -> usize {
        self.workers.get().min(self.shape.most()).max(1)
    }

    /// Returns how many askers share a connection.
    pub(crate) fn per_lane(&self) -> usize {
        match (self.version, self.shape) {
            (Version::Two, Shape::Closed { .. }) => self.streams.get(),
            _ => 1,
        }
    }
}
