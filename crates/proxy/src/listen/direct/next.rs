//! Reads what a client sends next.

use super::{
    Rest,
    head::{self, Head, Parsed},
};
use crate::listen::{Serve, meter::Meter, service::Session, watch::Order};
use bytes::Bytes;
use rules::head::may_be_whole;
use std::task::{Context, Poll, ready};
use tokio::io::ReadBuf;

/// What a client sends next.
pub enum Next {
    /// A head, read to where the caller wants it.
    Head,
    /// Nothing that is answered here.
    Rest(Rest),
}

/// Reads a head to `into`. What was read beyond it, or of a head that has come only in part, goes back to the `meter`.
pub fn poll_head<S: Serve>(
    cx: &mut Context<'_>,
    session: &Session<S>,
    meter: &mut Meter,
    into: &mut Option<Head>,
) -> Poll<Next> {
    session.watch.remember(cx.waker());
    let mut desk = session.desk.read.borrow_mut();
    if meter.ahead().len() >= desk.len() {
        return poll_long_head(cx, session, meter, &mut desk, into);
    }
    let mut parsed = meter.parsed();
    let mut buffer = ReadBuf::new(&mut desk);
    loop {
        if session.watch.order() != Order::Serve {
            meter.hand_head_over(buffer.filled());
            return Poll::Ready(Next::Rest(Rest::Others));
        }
        let before = buffer.filled().len();
        match meter.poll_read_head(cx, &mut buffer) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => return Poll::Ready(Next::Rest(Rest::Broken)),
            Poll::Pending => {
                meter.leave_head(buffer.filled(), parsed);
                return Poll::Pending;
            }
        }
        let bytes = buffer.filled();
        if bytes.is_empty() {
            return Poll::Ready(Next::Rest(Rest::Over { more: false }));
        }
        let is_ended = bytes.len() == before;
        match parse(bytes, &mut parsed, session, into) {
            Parsed::Whole => {
                let length = length(into.as_ref());
                let rest = bytes.get(length..).unwrap_or_default();
                if !rest.is_empty() {
                    meter.put_back(Bytes::copy_from_slice(rest));
                }
                return Poll::Ready(room_for(length, session, meter));
            }
            Parsed::Partial if !is_ended && buffer.remaining() > 0 => {}
            Parsed::Partial if !is_ended => {
                meter.leave_head(bytes, parsed);
                return poll_long_head(cx, session, meter, &mut desk, into);
            }
            Parsed::Partial | Parsed::Others => {
                meter.hand_head_over(bytes);
                return Poll::Ready(Next::Rest(Rest::Others));
            }
        }
    }
}

/// Parses a head when that is worth it: an empty line has come, or twice as much as when it was parsed last.
///
/// The second case finds out input that is not a head. A client that sends single bytes does not cause work with each.
/// `parsed` is how many bytes were parsed last without being a whole head.
#[inline]
fn parse<S: Serve>(
    bytes: &[u8],
    parsed: &mut usize,
    session: &Session<S>,
    into: &mut Option<Head>,
) -> Parsed {
    if *parsed > 0 && bytes.len() < 2 * *parsed && !may_be_whole(bytes, *parsed) {
        return Parsed::Partial;
    }
    *parsed = bytes.len();
    head::parse(bytes, &session.limits, &session.desk.sections, into)
}

/// How many of the bytes that were read are the head.
fn length(head: Option<&Head>) -> usize {
    head.map_or(0, |head| head.length)
}

/// Accepts a head of this many bytes, if memory has room for it until it is answered.
#[inline]
fn room_for<S: Serve>(length: usize, session: &Session<S>, meter: &mut Meter) -> Next {
    if meter.has_room_for_next(length) {
        return Next::Head;
    }
    session.watch.tell(Order::NoRoom);
    Next::Rest(Rest::Others)
}

/// Continues with a head that has outgrown the desk. What has come of it is with the `meter`.
#[cold]
#[inline(never)]
fn poll_long_head<S: Serve>(
    cx: &mut Context<'_>,
    session: &Session<S>,
    meter: &mut Meter,
    desk: &mut [u8],
    into: &mut Option<Head>,
) -> Poll<Next> {
    loop {
        let came = meter.ahead();
        let is_full = came.len() >= session.limits.header_size;
        if session.watch.order() > Order::Drain {
            break;
        }
        let mut parsed = meter.parsed();
        let found = parse(came, &mut parsed, session, into);
        meter.set_parsed(parsed);
        match found {
            Parsed::Whole if length(into.as_ref()) <= desk.len() => {
                let length = length(into.as_ref());
                meter.skip_ahead(length);
                return Poll::Ready(room_for(length, session, meter));
            }
            Parsed::Partial if !is_full && session.watch.order() == Order::Serve => {}
            _ => break,
        }
        let mut buffer = ReadBuf::new(desk);
        if ready!(meter.poll_read_more(cx, &mut buffer)).is_err() {
            return Poll::Ready(Next::Rest(Rest::Broken));
        }
        if buffer.filled().is_empty() {
            break;
        }
        meter.add_to_head(buffer.filled());
    }
    meter.hand_head_over(&[]);
    Poll::Ready(Next::Rest(Rest::Others))
}
