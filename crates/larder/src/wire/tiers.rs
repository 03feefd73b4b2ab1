//! The tiers of the store, the log of purges, and what keeps both.
//!
//! A tier that cannot be used is reported once and clearly, and the cache goes on without it.

use super::{
    StartError,
    outage::{Outage, Part},
};
use crate::{admin::peers::Peers, config::meant::Config};
use proxy::{Tiers, clock::now};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use store::{
    Boxed, Durable, Horizon, HorizonBelow, Memory, NotDurable, Purger, Remember, Sweeper,
    disk::Disk,
    purge::{
        FileJournal, Log, Remembered,
        journal::{self, Lasting, OpenError, Opened},
    },
    shared::{
        self, SharedTier,
        stream::{self, Stream},
    },
};

/// How long purges are remembered for fetches that began before them. What a longer fetch brings is not stored.
const FETCHES: Duration = Duration::from_mins(1);

/// The name of the log of purges in its directory.
const JOURNAL: &str = "purges.log";

/// The tiers, and the entrance to purging them.
pub struct Store {
    /// The places where stored responses are kept.
    pub tiers: Tiers,
    /// Takes purges for all tiers.
    pub purger: Purger,
    /// The log that remembers purges over a restart.
    pub journal: Option<FileJournal>,
    /// The nodes that purges are sent on to.
    pub peers: Option<Arc<Peers>>,
}

/// Takes the place of a configured log of purges that cannot be kept: no purge is acknowledged. What is in the
/// directory is found again once it can be used, and by then nobody could tell what was purged meanwhile.
#[derive(Debug)]
struct Lost(NotDurable);

impl Durable for Lost {
    fn durable(&self, _sequence: u64) -> Boxed<Result<(), NotDurable>> {
        Box::pin(std::future::ready(Err(self.0.clone())))
    }

    fn is_failing(&self) -> bool {
        true
    }
}

/// The smallest budget with huge pages, in bytes. With a smaller one, the kernel's rounding up to huge pages would cost
/// too much in comparison.
const HUGE_PAGES_FROM: u64 = 256 << 20;

/// Opens the tiers that `config` names.
pub fn open(config: &Config) -> Result<Store, StartError> {
    let log = Arc::new(Log::default());
    if config.memory < HUGE_PAGES_FROM
        && let Err(error) = rustix::thread::disable_transparent_huge_pages(true)
    {
        tracing::info!("a small memory takes more of the system: {error}");
    }
    if let Err(error) = store::arena::open(config.memory) {
        tracing::info!("bodies are copied to the system as they are sent: {error}");
    }
    let memory = Arc::new(Memory::new(config.memory, log.clone()));
    let (journal, durable) = journal(config, &log);
    // Without a log of purges, purged responses could come back from disk.
    let disk = journal
        .as_ref()
        .and(config.disk.as_ref())
        .and_then(|disk| self::disk(disk, config.purge.log.as_ref(), log));
    let outage = Arc::new(Outage::default());
    let shared = config
        .shared
        .as_ref()
        .and_then(|config| self::shared(config, memory.clone(), outage.clone()));
    let remember = Remember {
        fetches: FETCHES,
        shared: config.shared.as_ref().map(|config| config.max_ttl),
    };
    let sweeper = Sweeper::start(memory.clone(), horizon(disk.clone()), remember)
        .map_err(StartError::Thread)?;
    let purger = Purger::new(memory.clone(), sweeper);
    if let Some(durable) = durable {
        purger.last_by(durable);
    }
    let peers =
        (!config.purge.peers.is_empty()).then(|| Peers::new(&config.purge.peers, memory.clone()));
    match (&config.shared, &peers) {
        (Some(config), _) if has_stream(config) => {
            purger.share_by(Stream::start(config, memory.clone(), tell(outage))?);
        }
        (_, Some(peers)) => purger.share_by(peers.clone()),
        (_, None) => {}
    }
    if let Some(disk) = &disk {
        memory.demote_to(disk.clone());
        purger.count_on(disk.clone());
    }
    let tiers = Tiers {
        memory,
        disk,
        shared,
    };
    Ok(Store {
        tiers,
        purger,
        journal,
        peers,
    })
}

/// Whether nodes that share responses also share a log of purges.
fn has_stream(config: &shared::Config) -> bool {
    !config.url.starts_with("memcached:")
}

/// Opens the log of purges on disk, if it has a place. Also returns what acknowledges that a purge lasts.
fn journal(config: &Config, log: &Log) -> (Option<FileJournal>, Option<Arc<dyn Durable>>) {
    let of_disk = || config.disk.as_ref().map(|disk| disk.path.clone());
    let Some(directory) = config.purge.log.clone().or_else(of_disk) else {
        return (None, None);
    };
    let lasting = if config.purge.durable {
        Lasting::Synced
    } else {
        Lasting::Written
    };
    match open_journal(&directory, lasting) {
        Ok((journal, remembered, opened)) => {
            match opened {
                Opened::Damaged => {
                    tracing::warn!(
                        "the log of purges was damaged: everything stored counts as purged"
                    );
                }
                Opened::Torn(bytes) => tracing::warn!(
                    "the last {bytes} bytes of the log of purges are an incomplete entry, as after a crash: they are cut off"
                ),
                Opened::New | Opened::Whole => {}
            }
            journal.tell(Box::new(|event| match event {
                journal::Event::Failing(_) => tracing::error!("{event}"),
                journal::Event::Mended => tracing::info!("{event}"),
            }));
            if config.shared.as_ref().is_some_and(has_stream) {
                log.owe(remembered.unsent());
            }
            log.restore(remembered);
            log.keep_in(Box::new(journal.clone()));
            (Some(journal.clone()), Some(Arc::new(journal)))
        }
        Err(error) => {
            let lost = match config.disk {
                Some(_) => "no disk tier, and purges will not survive a restart",
                None => "purges will not survive a restart",
            };
            tracing::error!("{lost}: {error}");
            (None, Some(Arc::new(Lost(NotDurable(error.to_string())))))
        }
    }
}

fn open_journal(
    directory: &Path,
    lasting: Lasting,
) -> Result<(FileJournal, Remembered, Opened), OpenError> {
    if !directory.is_dir() {
        // The parent must exist: if a mount is missing, Larder must not write in its place.
        fs::create_dir(directory).map_err(|error| OpenError::Io(directory.to_owned(), error))?;
    }
    FileJournal::open(&directory.join(JOURNAL), lasting, now())
}

/// Reports events of the log that nodes share in the program's own log.
fn tell(outage: Arc<Outage>) -> stream::Hook {
    Box::new(move |event| match event {
        stream::Event::Following => outage.ends(Part::Log, event),
        stream::Event::Lost(_) | stream::Event::Unreported(_) => outage.begins(Part::Log, event),
        stream::Event::Distrusted => tracing::warn!("{event}"),
        stream::Event::Forgot(_) | stream::Event::Unreadable { .. } | stream::Event::Overflow => {
            tracing::error!("{event}");
        }
    })
}

/// Opens the disk tier. `place` is the directory of the log of purges, if one is named.
fn disk(config: &store::disk::Config, place: Option<&PathBuf>, log: Arc<Log>) -> Option<Arc<Disk>> {
    let config = store::disk::Config {
        log: place.filter(|place| **place != config.path).cloned(),
        ..config.clone()
    };
    match Disk::open(config, log) {
        Ok(disk) => Some(disk),
        Err(error) => {
            tracing::error!("no disk tier: {error}");
            None
        }
    }
}

fn shared(
    config: &shared::Config,
    memory: Arc<Memory>,
    outage: Arc<Outage>,
) -> Option<Arc<SharedTier>> {
    match SharedTier::new(config.clone(), memory) {
        Ok(shared) => {
            shared.tell(Box::new(move |event| match event {
                shared::Event::Up => outage.ends(Part::Tier, &"the shared tier answers again"),
                shared::Event::TakesWrites => {
                    tracing::info!("the shared tier accepts writes again");
                }
                shared::Event::Down(error) => outage.begins(
                    Part::Tier,
                    &format_args!("the shared tier is not asked for a while: {error}"),
                ),
                shared::Event::OneDown(error) => {
                    tracing::warn!("a server of the shared tier is not asked for a while: {error}");
                }
                shared::Event::AllUp => {
                    tracing::info!("all servers of the shared tier answer again");
                }
                shared::Event::TakesNoWrites(error) => {
                    tracing::warn!("the shared tier accepts no writes: {error}");
                }
                shared::Event::HoldsSomethingElse(error) => {
                    tracing::warn!("the shared tier {error}");
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

/// The log must remember the purges that the oldest response on disk has not been checked against.
fn horizon(disk: Option<Arc<Disk>>) -> HorizonBelow {
    Box::new(move || {
        disk.as_ref()
            .map_or(Horizon::NOTHING, |disk| disk.horizon())
    })
}
