//! Requests without content, read and answered without `hyper`.
//!
//! A `GET` or `HEAD` by HTTP/1 that brings no content and wants nothing of the connection but that it stays or goes ends
//! where its head ends. Its answer is written as it is, at once where it is at hand, and else when it has come; while it is waited
//! for, the connection is watched for a client that leaves. This is the path of a hit over HTTP/1, and of a miss. `hyper` reads and
//! writes all others: it gets the same bytes, and the answer where one was begun, and gives the connection back when it has sent
//! its own. What is read here is read by the same parser and judged alike.

mod desk;
mod flow;
mod head;
mod next;
mod page;
mod prepared;
mod reply;
mod section;
mod wait;

pub(super) use desk::Desk;
pub use head::request;
pub use prepared::{Head, PackedHead, Prepared, PreparedHead};

use super::{
    InterimSink, Later, Serve, Served,
    check::{check, check_target},
    in_flight::InFlight,
    meter::Meter,
    service::{Begun, Session, begin},
    watch::Order,
};
use bytes::Bytes;
use flow::Flow;
use http::{Method, Response};
use next::{Next, poll_head};
use page::Asked;
use reply::{Answer, Sent};
use section::Section;
use std::{
    future::poll_fn,
    task::{Context, Poll, ready},
};
use wait::wait;

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
        let interim = InterimSink::http1(&session.watch, head.request.version());
        let Begun { served, in_flight } = begin(session, head.request, interim, |request| {
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
