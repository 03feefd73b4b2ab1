//! Answers, written as they are.

use super::super::{Serve, meter::Meter, service::Session, watch::Order};
use super::{
    flow::Flow,
    page::{Asked, Framing, Page, framing, write_head},
    poll_left,
    prepared::Prepared,
};
use http::{HeaderMap, Response};
use http_body::Body;
use std::{
    future::poll_fn,
    pin::pin,
    task::{Context, Poll},
};

/// An answer that can be sent.
pub(super) enum Answer<B> {
    Response(Response<B>),
    Prepared(Prepared<B>),
}

impl<B: Body> Answer<B> {
    /// Writes its head, and says how it frames the content, which may close the connection. `None` where that is not known here.
    fn write_head(&self, page: &mut Page, asked: &mut Asked) -> Option<Framing> {
        match self {
            Self::Response(response) => {
                let framing = framing(response, *asked)?;
                asked.closes |= matches!(framing, Framing::UntilClose);
                write_head(page, response, framing, *asked)?;
                Some(framing)
            }
            Self::Prepared(prepared) => prepared.write_head(page, *asked),
        }
    }

    /// Its body, and an empty map with room for the fields of a request.
    fn into_parts(self) -> (B, HeaderMap) {
        let (body, mut room) = match self {
            Self::Response(response) => {
                let (parts, body) = response.into_parts();
                (body, parts.headers)
            }
            Self::Prepared(prepared) => prepared.into_parts(),
        };
        room.clear();
        (body, room)
    }

    pub(super) fn response(self) -> Response<B> {
        match self {
            Self::Response(response) => response,
            Self::Prepared(prepared) => prepared.response(),
        }
    }
}

/// How sending an answer ended.
pub(super) enum Sent<B> {
    Whole,
    /// It is whole, and the connection ends with it.
    Last,
    /// It is framed in a way that is not known here; nothing of it was sent.
    Not(Answer<B>),
    /// A part of it at most is out.
    Broken,
}

/// Sends an answer.
pub(super) async fn send<S: Serve>(
    session: &Session<S>,
    meter: &mut Meter,
    answer: Answer<S::Body>,
    mut asked: Asked,
) -> Sent<S::Body> {
    let mut page = session.desk.page();
    let Some(framing) = answer.write_head(&mut page, &mut asked) else {
        session.desk.give_back(page);
        return Sent::Not(answer);
    };
    let (body, room) = answer.into_parts();
    session.desk.fields.set(room);
    let body = pin!(body);
    let mut flow = Flow::new(body, framing);
    let begun = poll_fn(|cx| Poll::Ready(flow.run(cx, meter, &mut page))).await;
    session.desk.give_back(page);
    if begun.is_err() {
        return Sent::Broken;
    }
    let rest = |cx: &mut Context<'_>| match flow.poll(cx, meter, &session.desk) {
        Poll::Ready(sent) => Poll::Ready(sent.is_ok()),
        Poll::Pending if session.watch.order() > Order::Drain => Poll::Ready(false),
        Poll::Pending => poll_left(cx, session, meter).map(|()| false),
    };
    match poll_fn(rest).await {
        true if asked.closes => Sent::Last,
        true => Sent::Whole,
        false => {
            if matches!(framing, Framing::UntilClose) {
                meter.reset_at_close();
            }
            Sent::Broken
        }
    }
}
