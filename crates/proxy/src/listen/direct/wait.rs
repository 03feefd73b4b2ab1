//! Waits for an answer, while the client may leave.

use super::Outcome;
use crate::listen::{
    Later, Serve,
    meter::Meter,
    own,
    service::{Panicked, Session, unpanicked},
    watch::Order,
};
use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncWrite, ReadBuf};

/// Waits for an answer, and sends the interim responses that come before it; `None` if the client has left, or the
/// connection is to be closed: then nothing waits for the answer any more.
pub async fn wait<S: Serve>(
    session: &Session<S>,
    meter: &mut Meter,
    answer: Later<S::Body>,
) -> Option<Outcome<S::Body>> {
    let mut answer = pin!(unpanicked(answer));
    poll_fn(|cx| {
        if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
            let ours = |Panicked| own::panicked(&*session.service, &session.watch);
            return Poll::Ready(Some(answer.map_err(ours)));
        }
        // Between two messages interim responses find their place.
        let flushed = Pin::new(&mut *meter).poll_flush(cx);
        let is_broken = matches!(flushed, Poll::Ready(Err(_)));
        if is_broken || session.watch.order() > Order::Drain {
            return Poll::Ready(None);
        }
        poll_left(cx, session, meter).map(|()| None)
    })
    .await
}

/// Ready when the client has left while it is being answered.
///
/// What it requests meanwhile is kept, about as much as one read brings. More is read when the kept requests are
/// answered. Before that, it is not noticed when a client that has sent so much ahead leaves.
pub fn poll_left<S: Serve>(
    cx: &mut Context<'_>,
    session: &Session<S>,
    meter: &mut Meter,
) -> Poll<()> {
    let mut desk = session.desk.read.borrow_mut();
    while meter.ahead().len() < desk.len() {
        let mut buffer = ReadBuf::new(&mut desk);
        match ready!(meter.poll_read_more(cx, &mut buffer)) {
            Ok(_) if !buffer.filled().is_empty() => meter.keep_ahead(buffer.filled()),
            Ok(_) | Err(_) => return Poll::Ready(()),
        }
    }
    Poll::Pending
}
