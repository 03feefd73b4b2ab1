//! One request on its own HTTP/2 stream (RFC 9113 section 8.1), until the answer's head.

mod uploading;

use super::send::is_untouched;
use crate::{
    Error, Kind,
    body::Incoming,
    http2,
    leave::Leave,
    link::{Driver, StreamSlot},
    message,
    upload::Outgoing,
    wait::Lost,
};
use h2::client::ResponseFuture;
use http::{HeaderMap, Request, Response, StatusCode, header::TE};
use http_body::Body as _;
use std::future::poll_fn;
use uploading::Unanswered;

/// A head that arrived, the stream that it came on, and the task that sends the request's content, as long as that
/// takes.
pub(super) struct Arrived {
    pub(super) response: Response<Incoming>,
    pub(super) slot: StreamSlot,
    pub(super) uploading: Option<Driver>,
}

/// Sends the request and waits for the head. `told` is called with interim responses. A request that the server had not
/// begun with comes back if its content was [kept](Outgoing::keep).
pub(super) async fn ask(
    mut slot: StreamSlot,
    request: Request<Outgoing>,
    leave: Option<Leave>,
    told: impl Fn(StatusCode, &HeaderMap),
) -> Result<Arrived, Lost> {
    let (head, mut body) = request.into_parts();
    if let Some(leave) = &leave {
        body.await_leave(leave);
    }
    let is_all = body.is_end_stream();
    let takes_trailers = head.headers.contains_key(TE);
    let asked = Request::from_parts(head.clone(), ());
    let sent = slot.sender().send_request(asked, is_all);
    let (mut answer, out) = match sent {
        Ok(sent) => sent,
        Err(cause) => {
            let request = Request::from_parts(head, body);
            return Err(Lost::Unsent(Box::new(request), Error::of_h2(cause)));
        }
    };
    let content = (!is_all).then(|| Unanswered::begin(body, http2::Outlet::new(out)));
    let response = match arrival((&mut answer, &slot), leave, told).await {
        Ok(response) => response,
        Err(error) => {
            let error = match &content {
                Some(content) => content.explain(error),
                None => error,
            };
            let content = content.filter(|_| is_untouched(&error));
            return Err(match content.and_then(Unanswered::take_back) {
                Some(body) => Lost::Unsent(Box::new(Request::from_parts(head, body)), error),
                None => Lost::Sent(error),
            });
        }
    };
    Ok(Arrived {
        response: response.map(|content| {
            Incoming::Http2(if takes_trailers {
                content
            } else {
                content.untrailed()
            })
        }),
        slot,
        uploading: content.map(Unanswered::answered),
    })
}

/// Waits for the final head.
async fn arrival(
    (answer, slot): (&mut ResponseFuture, &StreamSlot),
    leave: Option<Leave>,
    told: impl Fn(StatusCode, &HeaderMap),
) -> Result<Response<http2::Incoming>, Error> {
    while let Some(interim) = poll_fn(|cx| answer.poll_informational(cx)).await {
        let interim = interim.map_err(Error::of_h2_before_head)?;
        if let Err(why) = message::check_values(interim.headers()) {
            return Err(Error::new(Kind::Malformed).because(why));
        }
        match (interim.status(), &leave) {
            (StatusCode::CONTINUE, Some(leave)) => leave.give(),
            (status, _) => told(status, interim.headers()),
        }
    }
    let answer = answer.await.map_err(Error::of_h2_before_head)?;
    let (head, content) = answer.into_parts();
    let content = http2::Incoming::new(&head.headers, slot.inlet(content));
    Ok(Response::from_parts(head, content))
}
