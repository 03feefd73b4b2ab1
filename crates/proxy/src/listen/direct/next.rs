//! What a client sends next.

use super::{
    Rest,
    head::{self, Head, Parsed},
};
use crate::listen::{Serve, meter::Meter, service::Session, watch::Order};
use bytes::Bytes;
use std::task::{Context, Poll};
use tokio::io::ReadBuf;

/// What a client sends next.
#[allow(
    clippy::large_enum_variant,
    reason = "on the path of a hit, which allocates nothing that it can do without"
)]
pub enum Next {
    Head(Head),
    /// Nothing that is answered here.
    Rest(Rest),
}

/// Reads a head. Whatever was read beyond it, or before all of it has come, goes back to the `meter`.
pub fn poll_head<S: Serve>(
    cx: &mut Context<'_>,
    session: &Session<S>,
    meter: &mut Meter,
) -> Poll<Next> {
    session.watch.remember(cx.waker());
    let mut desk = session.desk.read.borrow_mut();
    let mut buffer = ReadBuf::new(&mut desk);
    loop {
        if session.watch.order() != Order::Serve {
            meter.leave_head(buffer.filled());
            return Poll::Ready(Next::Rest(Rest::Others));
        }
        let before = buffer.filled().len();
        match meter.poll_read_head(cx, &mut buffer) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => return Poll::Ready(Next::Rest(Rest::Broken)),
            Poll::Pending => {
                meter.leave_head(buffer.filled());
                return Poll::Pending;
            }
        }
        let bytes = buffer.filled();
        if bytes.is_empty() {
            return Poll::Ready(Next::Rest(Rest::Over { more: false }));
        }
        let is_ended = bytes.len() == before;
        match head::parse(bytes, &session.limits, &session.desk.sections) {
            Parsed::Head(head) => {
                let rest = bytes.get(head.length..).unwrap_or_default();
                if !rest.is_empty() {
                    meter.put_back(Bytes::copy_from_slice(rest));
                }
                return Poll::Ready(Next::Head(head));
            }
            Parsed::Partial if !is_ended && buffer.remaining() > 0 => {}
            Parsed::Partial | Parsed::Others => {
                meter.leave_head(bytes);
                return Poll::Ready(Next::Rest(Rest::Others));
            }
        }
    }
}
