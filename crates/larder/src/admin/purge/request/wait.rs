//! Reads whether a purge waits for the other nodes.

use crate::config::value::{Word, Wrong};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{borrow::Cow, fmt, time::Duration};

/// How long a purge waits for the other nodes by default: for longer than for a node that has died, which is waited for
/// as long as it may trust what it keeps, and a second more.
pub const USUAL_WAIT: Duration = Duration::from_secs(12);

/// Whether, and how long, an answer waits for the other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// At most this long.
    For(Duration),
}

impl<'de> Deserialize<'de> for Wait {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WaitVisitor)
    }
}

struct WaitVisitor;

impl de::Visitor<'_> for WaitVisitor {
    type Value = Wait;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or a duration such as \"30s\"")
    }

    fn visit_bool<E: de::Error>(self, wait: bool) -> Result<Wait, E> {
        Ok(if wait {
            Wait::For(USUAL_WAIT)
        } else {
            Wait::No
        })
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Wait, E> {
        let wrong = |wrong: Wrong| E::custom(wrong.what);
        Duration::parse(text).map(Wait::For).map_err(wrong)
    }
}

impl Serialize for Wait {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::No => serializer.serialize_bool(false),
            Self::For(time) => serializer.collect_str(&humantime::format_duration(*time)),
        }
    }
}

impl JsonSchema for Wait {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Wait".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["boolean", "string"], "examples": [true, "30s"] })
    }
}
