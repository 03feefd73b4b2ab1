//! The tiers below memory, as written.

use crate::config::value::{At, DiskSize, SharedUrl, Size, Text, TimeLimit, Token, WriteRate};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// The store on disk. It is larger than memory and survives a restart. Off without this table.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["path"]))]
pub struct Disk {
    /// The directory, for one Larder alone. Created if it is missing, provided that its parent exists.
    #[schemars(with = "Option<String>", extend("examples" = ["/var/cache/larder"]))]
    pub path: Option<At<PathBuf>>,
    /// Size of all files together. A hard limit, at least 64 MiB.
    #[schemars(extend("default" = "10GiB"))]
    pub size: Option<Text<DiskSize>>,
    /// Bytes that may be written each second, so that a scan does not wear out the device. If not set, there is no
    /// limit, except 64 MiB each second for what memory evicts.
    #[schemars(extend("examples" = ["50MiB"]))]
    pub write_rate: Option<Text<WriteRate>>,
}

/// The store that several nodes share: Redis, Valkey or memcached. Off without this table.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["url"]))]
pub struct Shared {
    /// Its address: `redis://`, `rediss://` (TLS), `redis+unix://`, `redis-sentinel://`, `redis-cluster://` or
    /// `memcached://a,b,c`.
    pub url: Option<Text<SharedUrl>>,
    /// The longest time that a request waits for it, also for large bodies.
    #[schemars(extend("default" = "50ms"))]
    pub timeout: Option<Text<TimeLimit>>,
    /// Longest time that a response is kept in it.
    #[schemars(extend("default" = "1d"))]
    pub max_ttl: Option<Text<TimeLimit>>,
    /// Size of the largest body that is kept in it.
    #[schemars(extend("default" = "8MiB"))]
    pub largest_body: Option<Text<Size>>,
    /// How long one node may fetch while the others wait for the response.
    #[schemars(extend("default" = "5s"))]
    pub lease: Option<Text<TimeLimit>>,
    /// What the names of keys in it begin with. Nodes with the same prefix are one cache.
    #[schemars(extend("default" = "larder"))]
    pub prefix: Option<Text<Token>>,
    /// After this time without news of the other nodes' purges, stored responses are validated before they are used.
    #[schemars(extend("default" = "10s"))]
    pub trust: Option<Text<TimeLimit>>,
    /// The name of this node. No other node may have the same. If not set, the name of the host.
    #[schemars(extend("examples" = ["edge-1"]))]
    pub node: Option<Text<Token>>,
}
