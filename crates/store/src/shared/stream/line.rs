//! Connections to the server that has the stream.

use super::Common;
use crate::shared::Config;
use redis::{
    AsyncConnectionConfig, Client, Cmd, FromRedisValue, Pipeline, RedisError, RedisResult,
    aio::MultiplexedConnection,
};
use std::time::Duration;
use tokio::time::timeout;

/// A connection.
#[derive(Clone)]
pub struct Line(MultiplexedConnection);

/// Where the server is.
pub struct Server(Client);

impl Server {
    /// Reads the address.
    ///
    /// # Errors
    /// It is none.
    pub fn new(config: &Config) -> RedisResult<Self> {
        Client::open(config.url.as_str()).map(Self)
    }

    /// A new connection, made `within` that time.
    ///
    /// # Errors
    /// It cannot be made.
    pub async fn connect(&self, within: Duration) -> RedisResult<Line> {
        // Whoever asks has a limit of its own.
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_connection_timeout(Some(within));
        let line = self.0.get_multiplexed_async_connection_with_config(&config);
        limited(within, line).await.map(Line)
    }
}

impl Line {
    /// One question. After an error the connection is of no more use.
    ///
    /// # Errors
    /// The server's, or no answer `within` that time.
    pub async fn ask<T: FromRedisValue>(
        &mut self,
        command: &Cmd,
        within: Duration,
    ) -> RedisResult<T> {
        limited(within, command.query_async(&mut self.0)).await
    }

    /// Several commands of which all take effect, or none.
    ///
    /// # Errors
    /// The server's, or no answer `within` that time.
    pub async fn all(&mut self, commands: &Pipeline, within: Duration) -> RedisResult<()> {
        limited(within, commands.exec_async(&mut self.0)).await
    }
}

impl Common {
    /// The connection for everything but reading; made where there is none.
    ///
    /// # Errors
    /// It cannot be made.
    pub async fn line(&self) -> RedisResult<Line> {
        let mut line = self.line.lock().await;
        if let Some(line) = &*line {
            return Ok(line.clone());
        }
        let made = self.server.connect(self.patience()).await?;
        *line = Some(made.clone());
        Ok(made)
    }

    /// That connection failed; the next to ask makes a new one.
    pub async fn hang_up(&self) {
        *self.line.lock().await = None;
    }
}

async fn limited<T>(
    within: Duration,
    question: impl Future<Output = RedisResult<T>>,
) -> RedisResult<T> {
    timeout(within, question).await.unwrap_or_else(|_| {
        let late = std::io::Error::new(std::io::ErrorKind::TimedOut, "no answer in time");
        Err(RedisError::from(late))
    })
}
