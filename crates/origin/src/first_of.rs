//! Several origins in turn: the first that has what is asked for answers.

use crate::{Context, Error, Kind, Origin, RequestBody, ResponseBody, Waited};
use http::{Request, Response};
use http_body::Body as _;
use rules::{coding::vary_by_coding, method::is_retrieval};
use std::sync::Arc;
use tokio::time::Instant;

/// Why an origin is passed over, and the next one asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassedOver {
    /// It has nothing for the request, or cannot be asked.
    Absent,
    /// It has the page in a coding that this client does not accept. It answers other clients.
    Coding,
}

impl PassedOver {
    /// Says in the answer of a later origin that the `Accept-Encoding` of its request led to it. A client that accepts
    /// the coding would otherwise get it from the store.
    pub(crate) fn tell(self, mut answer: Response<ResponseBody>) -> Response<ResponseBody> {
        if self == Self::Coding {
            vary_by_coding(answer.headers_mut());
        }
        answer
    }
}

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
    let passed = match Box::pin(first(others, &request, &context)).await {
        Ok(found) => return Ok(found),
        Err(passed) => passed,
    };
    let earlier = began.elapsed();
    let answer = last.ask(request, context).await?;
    Ok(Waited::and(passed.tell(answer), earlier))
}

/// Returns the first answer, if the request is one that several may be asked.
async fn first(
    origins: &[Arc<Origin>],
    request: &Request<RequestBody>,
    context: &Context,
) -> Result<Response<ResponseBody>, PassedOver> {
    let mut passed = PassedOver::Absent;
    if !is_retrieval(request.method()) || !request.body().is_end_stream() {
        return Err(passed);
    }
    let all_began = Instant::now();
    for origin in origins {
        let began = Instant::now();
        let found = origin.try_fetch(request, context).await;
        origin.latency.count(began.elapsed());
        match found {
            Ok(found) => return Ok(Waited::and(passed.tell(found), began - all_began)),
            Err(PassedOver::Coding) => passed = PassedOver::Coding,
            Err(PassedOver::Absent) => {}
        }
    }
    Err(passed)
}
