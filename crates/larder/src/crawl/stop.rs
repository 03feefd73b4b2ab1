//! Waits for signals to stop.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// `SIGTERM` and `SIGINT`, caught as soon as this exists.
#[derive(Debug)]
pub struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    /// Catches both signals. Needs a tokio runtime.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn catch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for one of the signals.
    pub async fn told(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
