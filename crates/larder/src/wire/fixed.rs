//! What a reload cannot change.

use crate::config::{
    meant::{self, Admin, Config},
    value::PeerUrl,
};
use std::path::PathBuf;

/// Settings that only a restart changes.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Fixed {
    memory: u64,
    pub(super) workers: usize,
    admin: Admin,
    log: meant::Log,
    disk: Option<store::disk::Config>,
    shared: Option<store::shared::Config>,
    /// `purge.log`, `purge.durable` and `purge.peers`.
    purge: (Option<PathBuf>, bool, Vec<PeerUrl>),
}

impl Fixed {
    pub(super) fn of(config: &Config) -> Self {
        Self {
            memory: config.memory,
            workers: config.workers,
            admin: config.admin,
            log: config.log.clone(),
            disk: config.disk.clone(),
            shared: config.shared.clone(),
            purge: {
                let purge = &config.purge;
                (purge.log.clone(), purge.durable, purge.peers.clone())
            },
        }
    }

    /// The size of the largest body that the store keeps.
    pub(super) fn largest_body(&self) -> u64 {
        meant::largest_body(self.memory, self.disk.as_ref())
    }

    /// The names of the settings in which `other` differs.
    pub(super) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let pairs = [
            ("memory", self.memory != other.memory),
            ("workers", self.workers != other.workers),
            ("admin", self.admin != other.admin),
            ("log", self.log != other.log),
            ("disk", self.disk != other.disk),
            ("shared", self.shared != other.shared),
            ("purge.log, durable, peers", self.purge != other.purge),
        ];
        pairs
            .into_iter()
            .filter(|(_, differs)| *differs)
            .map(|(name, _)| name)
            .collect()
    }
}
