//! A page store as an origin: the application puts whole pages into memcached or Redis, and we take them from there.
//!
//! One answer passes `template` (the key) → `store` (the value, in time, behind a breaker) → `value` (its content:
//! plain, after a `block` of fields, or in a `pickle`) → `sent` (the answer, counted until it is gone). A malformed
//! value counts as absent, so that nothing incomplete ever becomes a page. `counts` has the results.

pub mod block;
mod counts;
pub mod pickle;
mod sent;
mod store;
pub mod template;
#[cfg(test)]
mod tests;
mod value;

pub use counts::PagesReport;

use crate::{
    Context, Error, Kind, Lifetime, ResponseBody,
    config::ConcurrencyLimits,
    files::{ChainPosition, coding, kind, respond},
    first_of::PassedOver,
    gate::{Gate, Pass},
    seldom::Seldom,
};
use bytes::Bytes;
use counts::Counts;
use http::{HeaderValue, Request, Response, header};
use kv::BadUrl;
use rules::method::is_retrieval;
use std::{path::Path, sync::Arc, time::Duration};
use store::{Store, TimeToLive};
use template::{Template, TemplateInput};
use tokio::time::Instant;

/// The lifetime of a page if nobody says so. A change shows within this time, and a busy page is asked for once in it.
const LIFETIME: Duration = Duration::from_secs(1);

/// A page store as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// For reports and messages.
    pub name: String,
    /// Its address: `memcached://…` or one of Redis's schemes, as `kv` reads them. May contain a password.
    pub url: String,
    /// The template for the keys of pages.
    pub key: Template,
    /// What a value contains.
    pub format: Format,
    /// The type of every page. `None`: by the ending of the path, or `text/html` if it has none.
    pub content_type: Option<HeaderValue>,
    /// How long a request waits for the store at most.
    pub timeout: Duration,
    /// Limits on the pages taken at the same time, until they are sent.
    pub concurrency: ConcurrencyLimits,
}

/// What a value contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Only the body.
    #[default]
    Plain,
    /// A block of header fields, an empty line, and the body ([`block`]).
    Headers,
    /// A text or bytes as pickled by Python ([`pickle`]). Flask-Caching stores them like this.
    Flask,
}

/// A page store.
#[derive(Debug)]
pub(crate) struct Pages {
    config: Config,
    store: Store,
    gate: Arc<Gate>,
    counts: Counts,
    bad: Seldom,
}

/// Why there is no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    /// The method is neither GET nor HEAD, the request has a query that the key does not contain, or the site wants the
    /// application itself to answer.
    NotAsked,
    /// The store cannot have such a key.
    Key,
    /// The store has nothing.
    NotThere,
    /// It is in a coding that the client does not accept.
    Coding,
    /// The store's value is no page.
    Bad(Bad),
}

impl From<Absent> for PassedOver {
    fn from(why: Absent) -> Self {
        match why {
            Absent::Coding => Self::Coding,
            Absent::NotAsked | Absent::Key | Absent::NotThere | Absent::Bad(_) => Self::Absent,
        }
    }
}

/// Why a value is no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// It is a list, a set or the like.
    WrongType,
    /// It is larger than any page.
    TooLarge,
    /// It is pickled although it should not be, or contains more than a text.
    Pickle,
    /// Its block of fields is malformed.
    Block,
    /// It is shorter or longer than it says.
    Cut,
}

impl Bad {
    fn words(self) -> &'static str {
        match self {
            Self::WrongType => "it is not a string",
            Self::TooLarge => "it is too large",
            Self::Pickle => "it is a pickled object and not a text",
            Self::Block => "its header is malformed",
            Self::Cut => "it is not as long as it says",
        }
    }
}

impl Pages {
    /// Whether both are the same store, made of the same configuration.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.config == other.config
    }

    /// Whether its pages may have a coding.
    pub(crate) fn may_be_coded(&self) -> bool {
        self.config.format == Format::Headers
    }

    /// Reads the address. Connects at the first request, on each worker's own runtime.
    pub(crate) fn new(config: Config) -> Result<Self, BadUrl> {
        Ok(Self {
            store: Store::new(&config.url, config.timeout)?,
            gate: Arc::new(Gate::new(config.concurrency)),
            counts: Counts::default(),
            bad: Seldom::default(),
            config,
        })
    }

    /// Returns the page for `request`. Fails if the store does not answer.
    pub(crate) async fn answer<B>(
        &self,
        request: &Request<B>,
        context: &Context,
        position: ChainPosition,
    ) -> Result<Result<Response<ResponseBody>, Absent>, Error> {
        let query = request.uri().query().is_some_and(|query| !query.is_empty());
        let foreign = context.personal || (query && !self.config.key.has_query());
        if !is_retrieval(request.method()) || (foreign && position == ChainPosition::Intermediate) {
            return Ok(Err(Absent::NotAsked));
        }
        let found = self.find(request, context).await;
        self.count(&found, request.uri().path());
        found
    }

    async fn find<B>(
        &self,
        request: &Request<B>,
        context: &Context,
    ) -> Result<Result<Response<ResponseBody>, Absent>, Error> {
        let asked = TemplateInput {
            scheme: if context.visitor.https {
                "https"
            } else {
                "http"
            },
            host: &context.host,
            method: request.method(),
            uri: request.uri(),
        };
        let Some(key) = self.config.key.key(&asked) else {
            return Ok(Err(Absent::Key));
        };
        let pass = self.gate.enter(Instant::now(), None).await?;
        let (value, left) = match self.store.get(key).await? {
            Ok(found) => found,
            Err(absent) => return Ok(Err(absent)),
        };
        Ok(self.response(request, value, left, pass))
    }

    fn response<B>(
        &self,
        request: &Request<B>,
        value: Bytes,
        left: TimeToLive,
        pass: Pass,
    ) -> Result<Response<ResponseBody>, Absent> {
        let page = value::read(self.config.format, value).map_err(Absent::Bad)?;
        let value::Page {
            status,
            mut fields,
            body,
        } = page;
        if let Some(coding) = fields.get(header::CONTENT_ENCODING) {
            if !coding
                .to_str()
                .is_ok_and(|coding| coding::accepts(request.headers(), coding))
            {
                return Err(Absent::Coding);
            }
            fields.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        if !fields.contains_key(header::CONTENT_TYPE) {
            fields.insert(header::CONTENT_TYPE, self.kind(request.uri().path()));
        }
        let (status, fields, body) =
            respond::with_bytes(request.method(), request.headers(), status, fields, body);
        let mut response = Response::new(sent::body(body, pass));
        *response.status_mut() = status;
        *response.headers_mut() = fields;
        response.extensions_mut().insert(match left {
            TimeToLive::For(time) => Lifetime::Remaining(time),
            TimeToLive::Unknown => Lifetime::Usual(LIFETIME),
        });
        Ok(response)
    }

    fn kind(&self, path: &str) -> HeaderValue {
        let html = HeaderValue::from_static("text/html; charset=utf-8");
        let by_path = || kind::known(Path::new(path)).unwrap_or(html);
        self.config.content_type.clone().unwrap_or_else(by_path)
    }
}

/// Translates an error of the store.
fn failed(error: kv::Error) -> Error {
    let kind = match error.kind {
        kv::Kind::Timeout => Kind::FirstByteTimeout,
        kv::Kind::Protocol => Kind::Malformed,
        kv::Kind::Closed => Kind::Truncated,
        kv::Kind::Unreachable => Kind::Refused,
        kv::Kind::Refused
        | kv::Kind::WrongType
        | kv::Kind::Full
        | kv::Kind::TooLarge
        | kv::Kind::Rejected => Kind::Declined,
    };
    Error::new(kind).because(error)
}
