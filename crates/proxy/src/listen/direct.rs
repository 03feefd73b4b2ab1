//! Requests without content, read and answered without `hyper`.
//!
//! A `GET` or `HEAD` by HTTP/1 that brings no content and wants nothing of the connection but that it stays or goes ends
//! where its head ends. Its answer is written as it is, at once where it is at hand, and else when it has come; while it is waited
//! for, the connection is watched for a client that leaves. This is the path of a hit over HTTP/1, and of a miss. `hyper` reads and
//! writes all others: it gets the same bytes, and the answer where one was begun, and gives the connection back when it has sent
//! its own. What is read here is read by the same parser and judged alike.

mod flow;
mod head;
mod page;
mod prepared;
mod reply;
mod section;

pub use head::request;
pub use prepared::{Prepared, PreparedHead};

use super::{
    Later, Serve, Served,
    check::{check, check_target},
    meter::Meter,
    own,
    service::{Begun, InFlight, Panicked, Session, begin, unpanicked},
    watch::Order,
    wire::Wire,
};
use bytes::Bytes;
use flow::Flow;
use head::{Head, Parsed};
use http::{HeaderMap, Method, Response};
use page::{Asked, Page};
use reply::{Answer, Sent, Spent};
use section::{Section, Sections};
use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    io,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes of a head at most, together with what follows it already; longer ones are `hyper`'s.
const LONGEST: usize = 16 << 10;

/// Memory that the connections of one worker use in turn, so that none holds any while it waits.
pub(super) struct Desk {
    read: RefCell<Box<[u8]>>,
    written: Cell<Box<[u8]>>,
    /// An empty map with room for a request's fields.
    fields: Cell<HeaderMap>,
    /// The header sections of requests that are answered.
    sections: RefCell<Sections>,
}

impl Default for Desk {
    fn default() -> Self {
        Self {
            read: RefCell::new(vec![0; LONGEST].into()),
            written: Cell::new(vec![0; LONGEST].into()),
            fields: Cell::default(),
            sections: RefCell::default(),
        }
    }
}

impl Desk {
    /// An empty page, to be [given back](Self::give_back). Made anew where a panic kept the last one from coming back: who finds no
    /// room to write on would try for ever.
    fn page(&self) -> Page {
        let mut bytes = self.written.take();
        if bytes.is_empty() {
            bytes = vec![0; LONGEST].into();
        }
        Page::on(bytes)
    }

    fn give_back(&self, page: Page) {
        self.written.set(page.bytes);
    }

    /// Has what an answer needs no more serve the next request.
    fn reuse(&self, spent: Spent, section: Option<Section>) {
        let spare = match (spent, section) {
            (Spent::Asked(fields), Some(section)) => {
                self.sections.borrow_mut().keep(section, fields)
            }
            (Spent::Asked(fields) | Spent::Said(fields), _) => Some(fields),
        };
        if let Some(mut spare) = spare {
            spare.clear();
            self.fields.set(spare);
        }
    }

    /// Reads once from `wire`, and puts what has come behind `seen`; how much that was.
    pub(super) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        wire: &mut Wire,
        seen: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        let mut desk = self.read.borrow_mut();
        let mut buffer = ReadBuf::new(&mut desk);
        ready!(Pin::new(wire).poll_read(cx, &mut buffer))?;
        seen.extend_from_slice(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
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
    let mut at_hand = None;
    loop {
        match poll_fn(|cx| poll_turns(cx, session, meter, &mut at_hand)).await {
            Turn::Rest(rest) => return rest,
            Turn::Waits(open, answer) => match wait(session, meter, answer).await {
                Some(answer) => at_hand = Some((open, answer)),
                None => return Rest::Broken,
            },
            Turn::Sends(open, flow) => match reply::go_on(session, meter, flow).await {
                true if open.asked.closes => return over(meter),
                true => {}
                false => return Rest::Broken,
            },
        }
    }
}

/// A request whose answer is not out yet.
struct Open {
    asked: Asked,
    /// Its head, as it came.
    bytes: Bytes,
    /// What its fields were read from, until it is answered.
    section: Option<Section>,
    in_flight: InFlight,
}

/// A request and what was waited for.
type Answered<B> = (Open, Outcome<B>);

/// The service's answer, or ours where it panicked.
type Outcome<B> = Result<Response<B>, Box<Response<Bytes>>>;

/// Where a connection stands when nothing more can be done at once.
enum Turn<B> {
    Rest(Rest),
    /// An answer is waited for.
    Waits(Open, Later<B>),
    /// An answer has begun to be sent.
    Sends(Open, Flow<B>),
}

/// Sends the answer `at_hand`, and answers requests as long as that can be done at once.
fn poll_turns<S: Serve>(
    cx: &mut Context<'_>,
    session: &Session<S>,
    meter: &mut Meter,
    at_hand: &mut Option<Answered<S::Body>>,
) -> Poll<Turn<S::Body>> {
    let mut turn = match at_hand.take() {
        Some((open, Ok(answer))) => answered(cx, session, meter, open, answer),
        Some((open, Err(own))) => Some(left(session, meter, open, Err(own))),
        None => None,
    };
    loop {
        if let Some(turn) = turn {
            return Poll::Ready(turn);
        }
        let head = match ready!(poll_head(cx, session, meter)) {
            Next::Head(head) => head,
            Next::Rest(rest) => return Poll::Ready(Turn::Rest(rest)),
        };
        let asked = Asked {
            is_head: head.request.method() == Method::HEAD,
            version: head.request.version(),
            closes: head.closes,
        };
        let names_host = head.section.told.names_host;
        let Begun { served, in_flight } = begin(session, head.request, |request| {
            if names_host {
                check_target(request)
            } else {
                check(request, &session.limits)
            }
        });
        let open = Open {
            asked,
            bytes: head.bytes,
            section: Some(head.section),
            in_flight,
        };
        turn = match served {
            Ok(Served::Prepared(prepared)) => answered(cx, session, meter, open, prepared),
            Ok(Served::Now(response)) => answered(cx, session, meter, open, response),
            Ok(Served::Later(answer)) => Some(Turn::Waits(open, answer)),
            Err(own) => Some(left(session, meter, open, Err(own))),
        };
    }
}

/// Sends an answer. `None`: it is out, and the connection goes on.
fn answered<S: Serve, A: Answer<S::Body>>(
    cx: &mut Context<'_>,
    session: &Session<S>,
    meter: &mut Meter,
    mut open: Open,
    answer: A,
) -> Option<Turn<S::Body>> {
    session.watch.outbox.close();
    open.asked.closes |= session.watch.order() != Order::Serve;
    match reply::begin(cx, session, meter, answer, &mut open) {
        Sent::Whole if open.asked.closes => Some(Turn::Rest(over(meter))),
        Sent::Whole => None,
        Sent::Begun(flow) => Some(Turn::Sends(open, flow)),
        Sent::Broken => Some(Turn::Rest(Rest::Broken)),
        Sent::Not(answer) => {
            let served = Served::Now(answer.response());
            Some(left(session, meter, open, Ok(served)))
        }
    }
}

/// Leaves a request to `hyper`, with what was begun for it.
fn left<S: Serve>(
    session: &Session<S>,
    meter: &mut Meter,
    open: Open,
    served: Result<Served<S::Body>, Box<Response<Bytes>>>,
) -> Turn<S::Body> {
    meter.put_back(open.bytes);
    let in_flight = open.in_flight;
    session.begun.set(Some(Begun { served, in_flight }));
    Turn::Rest(Rest::Others)
}

/// The last answer is out.
fn over(meter: &Meter) -> Rest {
    Rest::Over {
        more: meter.has_ahead(),
    }
}

/// What a client sends next.
#[allow(
    clippy::large_enum_variant,
    reason = "on the path of a hit, which allocates nothing that it can do without"
)]
enum Next {
    Head(Head),
    /// Nothing that is answered here.
    Rest(Rest),
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
        let (spare, before) = (&session.desk.fields, &session.desk.sections);
        match head::parse(bytes, &session.limits, spare, before) {
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
                return Poll::Ready(Next::Rest(Rest::Others));
            }
        }
    }
}

/// Waits for an answer, and sends the interim responses that come before it. `None`: the client has left, or the connection is to be
/// closed; nobody waits any more.
async fn wait<S: Serve>(
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

/// Ready when the client has left while it is being answered. What it asks meanwhile is kept, as much as one read brings: more is
/// read when that has its answer.
fn poll_left<S: Serve>(cx: &mut Context<'_>, session: &Session<S>, meter: &mut Meter) -> Poll<()> {
    if meter.has_ahead() {
        return Poll::Pending;
    }
    let mut desk = session.desk.read.borrow_mut();
    let mut buffer = ReadBuf::new(&mut desk);
    match meter.poll_read_head(cx, &mut buffer) {
        Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
            meter.put_back(Bytes::copy_from_slice(buffer.filled()));
            Poll::Pending
        }
        Poll::Ready(_) => Poll::Ready(()),
        Poll::Pending => Poll::Pending,
    }
}
