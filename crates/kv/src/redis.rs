//! Redis and Valkey: one server, a group with sentinels, or a cluster; and replicas for reading.

mod address;
mod connect;
#[cfg(test)]
mod tests;

use crate::{BadUrl, Error, Kind, PerWorker, Read};
use address::Address;
use redis::{Cmd, Value};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, timeout};

pub use connect::{Connection, Servers};

/// How long replicas are left alone after one failed.
const REST: Duration = Duration::from_secs(1);

/// How many times longer than over a single connection an answer from a cluster is waited for, after nobody needs it any
/// more. A worker's connections to all servers of a cluster are one, so a server that hangs must not close it often.
const CLUSTER_PATIENCE: u32 = 20;

/// A client of Redis or Valkey. Shared by all workers.
#[derive(Debug)]
pub struct Redis {
    primary: Pool,
    replicas: Option<Replicas>,
}

#[derive(Debug)]
struct Replicas {
    pool: Pool,
    /// How long a replica may take to answer. This leaves time to ask the primary afterwards.
    timeout: Duration,
    resting_until: Mutex<Option<Instant>>,
}

/// Servers, and each worker's connection to them.
#[derive(Debug)]
struct Pool {
    servers: Arc<Servers>,
    connections: PerWorker<Connection>,
    /// How long an answer is waited for that nobody needs any more, before its connection counts as dead.
    patience: Duration,
}

impl Redis {
    /// Makes a client from a URL (see [`address`]). `timeout` is the limit of one step.
    pub fn new(url: &str, timeout: Duration) -> Result<Self, BadUrl> {
        let Address { primary, replicas } = Address::parse(url, timeout)?;
        let replicas = replicas.map(|servers| Replicas {
            pool: Pool::of(servers, timeout),
            timeout: timeout / 2,
            resting_until: Mutex::new(None),
        });
        Ok(Self {
            primary: Pool::of(primary, timeout),
            replicas,
        })
    }

    /// Returns the servers that take the writes, as the URL says.
    pub fn primary(url: &str, timeout: Duration) -> Result<Servers, BadUrl> {
        Address::parse(url, timeout).map(|address| address.primary)
    }

    /// Asks a replica if there are any and `read` allows it. If that fails, asks the primary.
    ///
    /// # Errors
    /// No answer, or an error from the server.
    pub async fn read(&self, command: Cmd, read: Read) -> Result<Value, Error> {
        if read == Read::Any
            && let Some(replicas) = &self.replicas
            && let Some(answer) = replicas.ask(command.clone()).await
        {
            return answer;
        }
        self.primary.ask(command).await
    }

    /// Asks the server that takes the writes.
    ///
    /// # Errors
    /// No answer, or an error from the server.
    pub async fn write(&self, command: Cmd) -> Result<Value, Error> {
        self.primary.ask(command).await
    }

    /// Drops this worker's connection, because it does not answer. The next question makes a new one.
    pub fn hang_up(&self) {
        self.primary.connections.hang_up();
    }

    /// Drops the connections of all workers.
    pub fn hang_up_all(&self) {
        self.primary.connections.hang_up_all();
    }
}

impl Replicas {
    /// Returns the answer of a replica. `None`: none can be used at the moment.
    async fn ask(&self, command: Cmd) -> Option<Result<Value, Error>> {
        let now = Instant::now();
        let resting =
            |until: &Mutex<Option<Instant>>| *until.lock().unwrap_or_else(PoisonError::into_inner);
        if resting(&self.resting_until).is_some_and(|until| now < until) {
            return None;
        }
        match timeout(self.timeout, self.pool.ask(command)).await {
            Ok(Ok(value)) => return Some(Ok(value)),
            // The answer is the same from every server.
            Ok(Err(error)) if error.kind == Kind::WrongType => return Some(Err(error)),
            Ok(Err(_)) | Err(_) => {}
        }
        self.pool.connections.hang_up();
        let mut until = self
            .resting_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *until = Some(Instant::now() + REST);
        None
    }
}

impl Pool {
    fn of(servers: Servers, timeout: Duration) -> Self {
        let times = match servers {
            Servers::Any(_) | Servers::Sentinel(_) => 1,
            Servers::Cluster(_) => CLUSTER_PATIENCE,
        };
        Self {
            patience: timeout.saturating_mul(times),
            servers: Arc::new(servers),
            connections: PerWorker::default(),
        }
    }

    async fn ask(&self, command: Cmd) -> Result<Value, Error> {
        let connect = || {
            let servers = Arc::clone(&self.servers);
            async move { servers.connect().await }
        };
        let connection = self.connections.get(connect).await?;
        let mut handle = connection.handle.clone();
        let answer = Box::pin(async move { handle.ask(&command).await });
        let owed = self.connections.owed(&connection, answer, self.patience);
        let answer = owed.await;
        // The connection is gone, or its server has become a replica of another.
        if let Err(error) = &answer
            && matches!(
                error.kind,
                Kind::Unreachable | Kind::Closed | Kind::Protocol
            )
        {
            self.connections.close(&connection);
        }
        answer
    }
}
