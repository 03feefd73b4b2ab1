//! A reload: the configuration is read beside everything else, and taken.

use crate::{
    config::{self, Faults, Flags, meant::Config},
    systemd::{State, notify},
    wire::{Running, StartError},
};
use std::{future, thread, time::Duration};
use tokio::sync::oneshot;

/// As much as the main thread commonly has: what could be read at the start can be read again.
const STACK: usize = 8 << 20;

/// A configuration that is read, if one is.
#[derive(Default)]
pub struct Reload(Option<oneshot::Receiver<Result<Config, Faults>>>);

impl Reload {
    /// Begins to read, on a thread that nobody waits for at a stop: a pipe that nobody writes to, or a file system that hangs, keeps it for
    /// as long as it likes.
    pub fn begin(running: &Running, flags: &Flags) -> Self {
        running.reopen_log();
        notify(State::Reloading);
        let (done, read) = oneshot::channel();
        let (flags, origins) = (flags.clone(), running.state().origins.load_full());
        let begun = thread::Builder::new()
            .name("larder-reload".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                // Whoever stops wants no other configuration.
                let _ = done.send(config::load_again(&flags, &origins));
            });
        match begun {
            Ok(_) => Self(Some(read)),
            Err(error) => {
                report(Err(StartError::Thread(error)));
                notify(State::Ready);
                Self(None)
            }
        }
    }

    /// Whether one is read.
    pub const fn is_under_way(&self) -> bool {
        self.0.is_some()
    }

    /// What was read, once it was; `None` where that ended in a panic.
    pub async fn read(&mut self) -> Option<Result<Config, Faults>> {
        let read = match &mut self.0 {
            Some(read) => read.await.ok(),
            None => future::pending().await,
        };
        self.0 = None;
        read
    }
}

/// All or nothing: a faulty configuration changes nothing and is reported.
pub fn take(
    running: &mut Running,
    read: Option<Result<Config, Faults>>,
    drain_time: &mut Duration,
) {
    match read {
        Some(Ok(config)) => {
            let new_drain_time = config.limits.drain_time;
            let reloaded = running.reload(config);
            if reloaded.is_ok() {
                *drain_time = new_drain_time;
            }
            report(reloaded);
        }
        Some(Err(faults)) => tracing::error!("configuration not taken:\n{faults}"),
        // The panic has said so itself.
        None => {}
    }
    notify(State::Ready);
}

fn report(reloaded: Result<Vec<&'static str>, StartError>) {
    match reloaded {
        Ok(waiting) if waiting.is_empty() => tracing::info!("configuration reloaded"),
        Ok(waiting) => tracing::warn!(
            "configuration reloaded; {} changes with a restart only",
            waiting.join(", ")
        ),
        Err(error) => tracing::error!("configuration not taken: {error}"),
    }
}
