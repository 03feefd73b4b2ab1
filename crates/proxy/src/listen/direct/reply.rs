//! Answers, written as they are.

use super::super::{AtHand, Serve, meter::Meter, service::Session, watch::Order};
use super::{
    Desk, PendingRequest,
    buffer::WriteBuffer,
    flow::Flow,
    framing::{Framing, framing},
    prepared::Prepared,
    section::Section,
    wait::poll_left,
    write::{ReplyContext, write_head},
};
use http::Response;
use http_body::Body;
use origin::spares;
use std::{
    future::poll_fn,
    rc::Rc,
    task::{Context, Poll},
};

/// An answer that can be sent.
pub(super) trait SendableAnswer<B> {
    /// Writes the head, and returns how it frames the content, which may close the connection; `None` if that is not
    /// known here.
    fn write_head(&self, buffer: &mut WriteBuffer, asked: &mut ReplyContext) -> Option<Framing>;

    /// Returns the body. The maps that are not needed any more serve the next request, that of its request's `section`
    /// too.
    fn into_body(self, desk: &Desk, section: Option<Rc<Section>>) -> B;

    /// The same answer with its fields in a map.
    fn response(self) -> Response<B>;
}

impl<B: Body + AtHand> SendableAnswer<B> for Response<B> {
    fn write_head(&self, buffer: &mut WriteBuffer, asked: &mut ReplyContext) -> Option<Framing> {
        let framing = framing(self, *asked)?;
        asked.closes |= matches!(framing, Framing::UntilClose);
        write_head(buffer, self, framing, *asked)?;
        Some(framing)
    }

    fn into_body(self, desk: &Desk, section: Option<Rc<Section>>) -> B {
        let (parts, mut body) = self.into_parts();
        if let Some(fields) = body.asked() {
            desk.reuse(section, fields);
        }
        spares::keep(parts.headers);
        body
    }

    fn response(self) -> Self {
        self
    }
}

impl<B> SendableAnswer<B> for Prepared<B> {
    fn write_head(&self, buffer: &mut WriteBuffer, asked: &mut ReplyContext) -> Option<Framing> {
        self.write_head(buffer, *asked)
    }

    fn into_body(self, desk: &Desk, section: Option<Rc<Section>>) -> B {
        let (body, fields) = self.into_parts();
        desk.reuse(section, fields);
        body
    }

    fn response(self) -> Response<B> {
        self.response()
    }
}

/// How far an answer has been sent.
pub(super) enum SendProgress<A, B: AtHand> {
    Whole,
    /// There is more to send.
    Begun(Flow<B>),
    /// It is framed in a way that is not known here. Nothing of it was sent.
    Not(A),
    /// At most a part of it is sent.
    Broken,
}

/// Sends what is at hand of an answer, as far as the socket takes it at once.
pub(super) fn begin<S: Serve, A: SendableAnswer<S::Body>>(
    cx: &mut Context<'_>,
    session: &Session<S>,
    meter: &mut Meter,
    answer: A,
    open: &mut PendingRequest,
) -> SendProgress<A, S::Body> {
    let mut buffer = session.desk.buffer();
    let Some(framing) = answer.write_head(&mut buffer, &mut open.asked) else {
        session.desk.give_back(buffer);
        return SendProgress::Not(answer);
    };
    let body = answer.into_body(&session.desk, open.section.take());
    let mut flow = Flow::new(body, framing, open.asked.closes);
    let begun = flow.begin(cx, meter, &mut buffer, &session.desk);
    session.desk.give_back(buffer);
    if begun.is_err() {
        return SendProgress::Broken;
    }
    match poll_rest(cx, session, meter, &mut flow) {
        Poll::Ready(true) => SendProgress::Whole,
        Poll::Ready(false) => SendProgress::Broken,
        Poll::Pending => SendProgress::Begun(flow),
    }
}

/// Sends the rest. Returns whether all of it is sent; if not, nothing waits for it any more.
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
