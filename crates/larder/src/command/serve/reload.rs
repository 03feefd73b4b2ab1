//! A reload: the configuration is read beside everything else, and taken.

use crate::{
    config::{self, Faults, Flags, meant::Config},
    systemd::{State, notify},
    wire::{Running, StartError},
};
use std::{future, sync::Arc, thread, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// As much as the main thread commonly has: what could be read at the start can be read again.
const STACK: usize = 8 << 20;

/// How many may read at once, each with a thread: one that never comes to the end of its file is there until the program ends.
const READERS: usize = 4;

/// What comes of a read; nothing where that ended in a panic.
type Done = oneshot::Receiver<Result<Config, Faults>>;

/// The configuration that is read, if one is, and whether it is to be read once more.
pub struct Reload {
    places: Arc<Semaphore>,
    asked: bool,
    /// Of the read that began last: what an earlier one brings may be of a file that has changed since, and goes nowhere.
    newest: Option<Done>,
}

impl Reload {
    pub fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(READERS)),
            asked: false,
            newest: None,
        }
    }

    /// Opens the access log again, and has [`read()`](Self::read) begin anew.
    pub fn ask(&mut self, running: &Running) {
        running.reopen_log();
        self.asked = true;
        if self.places.available_permits() == 0 {
            tracing::warn!(
                "configuration not read yet: {READERS} reads of it have not come to their end; it is read again once one has"
            );
        }
    }

    /// What was read, once it was, of what was asked for last; `None` where that ended in a panic.
    pub async fn read(
        &mut self,
        running: &Running,
        flags: &Flags,
    ) -> Option<Result<Config, Faults>> {
        loop {
            tokio::select! {
                place = place(&self.places, self.asked) => self.begin(place, running, flags),
                read = ended(&mut self.newest) => {
                    self.newest = None;
                    return read;
                }
            }
        }
    }

    /// Begins to read, on a thread that nobody waits for at a stop: a pipe that nobody writes to, or a file system that hangs, keeps it for
    /// as long as it likes.
    fn begin(&mut self, place: OwnedSemaphorePermit, running: &Running, flags: &Flags) {
        self.asked = false;
        notify(State::Reloading);
        let (done, read) = oneshot::channel();
        let (flags, origins) = (flags.clone(), running.state().origins.load_full());
        let begun = thread::Builder::new()
            .name("larder-reload".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                // Whoever stops, or reads anew, wants no other configuration.
                let _ = done.send(config::load_again(&flags, &origins));
                drop(place);
            });
        match begun {
            Ok(_) => self.newest = Some(read),
            Err(error) => {
                report(Err(StartError::Thread(error)));
                // Otherwise the one that is under way says so at its end.
                if self.newest.is_none() {
                    notify(State::Ready);
                }
            }
        }
    }
}

/// The place of a reader, once one is asked for and free.
async fn place(places: &Arc<Semaphore>, asked: bool) -> OwnedSemaphorePermit {
    if asked && let Ok(place) = Arc::clone(places).acquire_owned().await {
        return place;
    }
    future::pending().await
}

async fn ended(read: &mut Option<Done>) -> Option<Result<Config, Faults>> {
    match read {
        Some(read) => read.await.ok(),
        None => future::pending().await,
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
