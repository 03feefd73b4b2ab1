//! Requests that are answered at once, without `hyper`.
//!
//! A `GET` or `HEAD` by HTTP/1 that brings no content and wants nothing of the connection but that it stays or goes ends
//! where its head ends; where the service answers it at once with what is at hand, that is written as it is. This is the path of
//! a hit over HTTP/1. `hyper` reads and writes all others: it gets the same bytes, and the answer where one was begun, and
//! gives the connection back when it has sent its own. What is read here is read by the same parser and judged alike.

mod head;
mod page;
mod prepared;
mod reply;

pub use head::request;
pub use prepared::{Prepared, PreparedHead};

use super::{
    Serve, Served,
    meter::Meter,
    request_body::RequestBody,
    service::{Begun, Session, begin},
    watch::Order,
};
use bytes::Bytes;
use head::{Head, Parsed};
use http::{HeaderMap, Method};
use page::Asked;
use reply::{AtHand, Sent};
use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    task::{Context, Poll},
};
use tokio::io::ReadBuf;

/// Bytes of a head at most, together with what follows it already; longer ones are `hyper`'s.
const LONGEST: usize = 16 << 10;

/// Memory that the connections of one worker use in turn, so that none holds any while it waits.
pub(super) struct Desk {
    read: RefCell<Box<[u8]>>,
    written: Cell<Box<[u8]>>,
    /// An empty map with room for a request's fields.
    fields: Cell<HeaderMap>,
}

impl Default for Desk {
    fn default() -> Self {
        Self {
            read: RefCell::new(vec![0; LONGEST].into()),
            written: Cell::new(vec![0; LONGEST].into()),
            fields: Cell::default(),
        }
    }
}

/// What is left to do on a connection.
pub(super) enum Rest {
    /// Something for `hyper`.
    Others,
    /// Nothing. `more`: whether the client has sent more than it was answered.
    Over { more: bool },
    /// Nothing can be done: the connection broke.
    Broken,
}

/// Answers requests until there is one that is not answered here.
pub(super) async fn serve<S: Serve>(session: &Session<S>, meter: &mut Meter) -> Rest {
    if session.redirect_https.is_some() {
        session.watch.keep();
        return Rest::Others;
    }
    'requests: loop {
        let head = match poll_fn(|cx| poll_head(cx, session, meter)).await {
            Next::Head(head) => head,
            Next::Ended => return Rest::Over { more: false },
            Next::Others => return Rest::Others,
            Next::Broken => return Rest::Broken,
        };
        let Head {
            parts,
            closes,
            bytes,
        } = head;
        let asked = Asked {
            is_head: parts.method == Method::HEAD,
            version: parts.version,
            closes,
        };
        let Begun { served, in_flight } = begin(session, parts, |_, _| Ok(RequestBody::none()));
        let served = 'unsent: {
            let answer = match served {
                Ok(Served::Prepared(prepared)) => AtHand::Prepared(prepared),
                Ok(Served::Now(response)) if S::is_at_hand(response.body()) => {
                    AtHand::Response(response)
                }
                served => break 'unsent served,
            };
            session.watch.outbox.close();
            match reply::send(session, meter, answer, asked).await {
                Sent::Whole if closes => {
                    return Rest::Over {
                        more: meter.has_ahead(),
                    };
                }
                Sent::Whole => continue 'requests,
                Sent::Broken => return Rest::Broken,
                Sent::Not(answer) => Ok(Served::Now(answer.response())),
            }
        };
        meter.put_back(bytes);
        session.begun.set(Some(Begun { served, in_flight }));
        return Rest::Others;
    }
}

/// What a client sends next.
#[allow(
    clippy::large_enum_variant,
    reason = "on the path of a hit, which allocates nothing that it can do without"
)]
enum Next {
    Head(Head),
    /// It has closed its side, and asked nothing more.
    Ended,
    Others,
    Broken,
}

/// Reads a head. Whatever was read beyond it, or before all of it has come, goes back to the `meter`.
fn poll_head<S: Serve>(
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
            return Poll::Ready(Next::Others);
        }
        let before = buffer.filled().len();
        match meter.poll_read_head(cx, &mut buffer) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => return Poll::Ready(Next::Broken),
            Poll::Pending => {
                meter.leave_head(buffer.filled());
                return Poll::Pending;
            }
        }
        let bytes = buffer.filled();
        if bytes.is_empty() {
            return Poll::Ready(Next::Ended);
        }
        let is_ended = bytes.len() == before;
        match head::parse(bytes, &session.limits, &session.desk.fields) {
            Parsed::Head(head) => {
                let rest = bytes.get(head.bytes.len()..).unwrap_or_default();
                if !rest.is_empty() {
                    meter.put_back(Bytes::copy_from_slice(rest));
                }
                return Poll::Ready(Next::Head(head));
            }
            Parsed::Partial if !is_ended && buffer.remaining() > 0 => {}
            Parsed::Partial | Parsed::Others => {
                meter.leave_head(bytes);
                return Poll::Ready(Next::Others);
            }
        }
    }
}
