//! memcached as a shared tier: one server, or several over which keys are spread.
//!
//! memcached keeps no log that nodes could share. So a response's place in the log is the time at which its fetch began, by the
//! clock of the node that fetched it: see [`Log::place_by_clock`]. Clocks of nodes may differ by [`SKEW`].

mod address;
mod answer;
mod line;
mod ring;
#[cfg(test)]
mod tests;

use super::{
    BadUrl,
    remote::{Asked, Error, Kind, Limits, Read, Remote},
    worker::{Connection, PerWorker},
};
use crate::{
    Stored,
    purge::{Log, Position},
};
use address::Address;
use answer::{Answer, Value};
use bytes::Bytes;
use line::{Line, Question};
use ring::Ring;
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};

/// The longest key that memcached takes.
const LONGEST_KEY: usize = 250;

/// memcached takes 1 MiB (`-I`), its own header and the key included.
const LARGEST_VALUE: usize = (1 << 20) - 1024;

/// Longer expiries would be taken for dates.
const LONGEST_EXPIRY: Duration = Duration::from_hours(30 * 24);

/// By how much clocks of nodes may differ: so much earlier a fetch counts as having begun.
const SKEW: Duration = Duration::from_secs(1);

/// Failures in a row after which one of several servers is left alone: fewer than open the tier's breaker.
const FAILURES: u32 = 2;

/// One of several servers that fails is left alone for so long; what it has counts as not there.
const REST: Duration = Duration::from_secs(1);

/// memcached.
#[derive(Debug)]
pub(crate) struct Memcached {
    servers: Vec<Server>,
    ring: Ring,
    /// What one answer may take.
    limit: Duration,
}

#[derive(Debug)]
struct Server {
    address: Address,
    connections: PerWorker<Line>,
    /// In a row.
    failures: AtomicU32,
    resting_until: Mutex<Option<Instant>>,
}

/// A question on its way.
struct Sent {
    connection: Connection<Line>,
    answer: oneshot::Receiver<Result<Answer, Error>>,
}

impl Memcached {
    /// Reads the URL ([`address`]). `timeout`: what a question may take.
    pub(crate) fn new(url: &str, timeout: Duration) -> Result<Self, BadUrl> {
        let addresses = address::parse(url)?;
        let ring = Ring::of(addresses.iter().map(Address::name));
        let servers = addresses.into_iter().map(|address| Server {
            address,
            connections: PerWorker::default(),
            failures: AtomicU32::new(0),
            resting_until: Mutex::new(None),
        });
        Ok(Self {
            servers: servers.collect(),
            ring,
            // One of several servers that hangs must be told from the others before whoever asks gives up.
            limit: timeout * 7 / 8,
        })
    }

    /// The server that has `key`; `None` while it is left alone.
    fn server(&self, key: &str) -> Result<Option<&Server>, Error> {
        let takes = key.len() <= LONGEST_KEY && key.bytes().all(|byte| byte.is_ascii_graphic());
        if !takes || key.is_empty() {
            return Err(Error::new(Kind::Rejected, "memcached takes no such key"));
        }
        let server = self.servers.get(self.ring.server(key.as_bytes()));
        Ok(server.filter(|server| self.servers.len() == 1 || !server.is_resting()))
    }

    /// One question to the server that has `key`; `None` while it is left alone.
    async fn ask(&self, key: &str, command: Vec<u8>) -> Result<Option<Answer>, Error> {
        let Some(server) = self.server(key)? else {
            return Ok(None);
        };
        let asked = async { server.answer(server.send(command).await?).await };
        self.judged(server, asked).await.map(Some)
    }

    /// Waits for an answer; a server that fails is left alone.
    async fn judged<T>(
        &self,
        server: &Server,
        asked: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let answer = self.bounded(server, asked).await;
        if answer.is_ok() {
            server.answered();
        }
        answer
    }

    /// One step towards an answer.
    async fn bounded<T>(
        &self,
        server: &Server,
        step: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let limit = self.limit;
        let done = timeout(limit, step).await.unwrap_or_else(|_| {
            let detail = format!("{}: no answer within {limit:?}", server.address.name());
            Err(Error::new(Kind::Timeout, detail))
        });
        done.inspect_err(|error| {
            if error.kind.opens_breaker() {
                server.failed();
            } else {
                server.answered();
            }
        })
    }

    async fn store(
        &self,
        verb: &str,
        key: &str,
        value: &[u8],
        expiry: Duration,
    ) -> Result<bool, Error> {
        if value.len() > LARGEST_VALUE {
            let detail = format!("{} bytes; memcached takes {LARGEST_VALUE}", value.len());
            return Err(Error::new(Kind::TooLarge, detail));
        }
        let expiry = expiry.min(LONGEST_EXPIRY).as_millis().div_ceil(1000).max(1);
        let mut command = format!("{verb} {key} 0 {expiry} {}\r\n", value.len()).into_bytes();
        command.reserve(value.len() + 2);
        command.extend_from_slice(value);
        command.extend_from_slice(b"\r\n");
        match self.ask(key, command).await? {
            // A server that is left alone takes everything and keeps nothing.
            Some(Answer::Stored) | None => Ok(true),
            Some(Answer::NotStored) => Ok(false),
            Some(other) => Err(unexpected(&other)),
        }
    }

    async fn value(&self, verb: &str, key: &str) -> Result<Option<Value>, Error> {
        match self
            .ask(key, format!("{verb} {key}\r\n").into_bytes())
            .await?
        {
            None => Ok(None),
            Some(Answer::Values(values)) => {
                let mut values = values.into_iter();
                match values.next() {
                    Some(value) if *value.key != *key.as_bytes() => Err(stranger()),
                    value => Ok(value),
                }
            }
            Some(other) => Err(unexpected(&other)),
        }
    }

    async fn values(&self, keys: &[String]) -> Result<Vec<Option<Bytes>>, Error> {
        let mut of_server: Vec<Vec<&str>> = vec![Vec::new(); self.servers.len()];
        for key in keys {
            if self.server(key)?.is_some()
                && let Some(of_server) = of_server.get_mut(self.ring.server(key.as_bytes()))
            {
                of_server.push(key);
            }
        }
        // All are asked before the first answer is waited for.
        let mut asked = Vec::new();
        for (server, keys) in self.servers.iter().zip(&of_server) {
            if !keys.is_empty() {
                let command = format!("get {}\r\n", keys.join(" ")).into_bytes();
                let sent = server.send(command);
                asked.push((server, self.bounded(server, sent).await?));
            }
        }
        let mut found: Vec<Option<Bytes>> = vec![None; keys.len()];
        for (server, answer) in asked {
            match self.judged(server, server.answer(answer)).await? {
                Answer::Values(values) => {
                    for value in values {
                        let place = keys.iter().position(|key| *key.as_bytes() == *value.key);
                        let place = place.and_then(|place| found.get_mut(place));
                        *place.ok_or_else(stranger)? = Some(value.data);
                    }
                }
                other => return Err(unexpected(&other)),
            }
        }
        Ok(found)
    }

    /// There is no deleting a value that nobody has changed; but there is replacing it by one that has expired.
    async fn delete(&self, key: &str, value: &[u8]) -> Result<bool, Error> {
        let Some(Value { data, unique, .. }) = self.value("gets", key).await? else {
            return Ok(false);
        };
        let Some(unique) = unique.filter(|_| data == value) else {
            return Ok(false);
        };
        let command = format!("cas {key} 0 -1 0 {unique}\r\n\r\n").into_bytes();
        match self.ask(key, command).await? {
            Some(Answer::Stored) => Ok(true),
            Some(Answer::Exists | Answer::NotFound) | None => Ok(false),
            Some(other) => Err(unexpected(&other)),
        }
    }
}

impl Server {
    async fn send(&self, command: Vec<u8>) -> Result<Sent, Error> {
        let address = self.address.clone();
        let connection = self.connections.get(|| line::connect(address)).await?;
        let (reply, answer) = oneshot::channel();
        if connection
            .handle
            .send(Question { command, reply })
            .await
            .is_err()
        {
            self.connections.close(&connection);
            return Err(self.closed());
        }
        Ok(Sent { connection, answer })
    }

    async fn answer(&self, sent: Sent) -> Result<Answer, Error> {
        if let Ok(answer) = sent.answer.await {
            return answer;
        }
        self.connections.close(&sent.connection);
        Err(self.closed())
    }

    fn closed(&self) -> Error {
        let detail = format!("{}: the connection was closed", self.address.name());
        Error::new(Kind::Unreachable, detail)
    }

    fn is_resting(&self) -> bool {
        self.resting().is_some_and(|until| Instant::now() < until)
    }

    fn answered(&self) {
        if self.failures.load(Relaxed) != 0 {
            self.failures.store(0, Relaxed);
        }
    }

    /// One that fails again and again is left alone.
    fn failed(&self) {
        if self.failures.fetch_add(1, Relaxed) + 1 >= FAILURES {
            self.failures.store(0, Relaxed);
            self.connections.hang_up();
            *self.resting() = Some(Instant::now() + REST);
        }
    }

    fn resting(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.resting_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remote for Memcached {
    fn limits(&self) -> Limits {
        Limits {
            key: LONGEST_KEY,
            value: LARGEST_VALUE,
        }
    }

    fn get<'a>(&'a self, key: &'a str, _read: Read) -> Asked<'a, Option<Bytes>> {
        Box::pin(async move {
            let value = self.value("get", key).await?;
            Ok(value.map(|value| value.data))
        })
    }

    fn get_many<'a>(&'a self, keys: &'a [String], _read: Read) -> Asked<'a, Vec<Option<Bytes>>> {
        Box::pin(self.values(keys))
    }

    fn set<'a>(&'a self, key: &'a str, value: &'a [u8], expiry: Duration) -> Asked<'a, ()> {
        Box::pin(async move {
            if self.store("set", key, value, expiry).await? {
                Ok(())
            } else {
                Err(unexpected(&Answer::NotStored))
            }
        })
    }

    fn add<'a>(&'a self, key: &'a str, value: &'a [u8], expiry: Duration) -> Asked<'a, bool> {
        Box::pin(self.store("add", key, value, expiry))
    }

    fn delete_if<'a>(&'a self, key: &'a str, value: &'a [u8]) -> Asked<'a, bool> {
        Box::pin(self.delete(key, value))
    }

    fn hang_up(&self) {
        for server in &self.servers {
            server.connections.hang_up();
        }
    }

    fn position(&self, _log: &Log, stored: &Stored) -> Option<Position> {
        let facts = &stored.facts;
        // The initial age holds the response's delay (RFC 9111 section 4.2.3), so that this is before the request was sent.
        let delay = facts.initial_age_ms.saturating_add(SKEW.as_millis() as u64);
        let began = facts.response_time.as_millis().saturating_sub(delay);
        Some(Position(began, 0))
    }
}

fn unexpected(answer: &Answer) -> Error {
    Error::new(
        Kind::Protocol,
        format!("an answer to something else: {answer:?}"),
    )
}

fn stranger() -> Error {
    Error::new(Kind::Protocol, "a value that was not asked for")
}
