//! The tiers below memory, as written.

use crate::config::value::{At, SharedUrl, Size, Text, Token};
use schemars::JsonSchema;
use serde::Deserialize;
use std::{path::PathBuf, time::Duration};

/// The store on disk: bigger than memory, and there again after a restart. Off without this table.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["path"]))]
pub struct Disk {
    /// Its directory, for one Larder alone; made where it is missing, as long as its parent is there.
    #[schemars(with = "Option<String>", extend("examples" = ["/var/cache/larder"]))]
    pub path: Option<At<PathBuf>>,
    /// Bytes that all files together may take. A hard limit; at least 64 MiB.
    #[schemars(extend("default" = "10GiB"))]
    pub size: Option<Text<Size>>,
    /// Bytes that may be written a second, so that a scan does not wear the device out. Where nothing is said there is no
    /// limit, but for 64 MiB of what memory has no more room for.
    #[schemars(extend("examples" = ["50MiB"]))]
    pub write_rate: Option<Text<Size>>,
}

/// The store that several nodes share: Redis, Valkey or memcached. Off without this table.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["url"]))]
pub struct Shared {
    /// Where it is: `redis://`, `rediss://` (TLS), `redis+unix://`, `redis-sentinel://`, `redis-cluster://` or
    /// `memcached://a,b,c`.
    pub url: Option<Text<SharedUrl>>,
    /// Nothing on the way of a request waits longer for it, large bodies included.
    #[schemars(extend("default" = "50ms"))]
    pub timeout: Option<Text<Duration>>,
    /// Longest time that a response is kept there.
    #[schemars(extend("default" = "1d"))]
    pub max_ttl: Option<Text<Duration>>,
    /// Size of the largest body that is kept there.
    #[schemars(extend("default" = "8MiB"))]
    pub largest_body: Option<Text<Size>>,
    /// How long one node may fetch while the others wait for what it brings.
    #[schemars(extend("default" = "5s"))]
    pub lease: Option<Text<Duration>>,
    /// What the names of keys there begin with. Nodes with the same prefix are one cache.
    #[schemars(extend("default" = "larder"))]
    pub prefix: Option<Text<Token>>,
    /// After so long without news of the other nodes' purges, what is kept is validated before it is used.
    #[schemars(extend("default" = "10s"))]
    pub trust: Option<Text<Duration>>,
    /// This node's name, which no other node has. The host's name where nothing is said.
    #[schemars(extend("examples" = ["edge-1"]))]
    pub node: Option<Text<Token>>,
}
