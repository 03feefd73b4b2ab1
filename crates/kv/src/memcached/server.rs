//! One memcached server: questions to it, and whether it is left alone for failing.

use super::{
    address::Address,
    answer::Answer,
    line::{self, Expected, Line, Question},
};
use crate::{Connection, Error, Kind, PerWorker};
use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{sync::oneshot, time::Instant};

/// Failures in a row after which one of several servers is left alone: fewer than open a breaker.
pub(super) const FAILURES: u32 = 2;

/// One of several servers that fails is left alone for so long; what it has counts as not there.
const REST: Duration = Duration::from_secs(1);

/// One server: its connections, and whether it is left alone for failing.
#[derive(Debug)]
pub(super) struct Server {
    pub address: Address,
    connections: PerWorker<Line>,
    /// In a row.
    failures: AtomicU32,
    resting_until: Mutex<Option<Instant>>,
    /// Whether it has been left alone and has not answered since.
    is_down: AtomicBool,
}

/// A question on its way.
pub(super) struct Sent {
    connection: Connection<Line>,
    answer: oneshot::Receiver<Result<Answer, Error>>,
}

impl Server {
    /// The server at `address`, which counts as up. Nothing is asked of it yet.
    pub fn new(address: Address) -> Self {
        Self {
            address,
            connections: PerWorker::default(),
            failures: AtomicU32::new(0),
            resting_until: Mutex::new(None),
            is_down: AtomicBool::new(false),
        }
    }

    /// Writes `command` on a connection of this worker, which is made where there is none. What comes back must be as
    /// `expected`.
    ///
    /// # Errors
    /// There is no connection, and none could be made, or it was closed before it took the command.
    pub async fn send(&self, command: Vec<u8>, expected: Expected) -> Result<Sent, Error> {
        let address = self.address.clone();
        let connection = self.connections.get(|| line::connect(address)).await?;
        let (reply, answer) = oneshot::channel();
        let question = Question {
            command,
            expected,
            reply,
        };
        if connection.handle.send(question).await.is_err() {
            self.connections.close(&connection);
            return Err(self.closed());
        }
        Ok(Sent { connection, answer })
    }

    /// Waits for the answer to what was [sent](Self::send).
    ///
    /// # Errors
    /// The server refused, or the connection ended before its answer. A connection whose answers cannot be told apart
    /// any more is closed.
    pub async fn answer(&self, sent: Sent) -> Result<Answer, Error> {
        let answer = sent.answer.await.unwrap_or_else(|_| Err(self.closed()));
        // After what is no answer to this question, none that follows is one to its own: that connection has ended.
        answer.inspect_err(|error| {
            if matches!(
                error.kind,
                Kind::Unreachable | Kind::Closed | Kind::Protocol | Kind::TooLarge
            ) {
                self.connections.close(&sent.connection);
            }
        })
    }

    /// Drops this worker's connections to it.
    pub fn hang_up(&self) {
        self.connections.hang_up();
    }

    /// Drops those of all workers.
    pub fn hang_up_all(&self) {
        self.connections.hang_up_all();
    }

    fn closed(&self) -> Error {
        let detail = format!("{}: the connection was closed", self.address.name());
        Error::new(Kind::Closed, detail)
    }

    /// Whether it is left alone now, having failed again and again.
    pub fn is_resting(&self) -> bool {
        self.resting().is_some_and(|until| Instant::now() < until)
    }

    /// It has answered: failures are counted from none again, and it is not down.
    pub fn answered(&self) {
        if self.failures.load(Relaxed) != 0 {
            self.failures.store(0, Relaxed);
        }
        if self.is_down() {
            self.is_down.store(false, Relaxed);
        }
    }

    /// Whether it has been left alone and has not answered since.
    pub fn is_down(&self) -> bool {
        self.is_down.load(Relaxed)
    }

    /// One that fails again and again is left alone.
    pub fn failed(&self) {
        if self.failures.fetch_add(1, Relaxed) + 1 >= FAILURES {
            self.failures.store(0, Relaxed);
            self.connections.hang_up_all();
            self.is_down.store(true, Relaxed);
            *self.resting() = Some(Instant::now() + REST);
        }
    }

    fn resting(&self) -> MutexGuard<'_, Option<Instant>> {
        self.resting_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
