//! Gets one answer from an origin: pools, TLS, balance, health, retry. Does not know that a cache exists.
//!
//! One fetch goes `gate` (its turn) → `fetch` (the attempts) → `balance` (which server) → `exchange` (one attempt) →
//! `pool` or `connect` (a connection) → `direct`, or `link` where it is hyper's (content, upgrades, HTTP/2) → `message` (is the
//! head believable) → `body`. With `fastcgi`, the path is looked for below the root first, and the attempt goes another way from
//! the connection on. `files` is a folder in place of servers.

mod balance;
mod body;
mod budget;
pub mod config;
mod connect;
pub mod direct;
pub mod error;
mod exchange;
pub mod fastcgi;
mod fetch;
pub mod files;
mod gate;
mod health;
mod held;
mod interim;
mod latency;
mod lifetime;
mod link;
mod message;
mod pace;
pub mod pages;
mod peer;
pub mod pem;
mod pool;
mod resolve;
mod seldom;
mod servers;
mod stream;
mod tls;
mod upload;
mod wait;
mod waited;
mod watch;

pub use body::{RequestBody, ResponseBody};
pub use config::OriginConfig;
pub use error::{Error, Kind};
pub use latency::{BOUNDS_MS, Latency};
pub use lifetime::Lifetime;
pub use waited::Waited;

use files::{Files, Found, Turn, respond};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::Body as _;
use pages::{Pages, PagesReport};
use servers::Servers;
use std::{
    fmt, future,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{self, Poll, ready},
};
use tokio::time::Instant;

/// Where answers come from. Shared by all workers (`Send + Sync`); made once per configuration.
#[derive(Debug)]
pub struct Origin {
    name: String,
    source: Source,
    latency: latency::Counts,
}

/// What stands behind an origin.
#[derive(Debug)]
enum Source {
    /// One or several servers.
    Servers(Arc<Servers>),
    /// A folder.
    Files(Files),
    /// Pages that the application keeps elsewhere.
    Pages(Box<Pages>),
    /// Others, in turn: the first that has it answers.
    FirstOf(Vec<Arc<Origin>>),
}

/// Where interim responses (RFC 9110 section 15.2) go as they come. Called on the worker's own thread; must not block.
/// HTTP/2 origins' are not reported by hyper and pass unseen.
pub type Interim = Box<dyn FnMut(StatusCode, &HeaderMap) + Send>;

/// Takes so many bytes more of what the caller has to spare in memory; false, and nothing taken, where there are not so many left.
/// Dropped, it gives back all.
pub type Room = Box<dyn FnMut(u64) -> bool + Send>;

/// A fetch under way. Boxed, since it is large: each caller that awaits a future moves all of it once more.
type Fetching<'a> = Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, Error>> + 'a>>;

/// What the caller knows of a request beyond its message.
#[derive(Default)]
pub struct Context {
    /// Feeds consistent hashing: same number, same server while it lives.
    pub hash: u64,
    /// Passed each 1xx except 100 and 101.
    pub interim: Option<Interim>,
    /// The request carries no content and its method is idempotent: it may be sent again to another server.
    pub repeatable: bool,
    /// What FastCGI servers are told beside the message.
    pub visitor: Visitor,
    /// The host the client asked for, in lower case: what pages are kept by.
    pub host: String,
    /// The site wants the application itself to answer: pages that were made for everybody will not do, unless there is nobody
    /// else to ask.
    pub personal: bool,
    /// Room for a body that must be gathered before it is sent on (FastCGI, without a length). `None`: nobody counts.
    pub room: Option<Room>,
}

/// Which parts of a [`Context`] an origin looks at; the others need not be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heeds {
    /// `hash`.
    pub key: bool,
    /// `visitor`, `host` and `personal`.
    pub asker: bool,
}

/// Who asks, and where, as scripts are told (RFC 3875 section 4.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Visitor {
    /// The client; `None`: nobody in particular, or it is connected to a Unix socket.
    pub client: Option<IpAddr>,
    /// Its port, where it is known.
    pub port: Option<u16>,
    /// The address it is connected to.
    pub server: Option<SocketAddr>,
    /// Its request is for `https`.
    pub https: bool,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("hash", &self.hash)
            .field("interim", &self.interim.is_some())
            .field("repeatable", &self.repeatable)
            .field("visitor", &self.visitor)
            .field("host", &self.host)
            .field("personal", &self.personal)
            .field("room", &self.room.is_some())
            .finish()
    }
}

impl Origin {
    /// One or several servers. Errors are configuration's fault (no server, unreadable certificate authority and the like).
    /// Resolves no names: the first fetch or `keep_watch` does.
    pub fn new(config: OriginConfig) -> Result<Arc<Self>, Error> {
        let name = config.name.clone();
        let servers = Servers::new(config)?;
        Ok(Self::of(name, Source::Servers(servers)))
    }

    /// The files of a folder. Errors are configuration's fault: no such folder, or the system cannot keep us inside it.
    pub fn files(config: files::Config) -> Result<Arc<Self>, Error> {
        let name = config.name.clone();
        let files = Files::new(config)?;
        Ok(Self::of(name, Source::Files(files)))
    }

    /// Pages in memcached or Redis. Errors are configuration's fault: the address.
    pub fn pages(config: pages::Config) -> Result<Arc<Self>, Error> {
        let name = config.name.clone();
        let pages =
            Pages::new(config).map_err(|error| Error::new(Kind::Configuration).because(error))?;
        Ok(Self::of(name, Source::Pages(Box::new(pages))))
    }

    /// The first of `origins` that has what is asked for. What the last one answers is final; the others are asked only by GET
    /// and HEAD without content.
    pub fn first_of(origins: Vec<Arc<Self>>) -> Arc<Self> {
        let names: Vec<_> = origins.iter().map(|origin| origin.name()).collect();
        Self::of(names.join(", "), Source::FirstOf(origins))
    }

    fn of(name: String, source: Source) -> Arc<Self> {
        Arc::new(Self {
            name,
            source,
            latency: latency::Counts::default(),
        })
    }

    /// The name from the configuration; of several in turn, all names.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it answers whatever it is asked, so that no other is asked after it.
    pub fn is_final(&self) -> bool {
        matches!(self.source, Source::Servers(_))
    }

    /// Sends `request` and returns when the final head has arrived. Must be called inside a current-thread runtime's
    /// `LocalSet` (some connections are driven by `spawn_local`); the pools are the calling worker's own (thread-local, keyed by this origin).
    /// `request`'s URI is in origin form (path and query, sent byte for byte), its `Host` field already right.
    /// A response with 101 carries `hyper::upgrade::OnUpgrade` in its extensions; an upgraded connection no longer counts
    /// against `Turns::most`.
    ///
    /// `Expect` is dropped and the framing fields are set anew from the body. A response that comes back has believable
    /// framing; a status from 600 to 999 passes as it is (RFC 9110 section 15 leaves its reading to the recipient). One whose
    /// source knows how long it holds carries a [`Lifetime`] in its extensions; one whose request had to wait, [`Waited`].
    pub fn fetch(
        self: &Arc<Self>,
        request: Request<RequestBody>,
        context: Context,
    ) -> impl Future<Output = Result<Response<ResponseBody>, Error>> {
        match &self.source {
            Source::FirstOf(all) => Waiting::untimed(Box::pin(in_turn(all, request, context))),
            _ => self.ask(request, context),
        }
    }

    /// What this origin alone says.
    fn ask(&self, request: Request<RequestBody>, context: Context) -> Waiting<'_> {
        let began = Instant::now();
        let fetching: Fetching<'_> = match &self.source {
            Source::Servers(servers) => servers.fetch(request, context, began),
            Source::Files(files) => Box::pin(async move {
                let found = files.answer(&request, &context, Turn::Last).await?;
                Ok(found.or_not_found(request.method()))
            }),
            Source::Pages(pages) => Box::pin(async move {
                let found = pages.answer(&request, &context, Turn::Last).await?;
                Ok(found.unwrap_or_else(|_| respond::not_found(request.method())))
            }),
            Source::FirstOf(_) => {
                let error = Error::new(Kind::Configuration);
                Box::pin(future::ready(Err(
                    error.because("origins in turn within others")
                )))
            }
        };
        Waiting {
            fetching,
            timed: Some((&self.latency, began)),
        }
    }

    /// What it has for `request`; `None`: another is to be asked, because it is not there or cannot be had.
    async fn try_fetch(
        &self,
        request: &Request<RequestBody>,
        context: &Context,
    ) -> Option<Response<ResponseBody>> {
        // Both tell the log of their errors themselves.
        match &self.source {
            Source::Files(files) => {
                let found = files.answer(request, context, Turn::Earlier).await;
                match found.ok()? {
                    Found::Answer(response) => Some(*response),
                    Found::Absent(_) => None,
                }
            }
            Source::Pages(pages) => {
                let found = pages.answer(request, context, Turn::Earlier).await;
                found.ok()?.ok()
            }
            Source::Servers(_) | Source::FirstOf(_) => None,
        }
    }

    /// Runs active health checks and name resolution until dropped; spawned once (not per worker), on a `LocalSet`.
    pub async fn keep_watch(self: Arc<Self>) {
        if let Source::Servers(servers) = &self.source {
            servers.clone().keep_watch().await;
        }
    }

    /// Whether content may lie there coded, and is given by `Accept-Encoding`: in a folder, with files such as `app.js.br`, or in
    /// a page store whose pages have fields.
    pub fn keeps_codings(&self) -> bool {
        match &self.source {
            Source::Servers(_) => false,
            Source::Files(_) => true,
            Source::Pages(pages) => pages.may_be_coded(),
            Source::FirstOf(origins) => origins.iter().any(|origin| origin.keeps_codings()),
        }
    }

    /// What it looks at of a request's [`Context`], beyond what every origin does.
    pub fn heeds(&self) -> Heeds {
        match &self.source {
            Source::Servers(servers) => servers.heeds(),
            Source::Files(_) | Source::Pages(_) => Heeds {
                key: false,
                asker: true,
            },
            Source::FirstOf(origins) => {
                let each = origins.iter().map(|origin| origin.heeds());
                each.fold(Heeds::default(), |all, one| Heeds {
                    key: all.key || one.key,
                    asker: all.asker || one.asker,
                })
            }
        }
    }

    /// A snapshot for metrics and the admin API.
    pub fn report(&self) -> Report {
        let report = match &self.source {
            Source::Servers(servers) => servers.report(),
            Source::Files(files) => files.report(),
            Source::Pages(pages) => pages.report(),
            Source::FirstOf(_) => Report {
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

/// A fetch under way, and where it is counted how long it took.
struct Waiting<'a> {
    fetching: Fetching<'a>,
    timed: Option<(&'a latency::Counts, Instant)>,
}

impl<'a> Waiting<'a> {
    fn untimed(fetching: Fetching<'a>) -> Self {
        let timed = None;
        Self { fetching, timed }
    }
}

impl Future for Waiting<'_> {
    type Output = Result<Response<ResponseBody>, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(self.fetching.as_mut().poll(cx));
        if let Some((counts, began)) = self.timed {
            counts.count(began.elapsed());
        }
        Poll::Ready(answer)
    }
}

/// What the first of several origins says that has it, or the last.
async fn in_turn(
    origins: &[Arc<Origin>],
    request: Request<RequestBody>,
    context: Context,
) -> Result<Response<ResponseBody>, Error> {
    let Some((last, others)) = origins.split_last() else {
        return Err(Error::new(Kind::Configuration).because("no origin to ask"));
    };
    if let Some(found) = Box::pin(first(others, &request, &context)).await {
        return Ok(found);
    }
    last.ask(request, context).await
}

/// The first answer to a request that may be asked of several.
async fn first(
    origins: &[Arc<Origin>],
    request: &Request<RequestBody>,
    context: &Context,
) -> Option<Response<ResponseBody>> {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if !reads || !request.body().is_end_stream() {
        return None;
    }
    for origin in origins {
        let began = Instant::now();
        let found = origin.try_fetch(request, context).await;
        origin.latency.count(began.elapsed());
        if found.is_some() {
            return found;
        }
    }
    None
}

/// State of one origin at a moment.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The name from the configuration.
    pub name: String,
    /// Fetches under way.
    pub active: usize,
    /// Fetches waiting in the queue.
    pub queued: usize,
    /// How long it took to answer.
    pub latency: Latency,
    /// In the configuration's order.
    pub servers: Vec<ServerReport>,
    /// Of a page store.
    pub pages: Option<PagesReport>,
}

/// State of one server.
#[derive(Clone, Debug, Default)]
pub struct ServerReport {
    /// As configured.
    pub address: String,
    /// Neither at rest after failures nor held for down by active checks.
    pub healthy: bool,
    /// Fetches under way.
    pub active: usize,
    /// Failures since the configuration was loaded.
    pub failures: u64,
}
