//! What answers say about themselves, as written.

use crate::config::value::{At, OwnField, Text};
use http::HeaderValue;
use schemars::JsonSchema;
use serde::Deserialize;

/// What answers say about how they were made.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Report {
    /// Whether answers carry `Cache-Status` (RFC 9211): hit or forwarded, the reason, and the lifetime left.
    #[schemars(extend("default" = true))]
    pub cache_status: Option<bool>,
    /// Whether `Cache-Status` also gives the cache key.
    #[schemars(extend("default" = false))]
    pub key: Option<At<bool>>,
    /// Name of a field in nginx's style (`HIT`, `MISS`, `STALE`, …). Off if not set.
    #[schemars(extend("examples" = ["X-Cache-Status"]))]
    pub x_cache: Option<Text<OwnField>>,
    /// Name of this node, sent in the field `node_field`. Off if not set.
    #[schemars(extend("examples" = ["edge-1"]))]
    pub node: Option<Text<HeaderValue>>,
    /// The field that carries `node`.
    #[schemars(extend("default" = "Cache-ID"))]
    pub node_field: Option<Text<OwnField>>,
}
