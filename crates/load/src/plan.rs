//! A run, as it was asked for.

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
    /// HTTP/2, known beforehand on plain connections, by ALPN with TLS.
    Two,
}

/// A run against one target.
#[derive(Debug)]
pub struct Plan {
    /// What is asked for.
    pub site: Arc<Site>,
    /// How many ask, and when.
    pub shape: Shape,
    /// When it ends.
    pub end: End,
    /// At most so many requests a second, whatever the shape.
    pub most_rate: Option<f64>,
    /// Which HTTP.
    pub version: Version,
    /// Whether a connection is used again.
    pub keep_alive: bool,
    /// On HTTP/2 in a closed loop: requests at once on each connection.
    pub streams: NonZeroUsize,
    /// How TLS is done, where a server's scheme asks for it.
    pub tls: Arc<Tls>,
    /// How long a connection may take to open, and an answer to come whole.
    pub timeout: Duration,
    /// Whether each user keeps the cookies it is given.
    pub cookies: bool,
    /// How many threads make load.
    pub workers: NonZeroUsize,
    /// Where chance begins: the same seed draws the same requests and pauses.
    pub seed: u64,
    /// Whose CPU time and memory are reported.
    pub watched: Option<Watched>,
}

impl Plan {
    /// How many tasks ask: users, or streams of connections.
    pub(crate) fn askers(&self) -> usize {
        match self.shape {
            Shape::Closed { connections } => connections.saturating_mul(self.per_lane()),
            other => other.most(),
        }
    }

    /// How many threads it takes: never more than there are users.
    pub(crate) fn threads(&self) -> usize {
        self.workers.get().min(self.shape.most()).max(1)
    }

    /// How many of them share a connection.
    pub(crate) fn per_lane(&self) -> usize {
        match (self.version, self.shape) {
            (Version::Two, Shape::Closed { .. }) => self.streams.get(),
            _ => 1,
        }
    }
}
