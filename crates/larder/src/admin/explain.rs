//! `/explain`: why a URL is or is not answered from the store.

use super::{
    Refusal, State,
    answer::{Answer, answer},
    purge::Bad,
    redirects::sends_on,
};
use axum::{
    Json,
    extract::{Query, State as AppState, rejection::QueryRejection},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
};
use std::sync::Arc;

/// Answers `url=…` with any number of `header=Name: value`.
pub(super) async fn explain(
    AppState(state): AppState<Arc<State>>,
    query: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Json<Answer>, Refusal> {
    let Query(pairs) = query.map_err(|error| bad(error.body_text()))?;
    let (url, fields) = read(pairs)?;
    // All listeners have the same.
    let limits = state.connections.first().map(|all| all.limits());
    let limits = limits.unwrap_or_default();
    let explanation = proxy::explain::explain(&state.cache, &url, &fields, &limits).await;
    let mut explanation = explanation.ok_or_else(|| bad(Bad::Url(url.clone()).to_string()))?;
    explanation.redirected |= sends_on(&state.plain.load(), &url);
    Ok(Json(answer(url, explanation)))
}

fn bad(what: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, what)
}

fn read(pairs: Vec<(String, String)>) -> Result<(String, HeaderMap), Refusal> {
    let mut url = None;
    let mut fields = HeaderMap::new();
    for (name, value) in pairs {
        match name.as_str() {
            "url" if url.is_none() => url = Some(value),
            "url" => return Err(bad("url is given twice; write & in it as %26")),
            "header" => {
                let (name, value) = field(&value).ok_or_else(|| {
                    bad(format!(
                        "`{value}` is not a header field; write Name: value"
                    ))
                })?;
                fields.append(name, value);
            }
            _ => {
                return Err(bad(format!(
                    "`{name}` is not known here, only url and header; write & in a URL as %26"
                )));
            }
        }
    }
    let url = url.ok_or_else(|| bad("which URL? add ?url=http://host/path"))?;
    Ok((url, fields))
}

fn field(text: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = text.split_once(':')?;
    Some((name.parse().ok()?, value.trim().parse().ok()?))
}
