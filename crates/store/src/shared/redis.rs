//! Redis and Valkey as a shared tier.

use super::remote::{Asked, Error, Kind, Limits, Read, Remote};
use bytes::Bytes;
use kv::Redis;
use redis::{Cmd, Value};
use std::time::Duration;

/// Longer keys get a hash in place of their tail: a screen can still show them.
const LONGEST_KEY: usize = 1024;

/// Larger values hold up everybody else's answers.
const LARGEST_VALUE: usize = 8 << 20;

/// Deletes a key where it has this value, in one step.
const DELETE_IF: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

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
            match self.write(&command).await? {
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
            match self.write(&command).await? {
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
            match self.write(&command).await? {
                Value::Int(deleted) => Ok(deleted > 0),
                other => Err(unexpected(&other)),
            }
        })
    }

    fn hang_up(&self) {
        self.hang_up();
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
