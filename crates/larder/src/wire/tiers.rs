//! The tiers of the store, the log of purges, and what keeps both.
//!
//! A tier that cannot be used is told of, once and clearly, and the cache goes on without it.

use crate::config::meant::Config;
use proxy::Tiers;
use std::{io, sync::Arc, time::Duration};
use store::{
    Horizon, Memory, Purger, Sweeper,
    disk::Disk,
    purge::Log,
    shared::{self, Shared},
};

/// Without a tier that remembers longer, purges are remembered so long: for fetches that began before them.
const REMEMBER: Duration = Duration::from_mins(1);

/// Everything that is kept, and the door to purging it.
pub struct Store {
    pub tiers: Tiers,
    pub purger: Purger,
}

/// Opens the tiers that `config` names.
pub fn open(config: &Config) -> io::Result<Store> {
    let log = Arc::new(Log::default());
    let memory = Arc::new(Memory::new(config.memory, log.clone()));
    let disk = config
        .disk
        .as_ref()
        .and_then(|config| disk(config, log.clone()));
    let shared = config
        .shared
        .as_ref()
        .and_then(|config| self::shared(config, log));
    // What other nodes keep in the shared tier may be as old as its longest lifetime.
    let remember = config
        .shared
        .as_ref()
        .map_or(REMEMBER, |config| config.max_ttl);
    let sweeper = Sweeper::start(memory.clone(), horizon(disk.clone()), remember)?;
    let purger = Purger::new(memory.clone(), sweeper);
    let tiers = Tiers {
        memory,
        disk,
        shared,
    };
    Ok(Store { tiers, purger })
}

fn disk(config: &store::disk::Config, log: Arc<Log>) -> Option<Arc<Disk>> {
    match Disk::open(config.clone(), log) {
        Ok(disk) => Some(disk),
        Err(error) => {
            tracing::error!("no disk tier: {error}");
            None
        }
    }
}

fn shared(config: &shared::Config, log: Arc<Log>) -> Option<Arc<Shared>> {
    match Shared::new(config.clone(), log) {
        Ok(shared) => {
            shared.tell(Box::new(|event| match event {
                shared::Event::Up => tracing::info!("the shared tier answers again"),
                shared::Event::TakesWrites => tracing::info!("the shared tier takes writes again"),
                shared::Event::Down(error) => {
                    tracing::warn!("the shared tier is not asked for a while: {error}");
                }
                shared::Event::TakesNoWrites(error) => {
                    tracing::warn!("the shared tier takes no writes: {error}");
                }
            }));
            Some(shared)
        }
        Err(error) => {
            tracing::error!("no shared tier: {error}");
            None
        }
    }
}

/// The log must remember what the oldest response on disk has not been checked for.
fn horizon(disk: Option<Arc<Disk>>) -> Horizon {
    Box::new(move || disk.as_ref().and_then(|disk| disk.oldest_checked()))
}
