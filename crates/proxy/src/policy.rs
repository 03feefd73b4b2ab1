//! The site's say as plain values: what the configuration means, ready for the walk. Made by `larder`, read-only here.

use http::{HeaderName, HeaderValue, Method};
use ipnet::IpNet;
use rules::{
    key::QueryChoice,
    storable::SetCookie,
};
use std::{sync::Arc, time::Duration};

/// Everything the walk asks of the configuration. Swapped whole on reload.
#[derive(Debug)]
pub struct Site {
    /// First match wins; the last one matches everything.
    pub routes: Vec<Route>,
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
#[derive(Debug)]
pub struct Route {
    /// The name in the configuration, for `explain` and logs.
    pub name: String,
    pub matcher: Matcher,
    pub policy: Arc<Policy>,
}

/// All of these must hold; an empty list holds always.
#[derive(Debug, Default)]
pub struct Matcher {
    /// Lower case; `*.example.com` matches subdomains.
    pub hosts: Vec<HostPattern>,
    pub paths: Vec<PathPattern>,
    pub methods: Vec<Method>,
    pub headers: Vec<FieldPattern>,
    pub cookies: Vec<NamePattern>,
    pub query: Vec<NamePattern>,
    pub clients: Vec<IpNet>,
}

#[derive(Debug, Clone)]
pub enum HostPattern {
    Exact(String),
    Suffix(String),
    Any,
}
#[derive(Debug, Clone)]
pub enum PathPattern {
    Exact(String),
    Prefix(String),
    /// `*` within a segment, `**` across.
    Wildcard(regex::Regex),
    Regex(regex::Regex),
}
/// A header by name, and its value where asked.
#[derive(Debug, Clone)]
pub struct FieldPattern {
    pub name: HeaderName,
    pub value: Option<regex::Regex>,
}
/// A cookie or parameter by name, and its value where asked.
#[derive(Debug, Clone)]
pub struct NamePattern {
    pub name: TextPattern,
    pub value: Option<regex::Regex>,
}
#[derive(Debug, Clone)]
pub enum TextPattern {
    Exact(String),
    Prefix(String),
    Regex(regex::Regex),
}

/// What holds on a route.
#[derive(Debug)]
pub struct Policy {
    pub origin: Arc<origin::Origin>,
    /// `Host` towards the origin: the client's, or this.
    pub host: Option<HeaderValue>,
    /// Off: everything here is bypassed.
    pub cache: bool,
    pub lifetime: Lifetime,
    pub stale: Stale,
    pub key: KeySpec,
    pub bypass: Bypass,
    pub set_cookie: SetCookie,
    /// Whether clients may force a fetch (`no-cache`, `max-age=0`, `Pragma`).
    pub client_may_force: bool,
    /// Largest body stored, in bytes.
    pub largest_body: u64,
    /// Lifetime told to clients instead of the origin's: `Cache-Control: max-age=…`.
    pub browser_ttl: Option<Duration>,
    /// How long a follower waits for its leader's head before it fetches on its own.
    pub collapse_wait: Duration,
    pub request_edits: Vec<Edit>,
    pub response_edits: Vec<Edit>,
    /// Request fields passed although they are dangerous when not keyed (`X-Forwarded-Host`, …).
    pub pass_fields: Vec<HeaderName>,
    /// Redirect to HTTPS instead of answering on plain connections.
    pub redirect_https: bool,
}

/// Lifetimes by status, as nginx's `proxy_cache_valid`.
#[derive(Debug, Default, Clone)]
pub struct Lifetime {
    pub mode: LifetimeMode,
    /// First match wins.
    pub by_status: Vec<(StatusPattern, Duration)>,
    /// RFC 9111 section 4.2.2.
    pub heuristic: bool,
}
/// How `by_status` stands to what the origin says.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum LifetimeMode {
    /// Only where the origin gives no explicit lifetime.
    #[default]
    Default,
    /// As `Default`, and in place of the origin's for static types (styles, scripts, images, fonts, media).
    Static,
    /// In place of whatever the origin says.
    Override,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusPattern {
    Exact(u16),
    /// `4xx`: the hundred's digit.
    Class(u8),
    Any,
}

/// Windows past the lifetime where the origin names none.
#[derive(Debug, Default, Clone, Copy)]
pub struct Stale {
    pub while_revalidate: Option<Duration>,
    pub if_error: Option<Duration>,
    pub unreachable: Duration,
}

/// What makes up the cache key.
#[derive(Debug, Clone)]
pub struct KeySpec {
    pub scheme: bool,
    pub host: bool,
    pub query: QueryChoice,
    /// What is left after dropping parameters, whatever `query` says: `All` or `Except`. What is dropped is not sent to the
    /// origin either.
    pub drop: QueryChoice,
    pub sort: bool,
    pub headers: Vec<HeaderName>,
    pub cookies: Vec<String>,
}

/// When the store is neither asked nor filled.
#[derive(Debug, Default, Clone)]
pub struct Bypass {
    pub cookies: Vec<NamePattern>,
    pub headers: Vec<FieldPattern>,
    pub paths: Vec<PathPattern>,
    pub methods: Vec<Method>,
    pub query: Vec<NamePattern>,
}

/// One change of a header.
#[derive(Debug, Clone)]
pub enum Edit {
    Set(HeaderName, HeaderValue),
    Add(HeaderName, HeaderValue),
    Remove(HeaderName),
}
