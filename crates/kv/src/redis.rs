//! Redis and Valkey: one server, what sentinels watch over, or a cluster; and replicas for reading.

mod address;
mod connect;

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

/// Redis or Valkey. Shared by all workers.
#[derive(Debug)]
pub struct Redis {
    primary: Pool,
    replicas: Option<Replicas>,
}

#[derive(Debug)]
struct Replicas {
    pool: Pool,
    /// What a replica may take to answer, so that there is time to ask the primary after it.
    timeout: Duration,
    resting_until: Mutex<Option<Instant>>,
}

/// Servers, and each worker's connection to them.
#[derive(Debug)]
struct Pool {
    servers: Arc<Servers>,
    connections: PerWorker<Connection>,
}

impl Redis {
    /// Reads the URL ([`address`]). `timeout`: what one step may take.
    pub fn new(url: &str, timeout: Duration) -> Result<Self, BadUrl> {
        let Address { primary, replicas } = Address::parse(url, timeout)?;
        let replicas = replicas.map(|servers| Replicas {
            pool: Pool::of(servers),
            timeout: timeout / 2,
            resting_until: Mutex::new(None),
        });
        Ok(Self {
            primary: Pool::of(primary),
            replicas,
        })
    }

    /// Who takes the writes, as the URL says.
    pub fn primary(url: &str, timeout: Duration) -> Result<Servers, BadUrl> {
        Address::parse(url, timeout).map(|address| address.primary)
    }

    /// Asks a replica where there are some and one will do, and the primary where that fails.
    ///
    /// # Errors
    /// No answer, or the server's complaint.
    pub async fn read(&self, command: &Cmd, read: Read) -> Result<Value, Error> {
        if read == Read::Any
            && let Some(replicas) = &self.replicas
            && let Some(answer) = replicas.ask(command).await
        {
            return answer;
        }
        self.primary.ask(command).await
    }

    /// Asks whoever takes the writes.
    ///
    /// # Errors
    /// No answer, or the server's complaint.
    pub async fn write(&self, command: &Cmd) -> Result<Value, Error> {
        self.primary.ask(command).await
    }

    /// Drops this worker's connection: it does not answer. The next question makes a new one.
    pub fn hang_up(&self) {
        self.primary.connections.hang_up();
    }

    /// Drops those of all workers.
    pub fn hang_up_all(&self) {
        self.primary.connections.hang_up_all();
    }
}

impl Replicas {
    /// What one of them says; `None` where none will do for now.
    async fn ask(&self, command: &Cmd) -> Option<Result<Value, Error>> {
        let now = Instant::now();
        let resting =
            |until: &Mutex<Option<Instant>>| *until.lock().unwrap_or_else(PoisonError::into_inner);
        if resting(&self.resting_until).is_some_and(|until| now < until) {
            return None;
        }
        match timeout(self.timeout, self.pool.ask(command)).await {
            Ok(Ok(value)) => return Some(Ok(value)),
            // That is so wherever it is asked.
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
    fn of(servers: Servers) -> Self {
        Self {
            servers: Arc::new(servers),
            connections: PerWorker::default(),
        }
    }

    async fn ask(&self, command: &Cmd) -> Result<Value, Error> {
        let connect = || {
            let servers = Arc::clone(&self.servers);
            async move { servers.connect().await }
        };
        let mut connection = self.connections.get(connect).await?;
        let answer = connection.handle.ask(command).await;
        // Gone, or to a server that has become somebody's replica.
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
