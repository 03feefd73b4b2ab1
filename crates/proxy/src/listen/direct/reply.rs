//! Answers, written as they are.

use super::super::{AtHand, Serve, meter::Meter, service::Session, watch::Order};
use super::{
    Open,
    flow::Flow,
    page::{Asked, Framing, Page, framing, write_head},
    prepared::Prepared,
    wait::poll_left,
};
use http::{HeaderMap, Response};
use http_body::Body;
use std::{
    future::poll_fn,
    task::{Context, Poll},
};

/// An answer that can be sent.
pub(super) trait Answer<B> {
    /// Writes its head, and says how it frames the content, which may close the connection. `None` where that is not known here.
    fn write_head(&self, page: &mut Page, asked: &mut Asked) -> Option<Framing>;

    /// Its body, and maps that are not needed any more.
    fn into_parts(self) -> (B, Spent);

    /// The same answer with its fields in a map.
    fn response(self) -> Response<B>;
}

impl<B: Body + AtHand> Answer<B> for Response<B> {
    fn write_head(&self, page: &mut Page, asked: &mut Asked) -> Option<Framing> {
        let framing = framing(self, *asked)?;
        asked.closes |= matches!(framing, Framing::UntilClose);
        write_head(page, self, framing, *asked)?;
        Some(framing)
    }

    fn into_parts(self) -> (B, Spent) {
        let (parts, mut body) = self.into_parts();
        let spent = Spent {
            asked: body.asked(),
            said: Some(parts.headers),
        };
        (body, spent)
    }

    fn response(self) -> Self {
        self
    }
}

impl<B> Answer<B> for Prepared<B> {
    fn write_head(&self, page: &mut Page, asked: &mut Asked) -> Option<Framing> {
        self.write_head(page, *asked)
    }

    fn into_parts(self) -> (B, Spent) {
        let (body, fields) = self.into_parts();
        let spent = Spent {
            asked: Some(fields),
            said: None,
        };
        (body, spent)
    }

    fn response(self) -> Response<B> {
        self.response()
    }
}

/// What an answer needs no more when its head is written.
pub(super) struct Spent {
    /// The fields of its request, as they came.
    pub(super) asked: Option<HeaderMap>,
    /// Its own fields.
    pub(super) said: Option<HeaderMap>,
}

/// How far an answer has come.
pub(super) enum Sent<A, B> {
    Whole,
    /// There is more to send.
    Begun(Flow<B>),
    /// It is framed in a way that is not known here; nothing of it was sent.
    Not(A),
    /// A part of it at most is out.
    Broken,
}

/// Sends of an answer what is at hand, as far as the socket takes it at once.
pub(super) fn begin<S: Serve, A: Answer<S::Body>>(
    cx: &mut Context<'_>,
    session: &Session<S>,
    meter: &mut Meter,
    answer: A,
    open: &mut Open,
) -> Sent<A, S::Body> {
    let mut page = session.desk.page();
    let Some(framing) = answer.write_head(&mut page, &mut open.asked) else {
        session.desk.give_back(page);
        return Sent::Not(answer);
    };
    let (body, spent) = answer.into_parts();
    session.desk.reuse(spent, open.section.take());
    let mut flow = Flow::new(body, framing, open.asked.closes);
    let begun = flow.run(cx, meter, &mut page);
    session.desk.give_back(page);
    if begun.is_err() {
        return Sent::Broken;
    }
    match poll_rest(cx, session, meter, &mut flow) {
        Poll::Ready(true) => Sent::Whole,
        Poll::Ready(false) => Sent::Broken,
        Poll::Pending => Sent::Begun(flow),
    }
}

/// Sends the rest. Whether all of it is out; if not, nobody waits for it any more.
pub(super) async fn go_on<S: Serve>(
    session: &Session<S>,
    meter: &mut Meter,
    mut flow: Flow<S::Body>,
) -> bool {
    poll_fn(|cx| poll_rest(cx, session, meter, &mut flow)).await
}

fn poll_rest<S: Serve>(
    cx: &mut Context<'_>,
    session: &Session<S>,
    meter: &mut Meter,
    flow: &mut Flow<S::Body>,
) -> Poll<bool> {
    let polled = match flow.poll(cx, meter, &session.desk) {
        Poll::Ready(sent) => Poll::Ready(sent.is_ok()),
        Poll::Pending if session.watch.order() > Order::Drain => Poll::Ready(false),
        Poll::Pending => poll_left(cx, session, meter).map(|()| false),
    };
    if polled == Poll::Ready(false) && flow.ends_by_closing() {
        meter.reset_at_close();
    }
    polled
}
