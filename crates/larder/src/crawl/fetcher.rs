//! Asks one server for one target after another, at a pace.

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

/// Longest time for one answer.
const WHOLE: Duration = Duration::from_mins(10);

/// One server, and what every request to it says. Used within a `LocalSet`.
#[derive(Debug)]
pub struct Fetcher {
    origin: Arc<Origin>,
    fields: HeaderMap,
    pace: Pace,
}

/// How a [`Fetcher`] asks.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Who asks, for `User-Agent`.
    pub agent: HeaderValue,
    /// Fields of every request.
    pub fields: Vec<(HeaderName, HeaderValue)>,
    /// Requests under way at most.
    pub concurrency: usize,
    /// Requests begun in a second at most; 0: any number.
    pub rate: u32,
}

/// Why a body is not there whole.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The server's fault, or the network's.
    #[error(transparent)]
    Fetch(#[from] Error),
    /// More than was asked for.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
}

impl Fetcher {
    /// Asks `server`, whose certificate is for `name` where that is not the server's own.
    ///
    /// # Errors
    /// It cannot be asked as configured.
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
            // A server that fails is asked for the next page all the same: what cannot be had is told of.
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

    /// Asks for `target` of `host` with these fields beside its own; ready when the head of the answer is there.
    ///
    /// # Errors
    /// No answer.
    pub async fn get(
        &self,
        host: &str,
        target: &str,
        more: &HeaderMap,
    ) -> Result<Response<ResponseBody>, Error> {
        let mut request = Request::new(empty());
        // Targets are what `Site::leads` or `http` itself has taken for one.
        *request.uri_mut() = target.parse().unwrap_or_default();
        let fields = request.headers_mut();
        fields.clone_from(&self.fields);
        for (name, value) in more {
            fields.insert(name, value.clone());
        }
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

    /// The content of `target`, of at most `most` bytes.
    ///
    /// # Errors
    /// There is none, in words: no answer, none that is 200, or not whole.
    pub async fn content(&self, host: &str, target: &str, most: usize) -> Result<Bytes, String> {
        let asked = self.get(host, target, &HeaderMap::new()).await;
        let response = asked.map_err(|error| error.to_string())?;
        if response.status() != StatusCode::OK {
            return Err(format!("status {}", response.status()));
        }
        let content = whole(response.into_body(), most).await;
        content.map_err(|error| error.to_string())
    }
}

fn empty() -> RequestBody {
    Empty::<Bytes>::new()
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// The whole body, of at most `most` bytes.
///
/// # Errors
/// It is larger, or does not come whole.
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
