//! One memcached server: questions to it, and whether it is left alone because it fails.

use super::{
    address::Address,
    answer::Answer,
    line::{self, Expected, Line, Question},
};
use crate::{Connection, Error, Kind, PerWorker, worker::Owed};
use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{sync::oneshot, time::Instant};

/// Failures in a row after which one of several servers is left alone. Fewer than open a breaker.
pub(super) const FAILURES: u32 = 2;

/// How long one of several servers that fails is left alone. Its values count as absent meanwhile.
const REST: Duration = Duration::from_secs(1);

/// One server: its connections, and whether it is left alone because it fails.
#[derive(Debug)]
pub(super) struct Server {
    pub address: Address,
    /// How long an answer is waited for that nobody needs any more, before its connection counts as dead.
    patience: Duration,
    connections: PerWorker<Line>,
    /// Failures in a row.
    failures: AtomicU32,
    resting_until: Mutex<Option<Instant>>,
    /// Whether it has been left alone and has not answered since.
    is_down: AtomicBool,
}

/// A question whose answer has not come yet.
pub(super) struct Sent {
    connection: Connection<Line>,
    answer: Owed<Line, oneshot::Receiver<Result<Answer, Error>>>,
}

impl Server {
    /// Makes the server at `address`, which counts as up. Sends it nothing yet. A connection is closed over which an
    /// answer has not come for `patience` after it was given up.
    pub fn new(address: Address, patience: Duration) -> Self {
        Self {
            address,
            patience,
            connections: PerWorker::default(),
            failures: AtomicU32::new(0),
            resting_until: Mutex::new(None),
            is_down: AtomicBool::new(false),
        }
    }

    /// Writes `command` on a connection of this worker, which is made if there is none. The answer must be as
    /// `expected`.
    ///
    /// # Errors
    /// There is no connection and none could be made, or it was closed before it took the command.
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
        let answer = self.connections.owed(&connection, answer, self.patience);
        Ok(Sent { connection, answer })
    }

    /// Waits for the answer to what was [sent](Self::send). Closes the connection if its answers cannot be told apart
    /// any more.
    ///
    /// # Errors
    /// The server refused, or the connection ended before its answer.
    pub async fn answer(&self, sent: Sent) -> Result<Answer, Error> {
        let answer = sent.answer.await.unwrap_or_else(|_| Err(self.closed()));
        // After an answer to some other question, no later answer can be matched to its question: that connection has
        // ended.
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

    /// Drops the connections of all workers.
    pub fn hang_up_all(&self) {
        self.connections.hang_up_all();
    }

    fn closed(&self) -> Error {
        let detail = format!("{}: the connection was closed", self.address.name());
        Error::new(Kind::Closed, detail)
    }

    /// Whether it is left alone now because it failed again and again.
    pub fn is_resting(&self) -> bool {
        self.resting().is_some_and(|until| Instant::now() < until)
    }

    /// Records an answer: failures are counted from zero again, and it is not down.
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

    /// Records a failure. After several in a row, the server is left alone.
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
