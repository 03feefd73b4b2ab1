//! Connections that are told that there is no slot for them.

use super::{AGAIN, FULL};
use crate::admin::Written;
use axum::http::{StatusCode, header};
use socket2::SockRef;
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::Semaphore,
    time::timeout,
};

/// The most of them that are read from at the same time.
const MOST: usize = 16;

/// How long each is read from at most.
const READ: Duration = Duration::from_secs(1);

/// The connections that were told so and have yet to end.
#[derive(Debug)]
pub(super) struct TurnedAway(Arc<Semaphore>);

impl Default for TurnedAway {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST)))
    }
}

impl TurnedAway {
    /// Answers with 503 if that is possible without waiting, as the listeners do at their limit. Then reads what the
    /// client sends for a moment: a connection that is closed with bytes unread is reset, and the answer may be lost.
    pub(super) fn add(&self, stream: TcpStream) {
        let _ = SockRef::from(&stream).send(answer().as_bytes());
        if let Ok(place) = Arc::clone(&self.0).try_acquire_owned() {
            tokio::spawn(async move {
                let _ = timeout(READ, read_out(stream)).await;
                drop(place);
            });
        }
    }
}

async fn read_out(mut stream: TcpStream) {
    let mut rest = [0; 4096];
    if stream.shutdown().await.is_ok() {
        while matches!(stream.read(&mut rest).await, Ok(1..)) {}
    }
}

fn answer() -> String {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let error = FULL.to_owned();
    let body = serde_json::to_string(&Written { error }).unwrap_or_default();
    format!(
        "HTTP/1.1 {status}\r\n{}: application/json\r\n{}: {}\r\n{}: {AGAIN}\r\n{}: close\r\n\r\n{body}",
        header::CONTENT_TYPE,
        header::CONTENT_LENGTH,
        body.len(),
        header::RETRY_AFTER,
        header::CONNECTION,
    )
}
