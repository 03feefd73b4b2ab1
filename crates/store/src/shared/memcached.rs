//! memcached as a shared tier.
//!
//! memcached has no log that nodes could share. So a response's position in the log is the time when its fetch began,
//! by the clock of the node that fetched it: see [`Log::place_by_clock`]. Clocks of nodes may differ by [`SKEW`].

#[cfg(test)]
mod tests;

use super::remote::{Limits, Read, Remote, RemoteFuture};
use crate::{
    Stored,
    clock::now,
    purge::{Log, Position},
};
use bytes::Bytes;
use kv::Memcached;
use rules::time::Time;
use std::time::Duration;

/// How far clocks of nodes may differ. A fetch counts as having begun this much earlier.
const SKEW: Duration = Duration::from_secs(1);

impl Remote for Memcached {
    fn limits(&self) -> Limits {
        Limits {
            key: kv::LONGEST_KEY,
            value: kv::LARGEST_VALUE,
        }
    }

    fn get<'a>(&'a self, key: &'a str, _read: Read) -> RemoteFuture<'a, Option<Bytes>> {
        Box::pin(self.get(key))
    }

    fn get_many<'a>(
        &'a self,
        keys: &'a [String],
        _read: Read,
    ) -> RemoteFuture<'a, Vec<Option<Bytes>>> {
        Box::pin(self.get_many(keys))
    }

    fn set<'a>(&'a self, key: &'a str, value: &'a [u8], expiry: Duration) -> RemoteFuture<'a, ()> {
        Box::pin(self.set(key, value, expiry))
    }

    fn add<'a>(
        &'a self,
        key: &'a str,
        value: &'a [u8],
        expiry: Duration,
    ) -> RemoteFuture<'a, bool> {
        Box::pin(self.add(key, value, expiry))
    }

    fn replace_if<'a>(
        &'a self,
        key: &'a str,
        old: &'a [u8],
        new: &'a [u8],
        expiry: Duration,
    ) -> RemoteFuture<'a, bool> {
        Box::pin(self.replace_if(key, old, new, expiry))
    }

    fn expire<'a>(&'a self, keys: &'a [String], expiry: Duration) -> RemoteFuture<'a, bool> {
        Box::pin(self.expire(keys, expiry))
    }

    fn delete_if<'a>(&'a self, key: &'a str, value: &'a [u8]) -> RemoteFuture<'a, bool> {
        Box::pin(self.delete_if(key, value))
    }

    fn down(&self) -> Option<usize> {
        self.down()
    }

    fn hang_up(&self) {
        self.hang_up_all();
    }

    fn position(&self, log: &Log, stored: &Stored) -> Option<Position> {
        let facts = &stored.facts;
        // The initial age includes the response's delay (RFC 9111 section 4.2.3), so this is before the request was
        // sent.
        let delay = facts.initial_age_ms.saturating_add(SKEW.as_millis() as u64);
        let began = facts.response_time.as_millis().saturating_sub(delay);
        let position = Position(began, 0);
        log.come_after(position);
        Some(position)
    }

    fn position_now(&self, log: &Log) -> Option<Position> {
        let began = now().as_millis().saturating_sub(SKEW.as_millis() as u64);
        let position = Position(began, 0);
        log.come_after(position);
        Some(position)
    }

    /// A position from a clock that is, or was, further ahead is not used before its time has come: a purge made now
    /// may cover the response.
    fn sequence(&self, log: &Log, position: Position) -> Option<u64> {
        if Time::from_millis(position.0).since(now()) > SKEW {
            return None;
        }
        log.come_after(position);
        log.sequence_at(position)
    }
}
