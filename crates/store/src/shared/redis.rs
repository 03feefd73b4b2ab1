//! Redis and Valkey as a shared tier.

use super::remote::{Error, Kind, Limits, Read, Remote, RemoteFuture};
use bytes::Bytes;
use kv::Redis;
use redis::{Cmd, Value};
use std::{future::poll_fn, task::Poll, time::Duration};

/// In longer keys a hash replaces the tail. A screen can still show keys of this length.
const LONGEST_KEY: usize = 1024;

/// Larger values hold up all other answers. We write none: a longer value under a name of ours is somebody else's.
const LARGEST_VALUE: usize = 1 << 20;

/// Deletes a key if it has this value, in one step.
const DELETE_IF: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/// Sets a key for so many milliseconds if it has this value, in one step.
const REPLACE_IF: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then \
    redis.call('set', KEYS[1], ARGV[2], 'PX', ARGV[3]) return 1 end return 0";

impl Remote for Redis {
    fn limits(&self) -> Limits {
        Limits {
            key: LONGEST_KEY,
            value: LARGEST_VALUE,
        }
    }

    fn get<'a>(&'a self, key: &'a str, read: Read) -> RemoteFuture<'a, Option<Bytes>> {
        Box::pin(async move { value(self.read(get(key), read).await?) })
    }

    fn get_many<'a>(
        &'a self,
        keys: &'a [String],
        read: Read,
    ) -> RemoteFuture<'a, Vec<Option<Bytes>>> {
        Box::pin(async move {
            let asked = keys.iter().map(|key| self.read(get(key), read));
            let answers = together(asked).await.into_iter();
            answers.map(one_of_many).collect()
        })
    }

    fn set<'a>(&'a self, key: &'a str, value: &'a [u8], expiry: Duration) -> RemoteFuture<'a, ()> {
        Box::pin(async move {
            let mut command = Cmd::with_capacity(5, 48 + key.len() + value.len());
            command.arg("SET").arg(key).arg(value);
            command.arg("PX").arg(millis(expiry));
            match self.write(command).await? {
                Value::Okay => Ok(()),
                other => Err(unexpected(&other)),
            }
        })
    }

    fn add<'a>(
        &'a self,
        key: &'a str,
        value: &'a [u8],
        expiry: Duration,
    ) -> RemoteFuture<'a, bool> {
        Box::pin(async move {
            let mut command = Cmd::new();
            command.arg("SET").arg(key).arg(value);
            command.arg("NX").arg("PX").arg(millis(expiry));
            match self.write(command).await? {
                Value::Okay => Ok(true),
                Value::Nil => Ok(false),
                other => Err(unexpected(&other)),
            }
        })
    }

    fn replace_if<'a>(
        &'a self,
        key: &'a str,
        old: &'a [u8],
        new: &'a [u8],
        expiry: Duration,
    ) -> RemoteFuture<'a, bool> {
        Box::pin(async move {
            let mut command = Cmd::new();
            command.arg("EVAL").arg(REPLACE_IF).arg(1).arg(key);
            command.arg(old).arg(new).arg(millis(expiry));
            match self.write(command).await? {
                Value::Int(replaced) => Ok(replaced > 0),
                other => Err(unexpected(&other)),
            }
        })
    }

    fn expire<'a>(&'a self, keys: &'a [String], expiry: Duration) -> RemoteFuture<'a, bool> {
        Box::pin(async move {
            let asked = keys.iter().map(|key| self.write(expire(key, expiry)));
            let mut are_there = true;
            for answer in together(asked).await {
                match answer? {
                    Value::Int(known) => are_there &= known > 0,
                    other => return Err(unexpected(&other)),
                }
            }
            Ok(are_there)
        })
    }

    fn delete_if<'a>(&'a self, key: &'a str, value: &'a [u8]) -> RemoteFuture<'a, bool> {
        Box::pin(async move {
            let mut command = Cmd::new();
            command.arg("EVAL").arg(DELETE_IF).arg(1);
            command.arg(key).arg(value);
            match self.write(command).await? {
                Value::Int(deleted) => Ok(deleted > 0),
                other => Err(unexpected(&other)),
            }
        })
    }

    fn hang_up(&self) {
        self.hang_up_all();
    }
}

fn millis(expiry: Duration) -> u64 {
    u64::try_from(expiry.as_millis()).map_or(u64::MAX, |millis| millis.max(1))
}

/// Asks for a value, at most as much of it as tells it from ours: somebody else's may have any length.
fn get(key: &str) -> Cmd {
    let mut command = Cmd::with_capacity(4, 48 + key.len());
    command.arg("GETRANGE").arg(key).arg(0).arg(LARGEST_VALUE);
    command
}

fn expire(key: &str, expiry: Duration) -> Cmd {
    let mut command = Cmd::new();
    command.arg("PEXPIRE").arg(key).arg(millis(expiry));
    command
}

/// Returns the bytes of a value without copying them. An absent value is empty, and no value of ours is.
fn value(value: Value) -> Result<Option<Bytes>, Error> {
    match value {
        Value::BulkString(bytes) => Ok(Some(bytes)
            .filter(|bytes| !bytes.is_empty())
            .map(Bytes::from)),
        other => Err(unexpected(&other)),
    }
}

/// Reads the value of one key of several. A key that holds something else counts as absent, so that the others are
/// used.
fn one_of_many(answer: Result<Value, Error>) -> Result<Option<Bytes>, Error> {
    match answer {
        Err(error) if error.kind == Kind::WrongType => Ok(None),
        answer => value(answer?),
    }
}

/// Returns all answers in the order of the questions. All questions are asked in that order before any answer is
/// awaited.
async fn together<F: Future>(asked: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut asked: Vec<_> = asked.map(Box::pin).collect();
    let mut answers: Vec<_> = asked.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut waits = false;
        for (question, answer) in asked.iter_mut().zip(&mut answers) {
            if answer.is_none() {
                match question.as_mut().poll(context) {
                    Poll::Ready(ready) => *answer = Some(ready),
                    Poll::Pending => waits = true,
                }
            }
        }
        if waits {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
    answers.into_iter().flatten().collect()
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
