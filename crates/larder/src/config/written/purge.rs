//! Purging, as written.

use crate::config::value::{
    At, Chosen, Count, Many, MissStatus, PathStart, PeerUrl, SecretField, SecretValue, TagField,
    Text,
};
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// Who may purge on the listeners, as the purge clients of applications do, and how purges are kept. The admin API
/// accepts purges from everybody who can reach it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Purge {
    /// Addresses and networks of the clients that may purge. Other clients get 405.
    #[schemars(extend("default" = ["127.0.0.0/8", "::1/128"]))]
    pub allow: Option<Many<Text<IpNet>>>,
    /// A header field whose sender may purge from any address.
    pub secret: Option<At<Secret>>,
    /// Directory in which purges are recorded, so that they survive a restart. If not set, the one of `disk`; without
    /// `disk`, purges are not recorded.
    #[schemars(with = "Option<String>", extend("examples" = ["/var/lib/larder"]))]
    pub log: Option<At<PathBuf>>,
    /// Whether a purge is acknowledged only once it would survive a power loss.
    #[schemars(extend("default" = true))]
    pub durable: Option<At<bool>>,
    /// Fields with tags that are passed on to clients. Other fields with tags are meant for caches and are removed.
    #[schemars(extend("default" = []))]
    pub pass_tags: Option<Many<Text<TagField>>>,
    /// A `GET` whose path begins with this purges the URL that follows. Off if not set.
    #[schemars(extend("examples" = ["/purge"]))]
    pub get_prefix: Option<Text<PathStart>>,
    /// Path of the purging API of Souin. Off if not set.
    #[schemars(extend("examples" = ["/souin-api/souin"]))]
    pub souin: Option<Text<PathStart>>,
    /// Status for a client that purges one URL for which nothing was stored: 200, 404 or 412.
    #[schemars(extend("default" = 200, "enum" = [200, 404, 412]))]
    pub miss_status: Option<At<Chosen<MissStatus>>>,
    /// Fetch again the most requested URLs that a soft purge touched. Off if not set.
    pub refresh: Option<Refresh>,
    /// Admin addresses of the other nodes, to which purges are sent on. Nodes that share Redis learn of purges through
    /// it.
    pub peers: Option<Many<Text<PeerUrl>>>,
}

/// A secret header field for clients that may purge.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["header", "value"]))]
pub struct Secret {
    /// The name of the field.
    #[schemars(extend("examples" = ["X-Purge-Key"]))]
    pub header: Option<Text<SecretField>>,
    /// The value of the field: at least 8 characters, chosen at random.
    #[schemars(extend("minLength" = 8))]
    pub value: Option<Text<SecretValue>>,
}

/// What is fetched again after a soft purge.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Refresh {
    /// URLs fetched for each purge, at most 1000.
    #[schemars(extend("default" = 100))]
    pub most: Option<At<Count<1, 1000>>>,
    /// Fetches each second.
    #[schemars(extend("default" = 10))]
    pub rate: Option<At<Count<1>>>,
}
