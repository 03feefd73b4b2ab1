//! `POST /purge`: reads from JSON what to purge, and answers with the result.
//!
//! A page in a browser cannot purge: before it sends JSON to another host, the browser asks for permission (CORS), and
//! never gets it.

mod request;
mod understood;

pub use request::{Bad, LONGEST_WAIT, Request, USUAL_WAIT, Wait};
pub use understood::{Answer, Understood};

use super::{Refusal, State, slots::ConnectionSlot};
use axum::{
    Json,
    body::{Body, Bytes},
    extract::{ConnectInfo, State as AppState},
    http::{HeaderMap, StatusCode, header},
};
use http_body_util::{BodyExt, Collected, LengthLimitError, Limited};
use std::{sync::Arc, time::Duration};
use store::{PurgeError, purge::TooMany};
use tokio::time::timeout;

/// The largest body of a request, in bytes: some ten thousand long tags.
pub const LARGEST: usize = 1 << 20;

/// The bytes that nodes write around a purge of that size when they send it on.
const AROUND: usize = 1 << 10;

/// How long a body may take to arrive.
const READ: Duration = Duration::from_secs(10);

/// The seconds after which it makes sense to ask the shared log again.
const AGAIN: u32 = 2;

/// Purges what the request names.
pub(super) async fn purge(
    AppState(state): AppState<Arc<State>>,
    ConnectInfo(slot): ConnectInfo<ConnectionSlot>,
    fields: HeaderMap,
    body: Body,
) -> Result<Json<Answer>, Refusal> {
    if !is_json(&fields) {
        let what = "a purge is JSON: send it with Content-Type: application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, what));
    }
    let body = read(body).await?;
    let request = Request::read(&body).map_err(bad)?;
    let wait = request.wait().map_err(bad)?;
    let purges = request.purges(&state.cache.site.load()).map_err(bad)?;
    let understood = Understood::of(&purges);
    let soft = purges.iter().all(|purge| purge.soft);
    let answer = if request.relay == Some(false) {
        state.cache.purge_here(purges, request.asker()).await
    } else {
        slot.wait()?;
        state.cache.purge(purges, wait).await
    };
    let answer = answer.map_err(|error| refusal(&error))?;
    Ok(Json(Answer {
        purged: understood,
        soft,
        touched: answer.touched,
        on_disk: answer.on_disk,
        sequence: answer.sequence,
        behind: answer.behind,
    }))
}

fn is_json(fields: &HeaderMap) -> bool {
    let value = fields.get(header::CONTENT_TYPE);
    let text = value.and_then(|value| value.to_str().ok());
    let kind = text.and_then(|text| text.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

async fn read(body: Body) -> Result<Bytes, Refusal> {
    let read = timeout(READ, Limited::new(body, LARGEST + AROUND).collect());
    let Ok(read) = read.await else {
        let what = "the body did not come whole in time";
        return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, what));
    };
    read.map(Collected::to_bytes).map_err(|error| {
        if error.is::<LengthLimitError>() {
            let what = format!("more than {LARGEST} bytes: purge in several requests");
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, what)
        } else {
            Refusal::new(StatusCode::BAD_REQUEST, "the body broke off")
        }
    })
}

#[allow(clippy::needless_pass_by_value, reason = "an adaptor for map_err")]
fn bad(bad: Bad) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, bad.to_string())
}

fn refusal(error: &PurgeError) -> Refusal {
    let what = error.to_string();
    match error {
        PurgeError::TooMany(_) => {
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, what).again_in(TooMany::AGAIN)
        }
        PurgeError::Unreachable(_) => {
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, what).again_in(AGAIN)
        }
        PurgeError::NotDurable(_) => Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, what),
    }
}
