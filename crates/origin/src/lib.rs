//! Gets one answer from an origin: pools, TLS, balance, health, retry. Does not know that a cache exists.
//!
//! One fetch passes `gate` (its turn) → `fetch` (the attempts) → `balance` (which server of the `roster`) → `exchange`
//! (one attempt) → `pool` or `connect` (a connection) → `direct`, or `link` for connections that hyper drives (content,
//! upgrades) or h2 (HTTP/2) → `message` (is the head believable) → `body`. With `fastcgi`, the path is first looked up
//! below the root, and the attempt takes another way from the connection on. `files` answers from a folder instead of
//! servers, `pages` from a page store. `first_of` asks several origins in turn.

#![forbid(unsafe_code)]

mod balance;
mod body;
mod budget;
pub mod config;
mod connect;
mod context;
pub mod descriptors;
pub mod direct;
pub mod error;
mod exchange;
pub mod fastcgi;
mod fetch;
mod fetch_guard;
pub mod files;
mod first_of;
mod gate;
mod health;
pub mod http2;
mod interim;
pub mod keepalive;
mod latency;
mod leave;
mod lifetime;
mod link;
mod message;
mod pace;
pub mod pacing;
pub mod pages;
mod peer;
pub mod pem;
mod pool;
mod refused;
mod report;
mod resolve;
mod roster;
pub mod seldom;
mod sent;
mod servers;
pub mod spares;
mod stream;
mod tls;
mod upload;
mod wait;
mod waited;
mod waiting;
mod watch;

pub use body::{RequestBody, ResponseBody};
pub use config::OriginConfig;
pub use context::{Context, Heeds, Room, Visitor};
pub use direct::LITTLE;
pub use error::{Error, Kind};
pub use interim::Interim;
pub use latency::{BOUNDS_MS, Latency};
pub use lifetime::Lifetime;
pub use report::{Report, ServerReport};
pub use sent::Sent;
pub use upload::{UNSENT, is_look};
pub use waited::Waited;
pub use waiting::TimedFetch;

use files::{ChainPosition, FileLookup, Files, respond};
use first_of::{PassedOver, in_turn};
use http::{HeaderValue, Request, Response};
use pages::Pages;
use servers::Servers;
use std::{future, pin::Pin, sync::Arc};
use tokio::time::Instant;

/// Where answers come from. Shared by all workers (`Send + Sync`); made once per configuration.
#[derive(Debug)]
pub struct Origin {
    name: String,
    source: OriginKind,
    latency: latency::Counts,
}

/// What stands behind an origin.
#[derive(Debug)]
enum OriginKind {
    /// One or several servers.
    Servers(Arc<Servers>),
    /// A folder.
    Files(Files),
    /// Pages that the application keeps elsewhere.
    Pages(Box<Pages>),
    /// Other origins, in turn: the first that has what is asked for answers.
    FirstOf(Vec<Arc<Origin>>),
}

/// A fetch under way. Boxed because it is large, and each caller that awaits a future moves all of it again.
type Fetching<'a> = Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, Error>> + 'a>>;

impl Origin {
    /// Makes an origin of one or several servers. Resolves no names: the first fetch or `keep_watch` does that.
    ///
    /// # Errors
    /// A fault of the configuration: no server, an unreadable certificate authority and the like.
    pub fn new(config: OriginConfig) -> Result<Arc<Self>, Error> {
        let name = config.name.clone();
        let servers = Servers::new(config)?;
        Ok(Self::of(name, OriginKind::Servers(servers)))
    }

    /// Makes an origin of a folder's files.
    ///
    /// # Errors
    /// A fault of the configuration: no such folder, or the system cannot keep us inside it.
    pub fn files(config: files::Config) -> Result<Arc<Self>, Error> {
        let name = config.name.clone();
        let files = Files::new(config)?;
        Ok(Self::of(name, OriginKind::Files(files)))
    }

    /// Makes an origin of pages in memcached or Redis.
    ///
    /// # Errors
    /// A fault of the configuration: the address.
    pub fn pages(config: pages::Config) -> Result<Arc<Self>, Error> {
        let name = config.name.clone();
        let pages =
            Pages::new(config).map_err(|error| Error::new(Kind::Configuration).because(error))?;
        Ok(Self::of(name, OriginKind::Pages(Box::new(pages))))
    }

    /// Makes an origin that takes the first of `origins` that has what is asked for. The last one's answer is final.
    /// The others are asked only for GET and HEAD without content.
    pub fn first_of(origins: Vec<Arc<Self>>) -> Arc<Self> {
        let names: Vec<_> = origins.iter().map(|origin| origin.name()).collect();
        Self::of(names.join(", "), OriginKind::FirstOf(origins))
    }

    fn of(name: String, source: OriginKind) -> Arc<Self> {
        Arc::new(Self {
            name,
            source,
            latency: latency::Counts::default(),
        })
    }

    /// Whether both are the same servers, folder or page store, or several of these in turn, made of the same
    /// configuration. Either may then replace the other, with what it knows and has counted of them.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.source, &other.source) {
            (OriginKind::Servers(one), OriginKind::Servers(other)) => one.is_same(other),
            (OriginKind::Files(one), OriginKind::Files(other)) => one.is_same(other),
            (OriginKind::Pages(one), OriginKind::Pages(other)) => one.is_same(other),
            (OriginKind::FirstOf(one), OriginKind::FirstOf(other)) => {
                let mut pairs = one.iter().zip(other);
                one.len() == other.len() && pairs.all(|(one, other)| one.is_same(other))
            }
            _ => false,
        }
    }

    /// Returns the name from the configuration. For several origins in turn: all names.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether this origin answers every request itself, so that no other is asked after it.
    pub fn is_final(&self) -> bool {
        matches!(self.source, OriginKind::Servers(_))
    }

    /// Sends `request` and returns when the final head has arrived.
    ///
    /// Must be called inside a current-thread runtime's `LocalSet`: some connections are driven by `spawn_local`. The
    /// pools are the calling worker's own (thread-local, keyed by this origin). `request`'s URI is in origin form (path
    /// and query, sent byte for byte), and its `Host` field is already right. The framing fields are set anew from the
    /// body. Of `Expect`, only `100-continue` stays, and only if content follows. `TE` says that trailers are taken:
    /// a server of HTTP/2 is told, and its trailers come; otherwise none do.
    ///
    /// A response that comes back has believable framing. A status from 600 to 999 passes unchanged (RFC 9110 section
    /// 15 leaves its reading to the recipient). The response has a [`Lifetime`] in its extensions if its source knows
    /// one, and [`Waited`] if its request had to wait. A response with 101 has `hyper::upgrade::OnUpgrade` there. An
    /// upgraded connection no longer counts against `ConcurrencyLimits::most`; at its server it counts as long as the
    /// response's body is held.
    pub fn fetch(
        self: &Arc<Self>,
        request: Request<RequestBody>,
        context: Context,
    ) -> TimedFetch<'_> {
        match &self.source {
            OriginKind::FirstOf(all) => {
                let began = Instant::now();
                TimedFetch::since(began, Box::pin(in_turn(all, request, context)))
            }
            _ => self.ask(request, context),
        }
    }

    /// Asks this origin alone.
    fn ask(&self, request: Request<RequestBody>, context: Context) -> TimedFetch<'_> {
        let began = Instant::now();
        let fetching: Fetching<'_> = match &self.source {
            OriginKind::Servers(servers) => servers.fetch(request, context, began),
            OriginKind::Files(files) => Box::pin(async move {
                let found = files
                    .answer(&request, &context, ChainPosition::Final)
                    .await?;
                Ok(found.or_not_found(request.method()))
            }),
            OriginKind::Pages(pages) => Box::pin(async move {
                let found = pages
                    .answer(&request, &context, ChainPosition::Final)
                    .await?;
                Ok(found.unwrap_or_else(|absent| {
                    PassedOver::from(absent).tell(respond::not_found(request.method()))
                }))
            }),
            OriginKind::FirstOf(_) => {
                let error = Error::new(Kind::Configuration);
                Box::pin(future::ready(Err(
                    error.because("origins in turn within others")
                )))
            }
        };
        TimedFetch::since(began, fetching).counted(&self.latency)
    }

    /// Returns the answer to `request`, or why another origin has to be asked.
    async fn try_fetch(
        &self,
        request: &Request<RequestBody>,
        context: &Context,
    ) -> Result<Response<ResponseBody>, PassedOver> {
        // Both log their errors themselves.
        match &self.source {
            OriginKind::Files(files) => {
                let found = files
                    .answer(request, context, ChainPosition::Intermediate)
                    .await;
                match found {
                    Ok(FileLookup::Answer(response)) => Ok(*response),
                    Ok(FileLookup::Absent(_)) | Err(_) => Err(PassedOver::Absent),
                }
            }
            OriginKind::Pages(pages) => {
                let found = pages
                    .answer(request, context, ChainPosition::Intermediate)
                    .await;
                match found {
                    Ok(found) => found.map_err(PassedOver::from),
                    Err(_) => Err(PassedOver::Absent),
                }
            }
            OriginKind::Servers(_) | OriginKind::FirstOf(_) => Err(PassedOver::Absent),
        }
    }

    /// Runs active health checks and name resolution until dropped. Spawned once (not per worker), on a `LocalSet`.
    pub async fn keep_watch(self: Arc<Self>) {
        if let OriginKind::Servers(servers) = &self.source {
            servers.clone().keep_watch().await;
        }
    }

    /// Whether content may be kept here in a coding and be selected by `Accept-Encoding`: in a folder with files such
    /// as `app.js.br`, or in a page store whose pages have fields.
    pub fn keeps_codings(&self) -> bool {
        match &self.source {
            OriginKind::Servers(_) => false,
            OriginKind::Files(_) => true,
            OriginKind::Pages(pages) => pages.may_be_coded(),
            OriginKind::FirstOf(origins) => origins.iter().any(|origin| origin.keeps_codings()),
        }
    }

    /// Returns which parts of a request's [`Context`] this origin uses beyond what every origin does.
    pub fn heeds(&self) -> Heeds {
        match &self.source {
            OriginKind::Servers(servers) => servers.heeds(),
            OriginKind::Files(_) | OriginKind::Pages(_) => Heeds {
                key: false,
                asker: true,
            },
            OriginKind::FirstOf(origins) => {
                let each = origins.iter().map(|origin| origin.heeds());
                each.fold(Heeds::default(), |all, one| Heeds {
                    key: all.key || one.key,
                    asker: all.asker || one.asker,
                })
            }
        }
    }

    /// Whether a request that asks for these protocols (`Upgrade`) may be answered in another way than without them: a
    /// server may switch, and a WebSocket is refused where none has upgrades. Otherwise the wish is ignored (RFC 9110
    /// section 7.8).
    pub fn heeds_upgrade(&self, protocols: &HeaderValue) -> bool {
        match &self.source {
            OriginKind::Servers(servers) => servers.heeds_upgrade(protocols),
            OriginKind::Files(_) | OriginKind::Pages(_) => false,
            OriginKind::FirstOf(origins) => {
                let mut origins = origins.iter();
                origins.any(|origin| origin.heeds_upgrade(protocols))
            }
        }
    }

    /// Returns a snapshot for metrics and the admin API.
    pub fn report(&self) -> Report {
        let report = match &self.source {
            OriginKind::Servers(servers) => servers.report(),
            OriginKind::Files(files) => files.report(),
            OriginKind::Pages(pages) => pages.report(),
            OriginKind::FirstOf(_) => Report {
                name: self.name.clone(),
                ..Report::default()
            },
        };
        Report {
            latency: self.latency.read(),
            ..report
        }
    }
}
