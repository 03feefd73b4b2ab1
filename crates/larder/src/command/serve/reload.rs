//! A reload: reads the configuration while everything else goes on, and applies it.

use super::warn;
use crate::{
    config::{self, Faults, Flags, meant::Config},
    systemd::{State, notify},
    wire::{Running, StartError},
};
use std::{future, sync::Arc, thread, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// As large as the main thread's usual stack, so that whatever could be read at the start can be read again.
const STACK: usize = 8 << 20;

/// The most concurrent reads, each on its own thread. A read that never reaches the end of its file stays until the
/// program ends.
const READERS: usize = 4;

/// The result of a read; nothing if it panicked.
type Done = oneshot::Receiver<Result<Config, Faults>>;

/// The read in progress, if there is one, and whether another was requested.
pub struct Reload {
    places: Arc<Semaphore>,
    asked: bool,
    /// The result of the read that began last. An earlier one may bring a file that has changed since, and is dropped.
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

    /// Opens the access log again, and makes [`read()`](Self::read) begin again.
    pub fn ask(&mut self, running: &Running) {
        running.reopen_log();
        self.asked = true;
        if self.places.available_permits() == 0 {
            tracing::warn!(
                "configuration not read yet: {READERS} earlier reads of it have not ended; it is read as soon as one ends"
            );
        }
    }

    /// Waits for the result of the last requested read; `None` if it panicked.
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

    /// Begins to read, on a thread that a stop does not wait for: a pipe without a writer, or a file system that hangs,
    /// may keep the thread for any time.
    fn begin(&mut self, place: OwnedSemaphorePermit, running: &Running, flags: &Flags) {
        self.asked = false;
        notify(State::Reloading);
        let (done, read) = oneshot::channel();
        let (flags, largest_body) = (flags.clone(), running.largest_body());
        let origins = running.state().origins.load_full();
        let begun = thread::Builder::new()
            .name("larder-reload".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                // After a stop or a newer read, nobody wants this configuration.
                let _ = done.send(config::load_again(&flags, &origins, largest_body));
                drop(place);
            });
        match begun {
            Ok(_) => self.newest = Some(read),
            Err(error) => {
                report(Err(StartError::Thread(error)));
                // Otherwise the read in progress says so when it ends.
                if self.newest.is_none() {
                    notify(State::Ready);
                }
            }
        }
    }
}

/// Waits until a read is requested and a reader's place is free, and takes that.
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

/// Applies the configuration, all or nothing: a faulty one changes nothing and is reported.
pub fn take(
    running: &mut Running,
    read: Option<Result<Config, Faults>>,
    drain_time: &mut Duration,
) {
    match read {
        Some(Ok(config)) => {
            let new_drain_time = config.limits.drain_time;
            let warnings = config.warnings.clone();
            let reloaded = running.reload(config);
            if reloaded.is_ok() {
                *drain_time = new_drain_time;
                warn(&warnings);
            }
            report(reloaded);
        }
        Some(Err(faults)) => tracing::error!("configuration not applied:\n{faults}"),
        // The panic has been reported already.
        None => {}
    }
    notify(State::Ready);
}

fn report(reloaded: Result<Vec<&'static str>, StartError>) {
    match reloaded {
        Ok(waiting) if waiting.is_empty() => tracing::info!("configuration reloaded"),
        Ok(waiting) => tracing::warn!(
            "configuration reloaded; {} changes only with a restart",
            waiting.join(", ")
        ),
        Err(error) => tracing::error!("configuration not applied: {error}"),
    }
}
