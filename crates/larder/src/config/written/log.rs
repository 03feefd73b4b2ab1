//! Logs, as written.

use crate::config::{meant::AccessTarget, value::Text};
use schemars::JsonSchema;
use serde::Deserialize;

/// Logs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// Where the access log goes: `"off"`, `"stdout"`, or the path of a file.
    #[schemars(extend("default" = "off"))]
    pub access: Option<Text<AccessTarget>>,
    /// Format of a line of the access log.
    #[schemars(with = "Option<AccessFormat>", extend("default" = "combined"))]
    pub format: Option<AccessFormat>,
    /// What Larder logs about itself on standard error.
    #[schemars(with = "Option<Level>", extend("default" = "info"))]
    pub level: Option<Level>,
}

/// Format of a line of the access log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum AccessFormat {
    /// Apache's and nginx's `combined`, followed by how the answer was made.
    #[default]
    Combined,
    /// One JSON object.
    Json,
}

/// What Larder logs about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Level {
    /// Only what prevents something from working.
    Error,
    /// Also what an operator should look at.
    Warn,
    /// Also what Larder does: starting, stopping, reloading.
    #[default]
    Info,
}
