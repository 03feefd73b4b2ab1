//! Requests one target after another from one server, at a limited rate.

use super::pace::Pace;
use crate::config::value::ServerUrl;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Empty};
use origin::{
    Context, Error, Origin, OriginConfig, RequestBody, ResponseBody,
    config::{ConcurrencyLimits, PassiveHealth, Server, Timeouts, Tls},
};
use std::{sync::Arc, time::Duration};

/// The longest time for one answer.
const WHOLE: Duration = Duration::from_mins(10);

/// One server, and the fields of every request to it. Must be used within a `LocalSet`.
#[derive(Debug)]
pub struct Fetcher {
    origin: Arc<Origin>,
    fields: HeaderMap,
    pace: Pace,
}

/// How a [`Fetcher`] sends requests.
#[derive(Clone, Debug)]
pub struct Manner {
    /// The value of `User-Agent`.
    pub agent: HeaderValue,
    /// The fields of every request.
    pub fields: Vec<(HeaderName, HeaderValue)>,
    /// The most requests in progress.
    pub concurrency: usize,
    /// The most requests begun in a second; 0 means no limit.
    pub rate: u32,
}

/// Why there is no content.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// There is no answer.
    #[error(transparent)]
    Fetch(#[from] Error),
    /// The answer has another status than 200.
    #[error("status {0}")]
    Status(StatusCode),
    /// The body is too large or incomplete.
    #[error(transparent)]
    Body(#[from] BodyError),
}

impl ContentError {
    /// Whether another attempt makes sense.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Fetch(_) | Self::Body(BodyError::Fetch(_)) => true,
            Self::Status(status) => may_pass(*status),
            Self::Body(BodyError::TooLarge(_)) => false,
        }
    }
}

/// Whether a status is one of failures that may be over at the next attempt.
pub fn may_pass(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429 | 500..)
}

/// Why a body is not complete.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The server or the network failed.
    #[error(transparent)]
    Fetch(#[from] Error),
    /// The body is larger than requested.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
}

impl Fetcher {
    /// A fetcher for `server`, whose certificate is for `name` if that differs from the server's own name.
    ///
    /// # Errors
    /// The server cannot be used as configured.
    pub fn new(server: &ServerUrl, name: Option<String>, manner: &Manner) -> Result<Self, Error> {
        let config = OriginConfig {
            name: "site".to_owned(),
            servers: vec![Server::new(server.address.clone())],
            tls: (server.tls == Some(true)).then(|| Tls {
                server_name: name,
                ..Tls::default()
            }),
            timeouts: Timeouts {
                whole: Some(WHOLE),
                ..Timeouts::default()
            },
            idle_connections: manner.concurrency,
            concurrency: ConcurrencyLimits {
                most: manner.concurrency.max(1),
                ..ConcurrencyLimits::default()
            },
            // A server that fails is still asked for the next page, and the failure is reported.
            passive: PassiveHealth {
                failures: 0,
                ..PassiveHealth::default()
            },
            ..OriginConfig::default()
        };
        let mut fields = HeaderMap::new();
        fields.insert(header::USER_AGENT, manner.agent.clone());
        fields.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        for (name, _) in &manner.fields {
            fields.remove(name);
        }
        fields.extend(manner.fields.iter().cloned());
        Ok(Self {
            origin: Origin::new(config)?,
            fields,
            pace: Pace::new(manner.rate),
        })
    }

    /// Returns the fields of a request: these beside the usual ones.
    pub fn fields(&self, more: &HeaderMap) -> HeaderMap {
        let mut fields = self.fields.clone();
        for (name, value) in more {
            fields.insert(name, value.clone());
        }
        fields
    }

    /// Requests `target` of `host`, with these fields beside the usual ones. Returns when the head of the answer is
    /// there.
    ///
    /// # Errors
    /// There is no answer.
    pub async fn get(
        &self,
        host: &str,
        target: &str,
        more: &HeaderMap,
    ) -> Result<Response<ResponseBody>, Error> {
        let mut request = Request::new(empty());
        // Targets have passed `Site::leads` or the parser of `http`.
        *request.uri_mut() = target.parse().unwrap_or_default();
        *request.headers_mut() = self.fields(more);
        let fields = request.headers_mut();
        if let Ok(host) = HeaderValue::from_str(host) {
            fields.entry(header::HOST).or_insert(host);
        }
        let context = Context {
            repeatable: true,
            ..Context::default()
        };
        self.pace.turn().await;
        self.origin.fetch(request, context).await
    }

    /// Returns the content of `target`, at most `most` bytes.
    ///
    /// # Errors
    /// See [`ContentError`].
    pub async fn content(
        &self,
        host: &str,
        target: &str,
        most: usize,
    ) -> Result<Bytes, ContentError> {
        let response = self.get(host, target, &HeaderMap::new()).await?;
        match response.status() {
            StatusCode::OK => Ok(whole(response.into_body(), most).await?),
            status => Err(ContentError::Status(status)),
        }
    }
}

fn empty() -> RequestBody {
    Empty::<Bytes>::new()
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// Returns the whole body, at most `most` bytes.
///
/// # Errors
/// It is larger, or incomplete.
pub async fn whole(mut body: ResponseBody, most: usize) -> Result<Bytes, BodyError> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame?.into_data() else {
            continue;
        };
        if bytes.len() + piece.len() > most {
            return Err(BodyError::TooLarge(most));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.freeze())
}
