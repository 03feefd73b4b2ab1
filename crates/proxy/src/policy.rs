//! The site's configuration as plain values, ready for the walk. Made by `larder`, read-only here.

mod alike;
mod compress;
mod graphql;
mod lifetime;
mod patterns;
mod purge;
mod routes;

pub use compress::Compress;
pub use graphql::{GraphQl, Operation};
pub(crate) use lifetime::seconds;
pub use lifetime::{Lifetime, LifetimeMode, Stale, StatusPattern};
pub use patterns::{AnyPath, FieldPattern, HostPattern, NamePattern, PathPattern, TextPattern};
pub use purge::{PurgePolicy, Unadmitted};
pub use routes::Routes;

use http::{HeaderName, HeaderValue, Method, StatusCode};
use ipnet::IpNet;
use rules::{freshness, key::QueryChoice, storable::SetCookie, surrogate};
use std::{sync::Arc, time::Duration};

/// Everything that the walk needs of the configuration. Replaced as a whole on reload.
#[derive(Debug, Clone)]
pub struct Site {
    /// The routes.
    pub routes: Routes,
    /// What answers tell about how they were made.
    pub report: Report,
    /// The pseudonym of this cache in `Via`, and its name in `Cache-Status`.
    pub name: String,
    /// Addresses whose `X-Forwarded-*` and `Forwarded` are trusted and forwarded.
    pub trusted: Vec<IpNet>,
    /// The largest request body, in bytes; `None`: no limit.
    pub largest_request_body: Option<u64>,
    /// The targeted fields that are obeyed, in order (RFC 9213).
    pub targets: Vec<HeaderName>,
    /// The most variants that are kept per cache key.
    pub most_variants: usize,
    /// The limits of the refetch of what soft purges touch, in the background; `None`: no refetch.
    pub refetch: Option<Refetch>,
    /// Who may purge over the listeners, and how.
    pub purge: PurgePolicy,
}

impl Site {
    /// Whether no client gets this field of an answer: it is for us alone, or carries tags that the site does not pass on.
    pub fn ends_here(&self, name: &HeaderName) -> bool {
        is_for_us(name) || (surrogate::carries_tags(name) && !self.purge.pass_tags.contains(name))
    }
}

/// Whether a field of an answer is for us alone, whatever the site says.
pub fn is_for_us(name: &HeaderName) -> bool {
    *name == surrogate::CONTROL || *name == freshness::REVERSE_PROXY_TTL
}

/// The refetch of what a soft purge touched, the busiest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refetch {
    /// The most responses fetched after one purge.
    pub most: usize,
    /// The most fetches begun per second.
    pub rate: u32,
}

/// What answers tell about how they were made.
#[derive(Debug, Clone)]
pub struct Report {
    /// Whether answers have `Cache-Status`.
    pub cache_status: bool,
    /// Whether `Cache-Status` has `key`.
    pub key: bool,
    /// A field in nginx's style, e.g. `X-Cache-Status: HIT`.
    pub x_cache: Option<HeaderName>,
    /// A field that names this node.
    pub node: Option<(HeaderName, HeaderValue)>,
}

/// One route: which requests match, and the policy for them.
#[derive(Debug, Clone)]
pub struct Route {
    /// The name in the configuration or, if it has none there, a name by its position; for `explain` and logs.
    pub name: String,
    /// The route's name in keys that it is part of: a [digest](crate::routing::digest), and after it the name in the
    /// configuration.
    pub keyed: String,
    /// Which requests take it, unless an earlier route matches.
    pub matcher: Matcher,
    /// The policy for them; shared by routes with equal policies.
    pub policy: Arc<Policy>,
}

/// Which requests a route is for. Each list must match; a list matches if one entry does, or if it is empty.
#[derive(Debug, Default, Clone)]
pub struct Matcher {
    /// Hosts, without port.
    pub hosts: Vec<HostPattern>,
    /// Normalised paths, without query.
    pub paths: Vec<PathPattern>,
    /// Methods, case-sensitive (RFC 9110 section 9.1); `GET` includes `HEAD`.
    pub methods: Vec<Method>,
    /// Request header fields.
    pub headers: Vec<FieldPattern>,
    /// Cookies of the request.
    pub cookies: Vec<NamePattern>,
    /// Query parameters, as the client wrote them.
    pub query: Vec<NamePattern>,
    /// Networks of the client. A client on a Unix socket is in none.
    pub clients: Vec<IpNet>,
}

/// The policy of a route.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The status with which every request is refused, if set.
    pub refuses: Option<StatusCode>,
    /// Whether plain connections are redirected to HTTPS instead of answered.
    pub redirect_https: bool,
    /// The parts of the cache key.
    pub key: KeySpec,
    /// The most content that is read into the key (`QUERY`, GraphQL), in bytes; 0: none.
    pub largest_content: u64,
    /// The policy for the GraphQL service that answers here, if any.
    pub graphql: Option<GraphQl>,
    /// The path at which the application tells a user's group; `None`: it has no groups.
    pub user_context: Option<String>,
    /// If false, everything on the route bypasses the store.
    pub cache: bool,
    /// When the store is neither asked nor filled.
    pub bypass: BypassRules,
    /// Whether clients may force a fetch (`no-cache`, `max-age=0`, `Pragma`).
    pub client_may_force: bool,
    /// How long past their lifetime answers may still be sent.
    pub stale: Stale,
    /// How long a follower waits for its leader's head before it fetches on its own.
    pub collapse_wait: Duration,
    /// The origin that answers what the store does not.
    pub origin: Arc<origin::Origin>,
    /// What the origin gets in place of what the client sent.
    pub to_origin: ToOrigin,
    /// How long answers are fresh if the origin does not say, or whatever it says.
    pub lifetime: Lifetime,
    /// How answers with `Set-Cookie` are treated.
    pub set_cookie: SetCookie,
    /// The largest body that is stored, in bytes.
    pub largest_body: u64,
    /// What is compressed, and how; `None`: nothing.
    pub compress: Option<Compress>,
    /// Which answers are composed of fragments.
    pub esi: Esi,
    /// How long an include may take to bring its head.
    pub fragment_wait: Duration,
    /// What clients get in place of what the origin sent or the store holds.
    pub to_client: ToClient,
}

/// What an origin gets in place of what the client sent.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ToOrigin {
    /// The `Host`, in place of the client's.
    pub host: Option<HeaderValue>,
    /// Fields that are forwarded although they are dangerous if not keyed (`X-Forwarded-Host`, …).
    pub pass_fields: Vec<HeaderName>,
    /// Made last, in order, on every request.
    pub edits: Vec<Edit>,
}

/// What clients get in place of what the origin sent. None of it changes what is stored.
#[derive(Debug, Default, Clone)]
pub struct ToClient {
    /// The lifetime they are told in place of the origin's: `Cache-Control: max-age=…`.
    pub browser_ttl: Option<Duration>,
    /// Made last, in order, on every answer.
    pub edits: Vec<Edit>,
}

impl ToClient {
    /// Whether clients get answers as they are.
    pub fn changes_nothing(&self) -> bool {
        let Self { browser_ttl, edits } = self;
        browser_ttl.is_none() && edits.is_empty()
    }
}

/// Which answers are written in ESI, and composed before they are sent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Esi {
    /// None. Origins are not told that this cache supports it.
    Off,
    /// Answers that say so: `Surrogate-Control: content="ESI/1.0"`.
    #[default]
    Told,
    /// These, and all HTML and XML.
    On,
}

/// The parts of the cache key, besides the path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a setting that people switch by itself"
)]
pub struct KeySpec {
    /// Whether `http` and `https` have separate keys.
    pub scheme: bool,
    /// Whether hosts have separate keys.
    pub host: bool,
    /// The query parameters that count, among those that `drop` leaves. Others are not sent to the origin.
    pub query: QueryChoice,
    /// The query parameters that are left after dropping, whatever `query` says: `All` or `Except`. Dropped parameters
    /// are not sent to the origin either.
    pub drop: QueryChoice,
    /// Whether parameters are sorted by name, so that their order does not count.
    pub sort: bool,
    /// Request header fields whose values count.
    pub headers: Vec<HeaderName>,
    /// Names of cookies whose values count.
    pub cookies: Vec<String>,
    /// Whether the other cookies are withheld from the origin if its answer may be stored. They select no variant
    /// either.
    pub drop_cookies: bool,
}

/// When the store is neither asked nor filled: one entry of any list suffices.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct BypassRules {
    /// The request has one of these cookies.
    pub cookies: Vec<NamePattern>,
    /// The request has one of these header fields.
    pub headers: Vec<FieldPattern>,
    /// The path is one of these.
    pub paths: AnyPath,
    /// The method is one of these.
    pub methods: Vec<Method>,
    /// The query has one of these parameters.
    pub query: Vec<NamePattern>,
    /// The request has one of these cookies and misses: it may get what others stored, but its own answer is not
    /// stored.
    pub misses_with: Vec<NamePattern>,
    /// The response sets one of these cookies, and is not stored: it was made for the client that gets the cookie.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Replaces all lines of the field with this line.
    Set(HeaderName, HeaderValue),
    /// Adds this line to those of the field.
    Add(HeaderName, HeaderValue),
    /// Removes all lines of the field.
    Remove(HeaderName),
}

impl Edit {
    /// The field that is changed.
    pub const fn name(&self) -> &HeaderName {
        match self {
            Self::Set(name, _) | Self::Add(name, _) | Self::Remove(name) => name,
        }
    }
}
