//! What a file says: every key as written, with its place. The schema and the reference page are made from the doc
//! comments here, so they speak to the person who writes the file.
//!
//! `#[schemars(extend("default" = …))]` states the default; a test holds it against what an empty file means.

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
    /// Where clients connect: addresses, or `[[listen]]` tables where more is to say. `:80` is every IPv4 address of the
    /// machine, `[::]:80` every address.
    #[schemars(extend("default" = ["127.0.0.1:8080"]))]
    pub listen: Option<Many<Brief<Listen>>>,
    /// Address of metrics, health and `larder explain`: an address with a port, or `"off"`. Keep it away from strangers.
    #[schemars(extend("default" = "127.0.0.1:9180"))]
    pub admin: Option<Text<Admin>>,
    /// Worker threads. One for each core where nothing is said.
    #[schemars(range(min = 1, max = 1024), extend("examples" = [4]))]
    pub workers: Option<At<Count>>,
    /// Our name in `Via` and `Cache-Status`.
    #[schemars(extend("default" = "larder"))]
    pub name: Option<Text<Token>>,
    /// Networks of proxies and load balancers in front of Larder. Their `X-Forwarded-*` and `Forwarded` are believed and
    /// passed on; everybody else's are replaced. Who asks, for routes and the access log, is whom they name: in `X-Forwarded-For`, or
    /// where that is not there in `Forwarded` (RFC 7239), with or without a port.
    #[schemars(extend("default" = []))]
    pub trusted: Option<Many<Text<IpNet>>>,
    /// Fields that speak to this cache alone, the first one found wins over `Cache-Control` (RFC 9213).
    #[schemars(extend("default" = ["Surrogate-Control", "CDN-Cache-Control"], "examples" = [["CDN-Cache-Control"]]))]
    pub targeted_fields: Option<Many<Text<HeaderName>>>,
    /// The store in memory.
    pub memory: Option<Memory>,
    /// The store on disk.
    pub disk: Option<At<Disk>>,
    /// The store that several nodes share.
    pub shared: Option<At<Shared>>,
    /// Who may purge, and how purges last.
    pub purge: Option<Purge>,
    /// What one client may cost.
    pub limits: Option<Limits>,
    /// What answers tell of how they were made.
    pub report: Option<Report>,
    /// Logs.
    pub log: Option<Log>,
    /// The applications behind Larder.
    pub origin: Option<Vec<At<Origin>>>,
    /// What holds on every route that does not say otherwise. A key that a route writes replaces the one here whole,
    /// tables and lists too.
    pub defaults: Option<Defaults>,
    /// What holds where. The first route that matches a request wins; a last one that matches everything is always there.
    pub route: Option<Vec<At<Route>>>,
}
