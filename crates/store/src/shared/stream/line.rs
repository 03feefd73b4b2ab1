//! Connections to the server that has the stream.

use super::Common;
use crate::shared::remote::{Error, Kind};
use kv::redis::{Connection, Servers};
use redis::{Cmd, FromRedisValue, Pipeline};
use std::time::Duration;
use tokio::time::timeout;

/// A connection. Whoever asks says how long that may take.
#[derive(Clone)]
pub struct Line {
    connection: Connection,
    /// Whether it was there before it was asked for.
    pub is_kept: bool,
}

impl Line {
    /// A new connection, made `within` that time.
    ///
    /// # Errors
    /// It cannot be made.
    pub async fn connect(servers: &Servers, within: Duration) -> Result<Self, Error> {
        let connection = limited(within, servers.connect()).await?;
        Ok(Self {
            connection,
            is_kept: false,
        })
    }

    /// One question.
    ///
    /// # Errors
    /// The server's, or no answer in time.
    pub async fn ask<T: FromRedisValue>(
        &mut self,
        command: &Cmd,
        within: Duration,
    ) -> Result<T, Error> {
        let answer = limited(within, self.connection.ask(command)).await?;
        T::from_redis_value(answer).map_err(|error| Error::new(Kind::Protocol, error))
    }

    /// Whether different keys may lie on different servers.
    pub fn is_cluster(&self) -> bool {
        matches!(self.connection, Connection::Cluster(_))
    }

    /// Several commands of which all take effect, or none.
    ///
    /// # Errors
    /// The server's, or no answer in time.
    pub async fn all(&mut self, commands: &Pipeline, within: Duration) -> Result<(), Error> {
        limited(within, self.connection.all(commands)).await
    }
}

impl Common {
    /// The connection for everything but reading; made where there is none.
    ///
    /// # Errors
    /// It cannot be made.
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

    /// That connection failed, or did not answer in time; the next to ask makes a new one.
    pub fn hang_up(&self) {
        // While somebody makes one there is none to give up.
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
