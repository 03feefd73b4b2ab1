//! Redis and Valkey as a shared tier.

mod address;
pub(crate) mod connect;

use super::{
    BadUrl,
    remote::{Asked, Error, Kind, Limits, Read, Remote},
    worker::PerWorker,
};
use address::Address;
use bytes::Bytes;
use connect::{Connection, Servers};
use redis::{Cmd, Value};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, timeout};

/// Longer keys get a hash in place of their tail: a screen can still show them.
const LONGEST_KEY: usize = 1024;

/// Larger values hold up everybody else's answers.
const LARGEST_VALUE: usize = 8 << 20;

/// How long replicas are left alone after one failed.
const REST: Duration = Duration::from_secs(1);

/// Deletes a key where it has this value, in one step.
const DELETE_IF: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/// Redis or Valkey: one server, what sentinels watch over, or a cluster; and replicas for reading.
#[derive(Debug)]
pub(crate) struct Redis {
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
    pub(crate) fn new(url: &str, timeout: Duration) -> Result<Self, BadUrl> {
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
    pub(crate) fn primary(url: &str, timeout: Duration) -> Result<Servers, BadUrl> {
        Address::parse(url, timeout).map(|address| address.primary)
    }

    /// Asks a replica where there are some and one will do, and the primary where that fails.
    async fn read(&self, command: &Cmd, read: Read) -> Result<Value, Error> {
        if read == Read::Any
            && let Some(replicas) = &self.replicas
            && let Some(value) = replicas.ask(command).await
        {
            return Ok(value);
        }
        self.primary.ask(command).await
    }
}

impl Replicas {
    async fn ask(&self, command: &Cmd) -> Option<Value> {
        let now = Instant::now();
        let resting =
            |until: &Mutex<Option<Instant>>| *until.lock().unwrap_or_else(PoisonError::into_inner);
        if resting(&self.resting_until).is_some_and(|until| now < until) {
            return None;
        }
        if let Ok(Ok(value)) = timeout(self.timeout, self.pool.ask(command)).await {
            return Some(value);
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
            && matches!(error.kind, Kind::Unreachable | Kind::Protocol)
        {
            self.connections.close(&connection);
        }
        answer
    }
}

impl Remote for Redis {
    fn limits(&self) -> Limits {
        Limits {
            key: LONGEST_KEY,
            value: LARGEST_VALUE,
        }
    }

    fn get<'a>(&'a self, key: &'a str, read: Read) -> Asked<'a, Option<Bytes>> {
        Box::pin(async move {
            let mut command = Cmd::with_capacity(2, 16 + key.len());
            command.arg("GET").arg(key);
            value(self.read(&command, read).await?)
        })
    }

    fn get_many<'a>(&'a self, keys: &'a [String], read: Read) -> Asked<'a, Vec<Option<Bytes>>> {
        Box::pin(async move {
            if keys.is_empty() {
                return Ok(Vec::new());
            }
            let mut command = Cmd::new();
            command.arg("MGET").arg(keys);
            match self.read(&command, read).await? {
                Value::Array(values) if values.len() == keys.len() => {
                    values.into_iter().map(value).collect()
                }
                other => Err(unexpected(&other)),
            }
        })
    }

    fn set<'a>(&'a self, key: &'a str, value: &'a [u8], expiry: Duration) -> Asked<'a, ()> {
        Box::pin(async move {
            let mut command = Cmd::with_capacity(5, 48 + key.len() + value.len());
            command.arg("SET").arg(key).arg(value);
            command.arg("PX").arg(millis(expiry));
            match self.primary.ask(&command).await? {
                Value::Okay => Ok(()),
                other => Err(unexpected(&other)),
            }
        })
    }

    fn add<'a>(&'a self, key: &'a str, value: &'a [u8], expiry: Duration) -> Asked<'a, bool> {
        Box::pin(async move {
            let mut command = Cmd::new();
            command.arg("SET").arg(key).arg(value);
            command.arg("NX").arg("PX").arg(millis(expiry));
            match self.primary.ask(&command).await? {
                Value::Okay => Ok(true),
                Value::Nil => Ok(false),
                other => Err(unexpected(&other)),
            }
        })
    }

    fn delete_if<'a>(&'a self, key: &'a str, value: &'a [u8]) -> Asked<'a, bool> {
        Box::pin(async move {
            let mut command = Cmd::new();
            command.arg("EVAL").arg(DELETE_IF).arg(1);
            command.arg(key).arg(value);
            match self.primary.ask(&command).await? {
                Value::Int(deleted) => Ok(deleted > 0),
                other => Err(unexpected(&other)),
            }
        })
    }

    fn hang_up(&self) {
        self.primary.connections.hang_up();
    }
}

fn millis(expiry: Duration) -> u64 {
    u64::try_from(expiry.as_millis()).map_or(u64::MAX, |millis| millis.max(1))
}

/// The bytes of a value, without copying them.
fn value(value: Value) -> Result<Option<Bytes>, Error> {
    match value {
        Value::Nil => Ok(None),
        Value::BulkString(bytes) => Ok(Some(bytes.into())),
        other => Err(unexpected(&other)),
    }
}

fn unexpected(value: &Value) -> Error {
    let what = match value {
        Value::Nil => "nil",
        Value::Int(_) => "a number",
        Value::BulkString(_) => "a string",
        Value::Array(_) => "an array",
        Value::SimpleString(_) | Value::Okay => "a status",
        _ => "something else",
    };
    Error::new(Kind::Protocol, format!("{what} is no answer to that"))
}

#[cfg(test)]
mod tests;
