//! `GET /purges`: reports what was purged, for programs that keep pages elsewhere.

use super::{Refusal, State, slots::ConnectionSlot};
use crate::config::value::Word;
use axum::{
    Json,
    extract::{ConnectInfo, Query, State as AppState, rejection::QueryRejection},
    http::StatusCode,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};
use store::purge::{Cursor, Purge, Since};
use tokio::time::timeout;

/// The longest wait that can be requested.
pub const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// The most purges in one answer.
const MOST: usize = 1000;

/// The parameters of the request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    after: Option<String>,
    wait: Option<String>,
}

/// The purges on this node after a cursor.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "Purges")]
pub struct Purges {
    /// The value of `after` in the next request.
    pub cursor: String,
    /// Purges were missed: they are too old, or this node has forgotten them. Anything may have been purged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missed: bool,
    /// At most 1000 purges, the oldest first, as nodes write them to each other.
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub purges: Vec<serde_json::Value>,
}

impl From<Since> for Purges {
    fn from(since: Since) -> Self {
        // The text of a purge is always JSON.
        let written = |purge: &Purge| serde_json::from_str(&purge.to_text()).unwrap_or_default();
        Self {
            cursor: since.cursor.to_string(),
            missed: since.missed,
            purges: since.purges.iter().map(written).collect(),
        }
    }
}

/// Reports what was purged, at once or when a purge comes.
pub(super) async fn purges(
    AppState(state): AppState<Arc<State>>,
    ConnectInfo(slot): ConnectInfo<ConnectionSlot>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Json<Purges>, Refusal> {
    let bad = |what: String| Refusal::new(StatusCode::BAD_REQUEST, what);
    let Query(asked) = asked.map_err(|error| bad(error.body_text()))?;
    let log = state.cache.memory.log();
    let Some(after) = asked.after else {
        return Ok(Json(log.since(None, MOST).into()));
    };
    // A cursor of another age or kind: its owner may have missed anything.
    let Ok(after) = after.parse::<Cursor>() else {
        let since = log.since(None, MOST);
        return Ok(Json(
            Since {
                missed: true,
                ..since
            }
            .into(),
        ));
    };
    let wait = asked.wait.as_deref().map(Duration::parse).transpose();
    let wait = wait.map_err(|wrong| bad(wrong.what))?.unwrap_or_default();
    if wait > LONGEST_WAIT {
        return Err(bad("a wait lasts a minute at most".to_owned()));
    }
    if !wait.is_zero() {
        slot.wait()?;
    }
    let waited = timeout(wait, log.since_wait(after, MOST)).await;
    let since = waited.unwrap_or_else(|_| log.since(Some(after), MOST));
    Ok(Json(since.into()))
}
