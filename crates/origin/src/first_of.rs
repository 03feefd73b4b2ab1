//! Several origins in turn: the first that has what is asked for answers.

use crate::{Context, Error, Kind, Origin, RequestBody, ResponseBody, Waited};
use http::{Request, Response};
use http_body::Body as _;
use rules::method::is_retrieval;
use std::sync::Arc;
use tokio::time::Instant;

/// Returns the answer of the first of several origins that has one, or of the last.
pub async fn in_turn(
    origins: &[Arc<Origin>],
    request: Request<RequestBody>,
    context: Context,
) -> Result<Response<ResponseBody>, Error> {
    let Some((last, others)) = origins.split_last() else {
        return Err(Error::new(Kind::Configuration).because("no origin to ask"));
    };
    let began = Instant::now();
    if let Some(found) = Box::pin(first(others, &request, &context)).await {
        return Ok(found);
    }
    let earlier = began.elapsed();
    let answer = last.ask(request, context).await?;
    Ok(Waited::and(answer, earlier))
}

/// Returns the first answer, if the request is one that several may be asked.
async fn first(
    origins: &[Arc<Origin>],
    request: &Request<RequestBody>,
    context: &Context,
) -> Option<Response<ResponseBody>> {
    if !is_retrieval(request.method()) || !request.body().is_end_stream() {
        return None;
    }
    let all_began = Instant::now();
    for origin in origins {
        let began = Instant::now();
        let found = origin.try_fetch(request, context).await;
        origin.latency.count(began.elapsed());
        if let Some(found) = found {
            return Some(Waited::and(found, began - all_began));
        }
    }
    None
}
