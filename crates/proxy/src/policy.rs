//! The site's say as plain values: what the configuration means, ready for the walk. Made by `larder`, read-only here.

mod compress;
mod graphql;
mod lifetime;
mod patterns;
mod purge;

pub use compress::Compress;
pub use graphql::{GraphQl, Operation};
pub use lifetime::{Lifetime, LifetimeMode, Stale, StatusPattern};
pub use patterns::{AnyPath, FieldPattern, HostPattern, NamePattern, PathPattern, TextPattern};
pub use purge::PurgePolicy;

use http::{HeaderName, HeaderValue, Method, StatusCode};
use ipnet::IpNet;
use rules::{key::QueryChoice, storable::SetCookie};
use std::{sync::Arc, time::Duration};

/// Everything the walk asks of the configuration. Swapped whole on reload.
#[derive(Debug, Clone)]
pub struct Site {
    /// First match wins; the last one matches everything.
    pub routes: Vec<Route>,
    /// What answers tell of how they were made.
    pub report: Report,
    /// Our pseudonym in `Via` and name in `Cache-Status`.
    pub name: String,
    /// Addresses whose `X-Forwarded-*` and `Forwarded` are believed and passed on.
    pub trusted: Vec<IpNet>,
    /// Largest request body; `None`: no limit.
    pub largest_request_body: Option<u64>,
    /// Targeted fields obeyed, in order (RFC 9213).
    pub targets: Vec<HeaderName>,
    /// Variants kept per cache key at most.
    pub most_variants: usize,
    /// Whether what soft purges touch is fetched again in the background.
    pub refetch: Option<Refetch>,
    /// Who may purge over the listeners, and how.
    pub purge: PurgePolicy,
}

/// Fetching again what a soft purge touched, the busiest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refetch {
    /// Responses fetched after one purge, at most.
    pub most: usize,
    /// Fetches begun in a second, at most.
    pub rate: u32,
}

/// What answers tell of how they were made.
#[derive(Debug, Clone)]
pub struct Report {
    /// `Cache-Status` on answers.
    pub cache_status: bool,
    /// `key` in `Cache-Status`.
    pub key: bool,
    /// A field in nginx's style, e.g. `X-Cache-Status: HIT`.
    pub x_cache: Option<HeaderName>,
    /// A field that names this node.
    pub node: Option<(HeaderName, HeaderValue)>,
}

/// One route: what it matches and what holds there.
#[derive(Debug, Clone)]
pub struct Route {
    /// The name in the configuration or, where it has none there, one by its place; for `explain` and logs.
    pub name: String,
    /// What stands for it in keys where it is part of them: a [digest](crate::routing::digest), and behind it the name that the
    /// configuration has for it.
    pub keyed: String,
    /// Which requests take it, unless an earlier route did.
    pub matcher: Matcher,
    /// What holds for them; shared where routes have the same.
    pub policy: Arc<Policy>,
}

/// Which requests a route is for: each list must hold, and of each list one entry is enough. An empty list holds always.
#[derive(Debug, Default, Clone)]
pub struct Matcher {
    /// Hosts, without port.
    pub hosts: Vec<HostPattern>,
    /// Paths as normalised, without query.
    pub paths: Vec<PathPattern>,
    /// Methods; their case counts (RFC 9110 section 9.1), and `GET` takes in `HEAD`.
    pub methods: Vec<Method>,
    /// Request header fields.
    pub headers: Vec<FieldPattern>,
    /// Cookies of the request.
    pub cookies: Vec<NamePattern>,
    /// Query parameters, as the client wrote them.
    pub query: Vec<NamePattern>,
    /// Networks of the peer. A client on a Unix socket is in none.
    pub clients: Vec<IpNet>,
}

/// What holds on a route.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Who answers what the store does not.
    pub origin: Arc<origin::Origin>,
    /// `Host` towards the origin: the client's, or this.
    pub host: Option<HeaderValue>,
    /// Off: everything here is bypassed.
    pub cache: bool,
    /// How long answers are fresh where the origin does not say, or whatever it says.
    pub lifetime: Lifetime,
    /// How long past their lifetime they may still be sent.
    pub stale: Stale,
    /// What makes up the cache key.
    pub key: KeySpec,
    /// When the store is neither asked nor filled.
    pub bypass: BypassRules,
    /// What becomes of answers with `Set-Cookie`.
    pub set_cookie: SetCookie,
    /// Whether clients may force a fetch (`no-cache`, `max-age=0`, `Pragma`).
    pub client_may_force: bool,
    /// What is compressed, and how; `None`: nothing.
    pub compress: Option<Compress>,
    /// Largest body stored, in bytes.
    pub largest_body: u64,
    /// Lifetime told to clients instead of the origin's: `Cache-Control: max-age=…`.
    pub browser_ttl: Option<Duration>,
    /// How long a follower waits for its leader's head before it fetches on its own.
    pub collapse_wait: Duration,
    /// Made last, in order, on every request to the origin.
    pub request_edits: Vec<Edit>,
    /// Made last, in order, on every answer to a client; what is stored is not changed by them.
    pub response_edits: Vec<Edit>,
    /// Request fields passed although they are dangerous when not keyed (`X-Forwarded-Host`, …).
    pub pass_fields: Vec<HeaderName>,
    /// Every request is refused, with this status.
    pub refuses: Option<StatusCode>,
    /// Redirect to HTTPS instead of answering on plain connections.
    pub redirect_https: bool,
    /// Which answers are composed of fragments.
    pub esi: Esi,
    /// How long an include may take until its head is there.
    pub fragment_wait: Duration,
    /// Content that is read into the key (`QUERY`, GraphQL), in bytes at most; 0: none is.
    pub largest_content: u64,
    /// A GraphQL service answers here.
    pub graphql: Option<GraphQl>,
    /// The path at which the application tells the group of a user; `None`: it keeps no groups apart.
    pub user_context: Option<String>,
}

/// Which answers are written in ESI, and composed before they are sent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Esi {
    /// None. Origins are not told that we could.
    Off,
    /// Those that say so: `Surrogate-Control: content="ESI/1.0"`.
    #[default]
    Told,
    /// Those, and all of HTML and XML.
    On,
}

/// What makes up the cache key, besides the path.
#[derive(Debug, Clone)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a setting that people switch by itself"
)]
pub struct KeySpec {
    /// Whether `http` and `https` are kept apart.
    pub scheme: bool,
    /// Whether hosts are kept apart.
    pub host: bool,
    /// Which query parameters count, of those that `drop` leaves. Others are not sent to the origin.
    pub query: QueryChoice,
    /// What is left after dropping parameters, whatever `query` says: `All` or `Except`. What is dropped is not sent to the
    /// origin either.
    pub drop: QueryChoice,
    /// Whether parameters are put in order by name, so that their order does not count.
    pub sort: bool,
    /// Request header fields whose values count.
    pub headers: Vec<HeaderName>,
    /// Names of cookies whose values count.
    pub cookies: Vec<String>,
    /// Whether the other cookies are kept from the origin where its answer may be stored; they choose no variant either.
    pub drop_cookies: bool,
}

/// When the store is neither asked nor filled: one entry of any list is enough.
#[derive(Debug, Default, Clone)]
pub struct BypassRules {
    /// The request carries one of these cookies.
    pub cookies: Vec<NamePattern>,
    /// The request carries one of these header fields.
    pub headers: Vec<FieldPattern>,
    /// The path is one of these.
    pub paths: AnyPath,
    /// The method is one of these.
    pub methods: Vec<Method>,
    /// The query has one of these parameters.
    pub query: Vec<NamePattern>,
    /// The request carries one of these cookies and misses: it may get what others had stored, and stores nothing itself.
    pub misses_with: Vec<NamePattern>,
    /// The response sets one of these cookies, and is not stored: it was made for who gets the cookie.
    pub sets: Vec<NamePattern>,
}

impl BypassRules {
    /// Whether some request may bypass the store.
    pub fn has_rules(&self) -> bool {
        let Self {
            cookies,
            headers,
            paths,
            methods,
            query,
            misses_with: _,
            sets: _,
        } = self;
        !(cookies.is_empty()
            && headers.is_empty()
            && paths.is_empty()
            && methods.is_empty()
            && query.is_empty())
    }
}

/// One change of a header.
#[derive(Debug, Clone)]
pub enum Edit {
    /// This line in place of all lines of the field.
    Set(HeaderName, HeaderValue),
    /// This line beside those of the field.
    Add(HeaderName, HeaderValue),
    /// No line of the field.
    Remove(HeaderName),
}
