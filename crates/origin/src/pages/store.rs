//! The access to the store, with a time limit and behind a breaker.

use super::{Absent, Bad, failed};
use crate::{Error, Kind};
use bytes::Bytes;
use kv::{BadUrl, Breaker, Change, Memcached, Permission, Read, Redis};
use redis::{Cmd, Value};
use std::time::Duration;
use tokio::time::timeout;

/// Largest value that may be a page, in bytes. Larger ones would delay other requests.
const LARGEST: usize = 8 << 20;

/// How long the store keeps a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeToLive {
    /// This long.
    For(Duration),
    /// It does not say, or it keeps the value for ever.
    Unknown,
}

/// The store's client, and what protects us from the store.
#[derive(Debug)]
pub(super) struct Store {
    client: Client,
    breaker: Breaker,
    timeout: Duration,
}

#[derive(Debug)]
enum Client {
    Memcached(Memcached),
    Redis(Redis),
}

impl Store {
    pub(super) fn new(url: &str, timeout: Duration) -> Result<Self, BadUrl> {
        let client = if url.starts_with("memcached:") {
            Client::Memcached(Memcached::new(url, timeout)?)
        } else {
            Client::Redis(Redis::new(url, timeout)?)
        };
        Ok(Self {
            client,
            breaker: Breaker::default(),
            timeout,
        })
    }

    /// Returns the value of `key`, and how long it will be there.
    pub(super) async fn get(
        &self,
        key: String,
    ) -> Result<Result<(Bytes, TimeToLive), Absent>, Error> {
        let key = match &self.client {
            Client::Memcached(_) => as_nginx(key),
            Client::Redis(_) => key,
        };
        if matches!(self.client, Client::Memcached(_)) && !kv::takes(&key) {
            return Ok(Err(Absent::Key));
        }
        let permission = self.breaker.permission();
        if permission == Permission::Denied {
            return Err(
                Error::new(Kind::NoHealthyServer).because("the page store has failed a moment ago")
            );
        }
        let asked = timeout(self.timeout, self.client.get(&key)).await;
        let answer = asked.unwrap_or_else(|_| {
            let detail = format!("no answer within {:?}", self.timeout);
            Err(kv::Error::new(kv::Kind::Timeout, detail))
        });
        match answer {
            Ok(Some((value, _))) if value.len() > LARGEST => {
                self.breaker.answered();
                Ok(Err(Absent::Bad(Bad::TooLarge)))
            }
            Ok(found) => {
                self.breaker.answered();
                Ok(found
                    .filter(|(value, _)| !value.is_empty())
                    .ok_or(Absent::NotThere))
            }
            Err(error) => self.failed(permission, error),
        }
    }

    fn failed<T>(
        &self,
        permission: Permission,
        error: kv::Error,
    ) -> Result<Result<T, Absent>, Error> {
        if error.kind.opens_breaker() {
            if !self.client.is_one_of_several() {
                match self.breaker.failed(permission) {
                    Change::None => self.client.hang_up(),
                    Change::Opened | Change::StaysOpen => self.client.hang_up_all(),
                }
            }
            return Err(failed(error));
        }
        // The store has answered, after all.
        self.breaker.answered();
        match error.kind {
            kv::Kind::WrongType => Ok(Err(Absent::Bad(Bad::WrongType))),
            kv::Kind::TooLarge => Ok(Err(Absent::Bad(Bad::TooLarge))),
            _ => Err(failed(error)),
        }
    }
}

impl Client {
    async fn get(&self, key: &str) -> Result<Option<(Bytes, TimeToLive)>, kv::Error> {
        match self {
            Self::Memcached(memcached) => {
                let found = memcached.get(key).await?;
                Ok(found.map(|value| (value, TimeToLive::Unknown)))
            }
            Self::Redis(redis) => page(redis, key).await,
        }
    }

    /// Whether each server is left alone separately, and the others are still asked.
    fn is_one_of_several(&self) -> bool {
        matches!(self, Self::Memcached(memcached) if memcached.down().is_some())
    }

    fn hang_up(&self) {
        match self {
            Self::Memcached(memcached) => memcached.hang_up(),
            Self::Redis(redis) => redis.hang_up(),
        }
    }

    fn hang_up_all(&self) {
        match self {
            Self::Memcached(memcached) => memcached.hang_up_all(),
            Self::Redis(redis) => redis.hang_up_all(),
        }
    }
}

/// Returns the value and its remaining time in one round trip. The time is asked first: if the page is replaced in
/// between, the old page's time is too short and not too long.
async fn page(redis: &Redis, key: &str) -> Result<Option<(Bytes, TimeToLive)>, kv::Error> {
    let mut time = Cmd::new();
    time.arg("PTTL").arg(key);
    // No more than can be used. A longer value is recognised by its length.
    let mut value = Cmd::new();
    value.arg("GETRANGE").arg(key).arg(0).arg(LARGEST);
    let (time, value) = tokio::join!(
        biased;
        redis.read(time, Read::Any),
        redis.read(value, Read::Any)
    );
    let unexpected = || kv::Error::new(kv::Kind::Protocol, "an answer to something else");
    match (time?, value?) {
        (Value::Int(millis), Value::BulkString(value)) => {
            let left = u64::try_from(millis).map_or(TimeToLive::Unknown, |millis| {
                TimeToLive::For(Duration::from_millis(millis))
            });
            Ok(Some((value.into(), left)))
        }
        _ => Err(unexpected()),
    }
}

/// Writes a key like nginx's memcached module, which encodes the spaces and percent signs again that it has decoded.
fn as_nginx(key: String) -> String {
    if key.contains([' ', '%']) {
        key.replace('%', "%25").replace(' ', "%20")
    } else {
        key
    }
}
