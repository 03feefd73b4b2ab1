//! Purging as written.

use crate::config::value::{At, Count, Many, PathStart, PeerUrl, SecretField, TagField, Text};
use http::HeaderValue;
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// Who may purge on the listeners, as the purge clients of applications do, and how purges last. The admin API takes purges
/// from everybody who reaches it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Purge {
    /// Addresses and networks whose clients may purge. Everybody else is answered 405.
    #[schemars(extend("default" = ["127.0.0.0/8", "::1/128"]))]
    pub allow: Option<Many<Text<IpNet>>>,
    /// A header field that allows its sender to purge, from any address.
    pub secret: Option<At<Secret>>,
    /// Directory in which purges are remembered over a restart. That of `disk` where nothing is said; nowhere without one.
    #[schemars(with = "Option<String>", extend("examples" = ["/var/lib/larder"]))]
    pub log: Option<At<PathBuf>>,
    /// Whether a purge is acknowledged only when it would survive a power loss.
    #[schemars(extend("default" = true))]
    pub durable: Option<At<bool>>,
    /// Fields with tags that are passed on to clients; the others speak to caches alone.
    #[schemars(extend("default" = []))]
    pub pass_tags: Option<Many<Text<TagField>>>,
    /// A `GET` whose path begins so purges the URL behind it. Off where nothing is said.
    #[schemars(extend("examples" = ["/purge"]))]
    pub get_prefix: Option<Text<PathStart>>,
    /// Where the purging API of Souin is. Off where nothing is said.
    #[schemars(extend("examples" = ["/souin-api/souin"]))]
    pub souin: Option<Text<PathStart>>,
    /// Status for a client that purges one URL of which nothing was stored: 200, 404 or 412.
    #[schemars(extend("default" = 200, "enum" = [200, 404, 412]))]
    pub miss_status: Option<At<Count>>,
    /// Fetch the busiest URLs again that a soft purge touched. Off where nothing is said.
    pub refresh: Option<Refresh>,
    /// Admin addresses of the other nodes, to which purges are sent on. Where Redis is shared, nodes hear of purges by it.
    pub peers: Option<Many<Text<PeerUrl>>>,
}

/// A header field that only those know who may purge.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["header", "value"]))]
pub struct Secret {
    /// Its name.
    #[schemars(extend("examples" = ["X-Purge-Key"]))]
    pub header: Option<Text<SecretField>>,
    /// Its value: at least 8 characters, chosen at random.
    #[schemars(extend("examples" = [], "minLength" = 8))]
    pub value: Option<Text<HeaderValue>>,
}

/// What is fetched again after a soft purge.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Refresh {
    /// URLs for each purge, at most 1000.
    #[schemars(range(min = 1, max = 1000), extend("default" = 100))]
    pub most: Option<At<Count>>,
    /// Fetches a second.
    #[schemars(range(min = 1), extend("default" = 10))]
    pub rate: Option<At<Count>>,
}
