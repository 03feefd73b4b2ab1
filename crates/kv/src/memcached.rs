//! memcached: one server, or several with the keys distributed over them.

mod address;
mod answer;
mod line;
mod ring;
mod server;
#[cfg(test)]
mod tests;

use crate::{BadUrl, Error, Kind};
use address::Address;
use answer::{Answer, Value};
use bytes::Bytes;
use line::Expected;
use ring::Ring;
use server::Server;
use std::time::Duration;
use tokio::time::timeout;

/// The longest key that memcached takes, in bytes.
pub const LONGEST_KEY: usize = 250;

/// The largest value, in bytes. memcached takes 1 MiB (`-I`), which includes its own header and the key.
pub const LARGEST_VALUE: usize = (1 << 20) - 1024;

/// The longest expiry: memcached takes larger numbers for dates.
const LONGEST_EXPIRY: Duration = Duration::from_hours(30 * 24);

/// A client of memcached: one server, or several with the keys distributed over them. Shared by all workers.
#[derive(Debug)]
pub struct Memcached {
    servers: Vec<Server>,
    ring: Ring,
    /// How long one answer may take.
    limit: Duration,
}

/// Whether memcached takes `key`: no spaces and no control characters of ASCII, not empty and not too long. Letters
/// beyond ASCII are bytes like any other to it.
pub fn takes(key: &str) -> bool {
    let is_taken = |byte: u8| byte.is_ascii_graphic() || !byte.is_ascii();
    (1..=LONGEST_KEY).contains(&key.len()) && key.bytes().all(is_taken)
}

impl Memcached {
    /// Makes a client from a URL (see [`address`]). `timeout` is the limit of one question.
    pub fn new(url: &str, timeout: Duration) -> Result<Self, BadUrl> {
        let addresses = address::parse(url)?;
        let ring = Ring::of(addresses.iter().map(Address::name));
        Ok(Self {
            servers: addresses
                .into_iter()
                .map(|address| Server::new(address, timeout))
                .collect(),
            ring,
            // If one of several servers hangs, this must be noticed before the caller gives up.
            limit: timeout * 7 / 8,
        })
    }

    /// Returns the server that has `key`. `None`: it is left alone at the moment.
    fn server(&self, key: &str) -> Result<Option<&Server>, Error> {
        if !takes(key) {
            return Err(Error::new(Kind::Rejected, "memcached takes no such key"));
        }
        let server = self.servers.get(self.ring.server(key.as_bytes()));
        Ok(server.filter(|server| self.servers.len() == 1 || !server.is_resting()))
    }

    /// Sends one question to the server that has `key`. `None`: the server is left alone at the moment.
    async fn ask(
        &self,
        key: &str,
        command: Vec<u8>,
        expected: Expected,
    ) -> Result<Option<Answer>, Error> {
        let Some(server) = self.server(key)? else {
            return Ok(None);
        };
        let asked = async { server.answer(server.send(command, expected).await?).await };
        self.judged(server, asked).await.map(Some)
    }

    /// Waits for an answer. A server that fails is left alone.
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

    /// Limits the time of one step towards an answer.
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
        let expiry = seconds(expiry);
        let mut command = format!("{verb} {key} 0 {expiry} {}\r\n", value.len()).into_bytes();
        command.reserve(value.len() + 2);
        command.extend_from_slice(value);
        command.extend_from_slice(b"\r\n");
        match self.ask(key, command, Expected::Done).await? {
            // A server that is left alone counts as one that takes everything and keeps nothing.
            Some(Answer::Stored) | None => Ok(true),
            Some(Answer::NotStored) => Ok(false),
            Some(other) => Err(unexpected(&other)),
        }
    }

    async fn value(&self, verb: &str, key: &str) -> Result<Option<Value>, Error> {
        let command = format!("{verb} {key}\r\n").into_bytes();
        let expected = Expected::Values(key.to_owned());
        match self.ask(key, command, expected).await? {
            None => Ok(None),
            Some(Answer::Values(values)) => Ok(values.into_iter().next()),
            Some(other) => Err(unexpected(&other)),
        }
    }

    /// Returns the value of `key`. Takes one round trip.
    ///
    /// # Errors
    /// No answer, or an invalid one.
    pub async fn get(&self, key: &str) -> Result<Option<Bytes>, Error> {
        Ok(self.value("get", key).await?.map(|value| value.data))
    }

    /// Sets `key`. The server forgets it after `expiry`, rounded up to whole seconds.
    ///
    /// # Errors
    /// The value could not be set.
    pub async fn set(&self, key: &str, value: &[u8], expiry: Duration) -> Result<(), Error> {
        if self.store("set", key, value, expiry).await? {
            Ok(())
        } else {
            Err(unexpected(&Answer::NotStored))
        }
    }

    /// Sets `key` like `set`, but only if it is not there. Returns whether it was set.
    ///
    /// # Errors
    /// No answer, or an invalid one.
    pub async fn add(&self, key: &str, value: &[u8], expiry: Duration) -> Result<bool, Error> {
        self.store("add", key, value, expiry).await
    }

    /// Makes the servers forget those of `keys` that are there after `expiry`, rounded up to whole seconds. Returns
    /// whether all are there. Takes one round trip to each server that has some.
    ///
    /// # Errors
    /// No answer from one of the servers, or an invalid one.
    pub async fn expire(&self, keys: &[String], expiry: Duration) -> Result<bool, Error> {
        let (mut asked, mut are_there) = (Vec::new(), true);
        // All questions are sent before the first answer is awaited.
        for key in keys {
            let Some(server) = self.server(key)? else {
                // If the server is left alone, this is unknown.
                are_there = false;
                continue;
            };
            let command = format!("touch {key} {}\r\n", seconds(expiry)).into_bytes();
            let sent = server.send(command, Expected::Done);
            asked.push((server, self.bounded(server, sent).await?));
        }
        for (server, answer) in asked {
            match self.judged(server, server.answer(answer)).await? {
                Answer::Touched => {}
                Answer::NotFound => are_there = false,
                other => return Err(unexpected(&other)),
            }
        }
        Ok(are_there)
    }

    /// Returns the values of `keys`, in their order. Takes one round trip to each server that has some.
    ///
    /// # Errors
    /// No answer from one of the servers, or an invalid one.
    pub async fn get_many(&self, keys: &[String]) -> Result<Vec<Option<Bytes>>, Error> {
        let mut of_server: Vec<Vec<&str>> = vec![Vec::new(); self.servers.len()];
        for key in keys {
            if self.server(key)?.is_some()
                && let Some(of_server) = of_server.get_mut(self.ring.server(key.as_bytes()))
            {
                of_server.push(key);
            }
        }
        // All servers are asked before the first answer is awaited.
        let mut asked = Vec::new();
        for (server, keys) in self.servers.iter().zip(&of_server) {
            if !keys.is_empty() {
                let keys = keys.join(" ");
                let command = format!("get {keys}\r\n").into_bytes();
                let sent = server.send(command, Expected::Values(keys));
                asked.push((server, self.bounded(server, sent).await?));
            }
        }
        let mut found: Vec<Option<Bytes>> = vec![None; keys.len()];
        for (server, answer) in asked {
            let values = match self.judged(server, server.answer(answer)).await? {
                Answer::Values(values) => values,
                other => return Err(unexpected(&other)),
            };
            for value in values {
                let place = keys.iter().position(|key| *key.as_bytes() == *value.key);
                if let Some(place) = place.and_then(|place| found.get_mut(place)) {
                    *place = Some(value.data);
                }
            }
        }
        Ok(found)
    }

    /// Deletes `key` if it still has this value. Returns whether it was deleted. A value that has changed always stays.
    ///
    /// # Errors
    /// No answer, or an invalid one.
    pub async fn delete_if(&self, key: &str, value: &[u8]) -> Result<bool, Error> {
        // memcached cannot delete only an unchanged value, but it can replace it by one that has expired.
        self.swap(key, value, b"", "-1").await
    }

    /// Sets `key` like `set`, but only if it still has the value `old`. Returns whether it was set.
    ///
    /// # Errors
    /// No answer, or an invalid one.
    pub async fn replace_if(
        &self,
        key: &str,
        old: &[u8],
        new: &[u8],
        expiry: Duration,
    ) -> Result<bool, Error> {
        let expiry = seconds(expiry).to_string();
        self.swap(key, old, new, &expiry).await
    }

    /// Sets `key` if it still has the value `old`. `expiry` is in memcached's form.
    async fn swap(&self, key: &str, old: &[u8], new: &[u8], expiry: &str) -> Result<bool, Error> {
        let Some(Value { data, unique, .. }) = self.value("gets", key).await? else {
            return Ok(false);
        };
        let Some(unique) = unique.filter(|_| data == old) else {
            return Ok(false);
        };
        let head = format!("cas {key} 0 {expiry} {} {unique}\r\n", new.len());
        let command = [head.as_bytes(), new, b"\r\n"].concat();
        match self.ask(key, command, Expected::Done).await? {
            Some(Answer::Stored) => Ok(true),
            Some(Answer::Exists | Answer::NotFound) | None => Ok(false),
            Some(other) => Err(unexpected(&other)),
        }
    }

    /// Returns how many of several servers fail and have not answered since. Each of them is left alone separately, and
    /// the others are still asked. `None`: there is only one.
    pub fn down(&self) -> Option<usize> {
        let down = self.servers.iter().filter(|server| server.is_down());
        (self.servers.len() > 1).then(|| down.count())
    }

    /// Drops this worker's connections, because they do not answer. The next question makes new ones.
    pub fn hang_up(&self) {
        for server in &self.servers {
            server.hang_up();
        }
    }

    /// Drops the connections of all workers.
    pub fn hang_up_all(&self) {
        for server in &self.servers {
            server.hang_up_all();
        }
    }
}

/// Converts an expiry to memcached's form.
fn seconds(expiry: Duration) -> u128 {
    expiry.min(LONGEST_EXPIRY).as_millis().div_ceil(1000).max(1)
}

fn unexpected(answer: &Answer) -> Error {
    Error::new(
        Kind::Protocol,
        format!("an answer to something else: {answer}"),
    )
}
