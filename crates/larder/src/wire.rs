//! Builds everything, and reads as a list: the threads, what they share, how the program stops and reloads.
//!
//! | thread | runs | started by |
//! |---|---|---|
//! | `larder-N`, one for each worker | accept loops, the walk, fetches: a request from its first byte to its last | [`worker`] |
//! | `larder-control` | admin API, health checks, name resolution, purges to other nodes, complaints of scripts | [`control`] |
//! | those of a runtime, at most 64 for each of the above | wait for files and names | [`threads`] |
//! | `larder-reload`, at most four | reads the configuration again | `command::serve` |
//! | `larder-messages` | writes the program's own log to standard error | `telemetry::log` |
//! | `larder-log` | writes the access log, if there is one | [`AccessLog`] |
//! | `larder-sweep` | sweeps memory after purges | [`store::Sweeper`] |
//! | `purge-log` | writes the log of purges, if it has a file | [`FileJournal`] |
//! | `purge-log-flush` | waits at a stop until that log is on disk | [`FileJournal::flush`] |
//! | `larder-stream` | follows the log of purges that nodes share, if there is one | [`store::shared::stream`] |
//! | `larder-disk` | writes segments and keeps the directory, if there is a disk tier | [`store::disk`] |
//! | `larder-disk-large` | writes large bodies to their files | [`store::disk`] |
//! | `larder-disk-read`, four | wait for the device on behalf of readers | [`store::disk`] |
//! | `larder-code` | makes forms of large bodies; starts with the first one | [`proxy::compress`] |
//! | `larder-code-high`, of low priority | makes forms at the high level; starts with the first one | [`proxy::compress`] |

mod control;
mod descriptors;
mod error;
mod fixed;
mod listeners;
mod outage;
pub mod threads;
mod tiers;
mod watches;
mod worker;

pub use error::StartError;
pub use listeners::ListenPlace;

use crate::{
    admin,
    config::meant::{Admin, Config},
    telemetry::access_log::{self, AccessLog},
};
use arc_swap::ArcSwap;
use control::Control;
use fixed::Fixed;
use listeners::Listeners;
use proxy::listen::{BindError, ConnectionLimiter, DrainSwitch};
use std::{
    net::{SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use store::purge::FileJournal;
use tiers::Store;
use worker::Workers;

/// A running cache.
pub struct Running {
    state: Arc<admin::State>,
    limiter: Arc<ConnectionLimiter>,
    listeners: Listeners,
    workers: Workers,
    control: Control,
    journal: Option<FileJournal>,
    log: Option<AccessLog>,
    admin: Option<SocketAddr>,
    /// The settings that the running parts were built from and cannot change.
    fixed: Fixed,
}

/// Reaches a stop while [`Running::finish`] blocks: cuts it short, or opens the access log again.
#[derive(Debug)]
pub struct Cut {
    switches: Vec<DrainSwitch>,
    log: Option<access_log::Handle>,
}

impl Cut {
    /// Ends requests in progress, and no longer waits for the reader of the access log.
    pub fn now(&self) {
        for switch in &self.switches {
            switch.start(Duration::ZERO);
        }
        if let Some(log) = &self.log {
            log.hasten();
        }
    }

    /// As [`Running::reopen_log`].
    pub fn reopen_log(&self) {
        if let Some(log) = &self.log {
            log.reopen();
        }
    }
}

/// Builds and starts everything.
pub fn start(config: Config) -> Result<Running, StartError> {
    start_with(config, &mut listenfd::ListenFd::empty())
}

/// Like [`start`], with sockets that another process (systemd) has opened: they take the place of the configured
/// addresses, in order.
pub fn start_with(
    config: Config,
    inherited: &mut listenfd::ListenFd,
) -> Result<Running, StartError> {
    let fixed = Fixed::of(&config);
    let (mut listeners, bound) = Listeners::open(&config, inherited)?;
    let admin = bind_admin(config.admin, &listeners)?;
    let admin_address = admin
        .as_ref()
        .and_then(|listener| listener.local_addr().ok());
    let log = AccessLog::start(&config.log)?;
    let limiter = ConnectionLimiter::new(descriptors::within(config.limits.listen.clone()));
    let Store {
        tiers,
        purger,
        journal,
        peers,
    } = tiers::open(&config)?;
    let cache = proxy::Cache::new(tiers, purger, config.site);
    let sender = log.as_ref().map(AccessLog::sender);
    let workers = Workers::start(config.workers, &cache, &limiter, sender.as_ref())
        .map_err(StartError::Thread)?;
    let mut counters = workers.counters();
    counters.extend(log.as_ref().map(AccessLog::counters));
    let state = Arc::new(admin::State {
        cache,
        counters,
        connections: vec![limiter.clone()],
        origins: ArcSwap::from_pointee(config.origins.clone()),
        plain: ArcSwap::from_pointee(listeners.plain()),
        ready: AtomicBool::new(false),
    });
    let control = Control::start(admin, state.clone()).map_err(StartError::Thread)?;
    control.watch(config.origins);
    if let Some(peers) = peers {
        control.send_purges(peers);
    }
    listeners.serve(bound, &workers);
    state.ready.store(true, Relaxed);
    Ok(Running {
        state,
        limiter,
        listeners,
        workers,
        control,
        journal,
        log,
        admin: admin_address,
        fixed,
    })
}

fn bind_admin(admin: Admin, listeners: &Listeners) -> Result<Option<TcpListener>, StartError> {
    let Admin::At(address) = admin else {
        return Ok(None);
    };
    let bind = || {
        let listener = TcpListener::bind(address)?;
        // Lets `larder check` see that the address is ours, as for the listeners.
        socket2::SockRef::from(&listener).set_reuse_port(true)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    bind().map(Some).map_err(|error| {
        listeners.overlap_admin(address, BindError::new(&address.to_string(), error))
    })
}

impl Running {
    /// The places where clients connect.
    pub fn places(&self) -> Vec<ListenPlace> {
        self.listeners.places()
    }

    /// The address of the admin API.
    pub fn admin(&self) -> Option<SocketAddr> {
        self.admin
    }

    /// The state that the admin API shows.
    pub fn state(&self) -> &Arc<admin::State> {
        &self.state
    }

    /// The size of the largest body that the store keeps.
    pub fn largest_body(&self) -> u64 {
        self.fixed.largest_body()
    }

    /// Takes a new configuration: all of it, or nothing if there is an error. Connections and stored responses stay.
    /// Returns the settings that need a restart.
    pub fn reload(&mut self, config: Config) -> Result<Vec<&'static str>, StartError> {
        let waiting = self.fixed.differences(&Fixed::of(&config));
        let change = self.listeners.prepare(&config, self.fixed.workers)?;
        // Nothing can fail from here on.
        self.limiter
            .set_limits(descriptors::within(config.limits.listen.clone()));
        self.state.cache.site.store(Arc::new(config.site));
        self.state.origins.store(Arc::new(config.origins.clone()));
        self.control.watch(config.origins);
        self.listeners.apply(change, &self.workers);
        self.state.plain.store(Arc::new(self.listeners.plain()));
        Ok(waiting)
    }

    /// Opens the file of the access log again, after it was moved away.
    pub fn reopen_log(&self) {
        if let Some(log) = &self.log {
            log.reopen();
        }
    }

    /// Stops: accepts no new connections, and gives requests in progress `within` to finish.
    pub fn stop(self, within: Duration) {
        self.drain(within);
        self.finish();
    }

    /// Begins to stop: accepts no new connections, and gives requests in progress `within` to finish. A second call
    /// moves that deadline.
    pub fn drain(&self, within: Duration) {
        self.state.ready.store(false, Relaxed);
        self.listeners.drain(within);
    }

    /// Returns a handle for the time in which [`finish`](Self::finish) blocks.
    pub fn cut(&self) -> Cut {
        Cut {
            switches: self.listeners.switches(),
            log: self.log.as_ref().map(AccessLog::handle),
        }
    }

    /// Waits until everything has drained, and ends.
    pub fn finish(self) {
        self.workers.join();
        if let Some(disk) = &self.state.cache.disk {
            disk.close();
        }
        self.control.stop();
        if let Some(journal) = &self.journal {
            journal.flush();
        }
        drop(self.log);
    }
}
