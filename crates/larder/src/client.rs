//! A small HTTP client for the program's own commands: one connection, GET and POST, whole answers.

use bytes::Bytes;
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use std::{io, time::Duration};
use tokio::{
    net::{TcpStream, ToSocketAddrs},
    task::JoinHandle,
    time::timeout,
};

/// The longest time to open a connection.
const CONNECT: Duration = Duration::from_secs(2);

/// The longest time until an answer is complete.
pub const ANSWER: Duration = Duration::from_secs(10);

/// The largest body accepted, in bytes.
const LARGEST: usize = 64 << 20;

/// Why there is no answer. The message does not name the server: the caller knows it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection could be opened.
    #[error("{0}")]
    Connect(io::Error),
    /// The connection brought no valid HTTP answer.
    #[error("no answer in HTTP: {0}")]
    Answer(Box<dyn std::error::Error + Send + Sync>),
    /// The connection ended after the request had been sent, and before the whole answer had come.
    #[error("the connection ended before there was an answer")]
    Ended,
    /// Nothing came in time.
    #[error("no answer in time")]
    Time,
}

impl Error {
    fn answer(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Answer(error.into())
    }

    /// Of a request that may have been sent.
    fn after_sending(error: hyper::Error) -> Self {
        let was_sent = !error.is_canceled() && !error.is_parse();
        if was_sent {
            Self::Ended
        } else {
            Self::answer(error)
        }
    }
}

/// A connection that carries one request after another. Needs a tokio runtime.
#[derive(Debug)]
pub struct Client {
    host: String,
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl Client {
    /// Connects to `address`. Requests name the address that was found as their host, not a name: the admin API answers
    /// to nothing else.
    ///
    /// # Errors
    /// Nobody listens there, or the connection does not open in time.
    pub async fn connect(address: impl ToSocketAddrs) -> Result<Self, Error> {
        let connecting = timeout(CONNECT, TcpStream::connect(address));
        let stream = connecting
            .await
            .map_err(|_| Error::Time)?
            .map_err(Error::Connect)?;
        stream.set_nodelay(true).map_err(Error::Connect)?;
        let host = stream.peer_addr().map_err(Error::Connect)?.to_string();
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(Error::answer)?;
        let driver = tokio::spawn(async move {
            // The caller that waits for an answer gets the error from the sender.
            let _ = connection.await;
        });
        Ok(Self {
            host,
            sender,
            driver,
        })
    }

    /// Requests `target` (path and query) and waits for the whole answer.
    ///
    /// # Errors
    /// No answer, an incomplete one, or one that is too large.
    pub async fn get(&mut self, target: &str) -> Result<Response<Bytes>, Error> {
        self.get_within(target, ANSWER).await
    }

    /// Like [`get`](Self::get), but waits at most `within`.
    ///
    /// # Errors
    /// No answer, an incomplete one, or one that is too large.
    pub async fn get_within(
        &mut self,
        target: &str,
        within: Duration,
    ) -> Result<Response<Bytes>, Error> {
        let request = Request::get(target).body(Full::default());
        self.ask(request.map_err(Error::answer)?, within).await
    }

    /// Sends `json` to `target` and waits at most `within` for the whole answer.
    ///
    /// # Errors
    /// No answer, an incomplete one, or one that is too large.
    pub async fn post(
        &mut self,
        target: &str,
        json: Bytes,
        within: Duration,
    ) -> Result<Response<Bytes>, Error> {
        let request = Request::builder().method(Method::POST).uri(target);
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let request = request.body(Full::new(json));
        self.ask(request.map_err(Error::answer)?, within).await
    }

    async fn ask(
        &mut self,
        mut request: Request<Full<Bytes>>,
        within: Duration,
    ) -> Result<Response<Bytes>, Error> {
        let host = self.host.parse().map_err(Error::answer)?;
        request.headers_mut().insert(header::HOST, host);
        timeout(within, self.exchange(request))
            .await
            .map_err(|_| Error::Time)?
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Bytes>, Error> {
        self.sender.ready().await.map_err(Error::answer)?;
        let response = self
            .sender
            .send_request(request)
            .await
            .map_err(Error::after_sending)?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, LARGEST).collect().await;
        let body = body.map_err(|error| match error.downcast::<hyper::Error>() {
            Ok(error) => Error::after_sending(*error),
            Err(error) => Error::Answer(error),
        })?;
        Ok(Response::from_parts(head, body.to_bytes()))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
