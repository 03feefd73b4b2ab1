//! Connections to the server that has the stream.

use super::Common;
use crate::shared::remote::{Error, Kind};
use kv::redis::{Connection, Servers};
use redis::{Cmd, FromRedisValue, Pipeline};
use std::time::Duration;
use tokio::time::timeout;

/// A connection. The caller limits how long each question may take.
#[derive(Clone)]
pub struct Line {
    connection: Connection,
    /// Whether the connection existed before it was asked for.
    pub is_kept: bool,
}

impl Line {
    /// Makes a new connection `within` that time.
    ///
    /// # Errors
    /// The connection cannot be made.
    pub async fn connect(servers: &Servers, within: Duration) -> Result<Self, Error> {
        let connection = limited(within, servers.connect()).await?;
        Ok(Self {
            connection,
            is_kept: false,
        })
    }

    /// Asks one question.
    ///
    /// # Errors
    /// The server's error, or no answer in time.
    pub async fn ask<T: FromRedisValue>(
        &mut self,
        command: &Cmd,
        within: Duration,
    ) -> Result<T, Error> {
        let answer = limited(within, self.connection.ask(command)).await?;
        T::from_redis_value(answer).map_err(|error| Error::new(Kind::Protocol, error))
    }

    /// Whether different keys may be on different servers.
    pub fn is_cluster(&self) -> bool {
        matches!(self.connection, Connection::Cluster(_))
    }

    /// Sends several commands. Either all take effect, or none.
    ///
    /// # Errors
    /// The server's error, or no answer in time.
    pub async fn all(&mut self, commands: &Pipeline, within: Duration) -> Result<(), Error> {
        limited(within, self.connection.all(commands)).await
    }
}

impl Common {
    /// Returns the connection for everything but reading, and makes it if there is none.
    ///
    /// # Errors
    /// The connection cannot be made.
    pub async fn line(&self) -> Result<Line, Error> {
        let mut line = self.line.lock().await;
        if let Some(line) = &*line {
            return Ok(line.clone());
        }
        let made = Line::connect(&self.servers, self.patience()).await?;
        *line = Some(Line {
            is_kept: true,
            ..made.clone()
        });
        Ok(made)
    }

    /// Lets go of that connection: it failed, did not answer in time, or most likely died with another. Questions under
    /// way on it go on; the next one makes a new connection.
    pub fn hang_up(&self) {
        // While the lock is held, a connection is being made, or was just made and goes to those who waited for it. It
        // is not the one that failed.
        if let Ok(mut line) = self.line.try_lock() {
            *line = None;
        }
    }
}

async fn limited<T>(
    within: Duration,
    question: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    timeout(within, question).await.unwrap_or_else(|_| {
        let detail = format!("no answer within {within:?}");
        Err(Error::new(Kind::Timeout, detail))
    })
}
