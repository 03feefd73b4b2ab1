//! A small HTTP client for our own commands: one connection, GET, answers held whole.

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use std::{io, net::SocketAddr, time::Duration};
use tokio::{net::TcpStream, task::JoinHandle, time::timeout};

/// How long a connection may take to open.
const CONNECT: Duration = Duration::from_secs(2);

/// How long an answer may take to come whole.
const ANSWER: Duration = Duration::from_secs(10);

/// The largest body taken, in bytes.
const LARGEST: usize = 64 << 20;

/// Why there is no answer. The caller knows whom it asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection.
    #[error("{0}")]
    Connect(io::Error),
    /// A connection, but no answer that is HTTP.
    #[error("no answer in HTTP: {0}")]
    Answer(Box<dyn std::error::Error + Send + Sync>),
    /// Nothing came in time.
    #[error("no answer in time")]
    Time,
}

impl Error {
    fn answer(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Answer(error.into())
    }
}

/// A connection, used for one request after another. Needs a tokio runtime.
#[derive(Debug)]
pub struct Client {
    host: String,
    sender: SendRequest<Empty<Bytes>>,
    driver: JoinHandle<()>,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// Nobody listens there, or does not say so in time.
    pub async fn connect(address: SocketAddr) -> Result<Self, Error> {
        let connecting = timeout(CONNECT, TcpStream::connect(address));
        let stream = connecting
            .await
            .map_err(|_| Error::Time)?
            .map_err(Error::Connect)?;
        stream.set_nodelay(true).map_err(Error::Connect)?;
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(Error::answer)?;
        let driver = tokio::spawn(async move {
            // Whoever waits for an answer hears of an error by the sender.
            let _ = connection.await;
        });
        Ok(Self {
            host: address.to_string(),
            sender,
            driver,
        })
    }

    /// Asks for `target` (path and query) and waits for the whole answer.
    ///
    /// # Errors
    /// No answer, half of one, or one that is too large.
    pub async fn get(&mut self, target: &str) -> Result<Response<Bytes>, Error> {
        timeout(ANSWER, self.exchange(target))
            .await
            .map_err(|_| Error::Time)?
    }

    async fn exchange(&mut self, target: &str) -> Result<Response<Bytes>, Error> {
        let request = Request::get(target).header(header::HOST, &self.host);
        let request = request.body(Empty::new()).map_err(Error::answer)?;
        self.sender.ready().await.map_err(Error::answer)?;
        let response = self
            .sender
            .send_request(request)
            .await
            .map_err(Error::answer)?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, LARGEST)
            .collect()
            .await
            .map_err(Error::answer)?;
        Ok(Response::from_parts(head, body.to_bytes()))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
