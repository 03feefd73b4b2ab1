//! What a file says: every key as written, with its place. The JSON schema and the reference page are generated from
//! the doc comments here, so they address the person who writes the file.
//!
//! `#[schemars(extend("default" = …))]` states the default; a test compares it with what an empty file means.

mod limits;
mod listen;
mod log;
mod origin;
mod policy;
mod purge;
mod report;
mod tables;
mod tiers;

pub use limits::{Limits, Memory};
pub use listen::{Certificate, Listen, Mode};
pub use log::{AccessFormat, Level, Log};
pub use origin::{
    Balance, Format, Health, Origin, Passive, Protocol, Queue, Retry, Server, ServerTls, Timeouts,
};
pub use policy::{Defaults, Route};
pub use purge::{Purge, Refresh, Secret};
pub use report::Report;
pub use tables::{Bypass, Edits, GraphQl, Key, Operation, Preset, SetCookie, Stale, TtlMode};
pub use tiers::{Disk, Shared};

use super::meant::Admin;
use super::value::{At, Brief, Count, Many, Text, Token};
use http::HeaderName;
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Deserialize;

/// Configuration of Larder. Every key may be left out.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "Larder")]
pub struct Config {
    /// Where clients connect: addresses, or `[[listen]]` tables for more settings. `:80` is every IPv4 address of the
    /// machine, `[::]:80` every address.
    #[schemars(extend("default" = ["127.0.0.1:8080"]))]
    pub listen: Option<Many<Brief<Listen>>>,
    /// Address of metrics, health and `larder explain`, with a port, or `"off"`. Strangers must not reach it.
    #[schemars(extend("default" = "127.0.0.1:9180"))]
    pub admin: Option<Text<Admin>>,
    /// Worker threads. If not set, one for each core.
    #[schemars(range(max = 1024), extend("examples" = [4]))]
    pub workers: Option<At<Count<1>>>,
    /// Larder's name in `Via` and `Cache-Status`.
    #[schemars(extend("default" = "larder"))]
    pub name: Option<Text<Token>>,
    /// Networks of the proxies and load balancers in front of Larder. Their `X-Forwarded-*` and `Forwarded` are
    /// believed and passed on; those of all other clients are replaced. For routes and the access log, the client is
    /// the address that they give in `X-Forwarded-For`, or without that field in `Forwarded` (RFC 7239), with or
    /// without a port.
    #[schemars(extend("default" = []))]
    pub trusted: Option<Many<Text<IpNet>>>,
    /// Fields that address this cache alone. The first one that is present takes precedence over `Cache-Control` (RFC
    /// 9213).
    #[schemars(extend("default" = ["Surrogate-Control", "CDN-Cache-Control"], "examples" = [["CDN-Cache-Control"]]))]
    pub targeted_fields: Option<Many<Text<HeaderName>>>,
    /// The store in memory.
    pub memory: Option<Memory>,
    /// The store on disk.
    pub disk: Option<At<Disk>>,
    /// The store that several nodes share.
    pub shared: Option<At<Shared>>,
    /// Who may purge, and how purges are kept.
    pub purge: Option<Purge>,
    /// Limits on what one client may cost.
    pub limits: Option<Limits>,
    /// What answers say about how they were made.
    pub report: Option<Report>,
    /// Logs.
    pub log: Option<Log>,
    /// The applications behind Larder.
    pub origin: Option<Vec<At<Origin>>>,
    /// Settings of every route that does not set them itself. A key of a route replaces the same key here as a whole,
    /// also if it is a table or a list.
    pub defaults: Option<Defaults>,
    /// Settings for some of the requests. The first route that matches a request applies. A last route that matches
    /// everything always exists.
    pub route: Option<Vec<At<Route>>>,
}
