//! Requests without content, read and answered without `hyper`.
//!
//! A `GET` or `HEAD` by HTTP/1 ends where its head ends if it has no content and wants nothing of the connection but
//! that it stays open or closes. So does a request for the cache itself (`PURGE`, `BAN`, `REFRESH`), which names a
//! target as a `GET` does. Such a request is read here by the same parser as in `hyper`, and judged by the same rules.
//!
//! Its answer is written as it is, at once if it is at hand, or else when it has come. During the wait, the connection
//! is watched for a client that leaves. This is the path of a hit over HTTP/1, and of a miss.
//!
//! `hyper` reads all other requests and writes all other answers. It gets the same bytes, and the answer if one was
//! begun. It gives the connection back when it has sent its answers.

mod buffer;
mod desk;
mod flow;
mod framing;
mod head;
mod next;
mod prepared;
mod reply;
mod section;
mod sheets;
mod verb;
mod wait;
mod write;

pub(super) use desk::Desk;
pub(super) use head::{encoded, request_line};
pub use head::{read_target, request};
pub use prepared::{Head, PackedHead, Prepared, PreparedHead};

use super::{
    AtHand, InterimSink, Later, Serve, Served,
    check::{check_host, check_target},
    fault::Fault,
    in_flight::{AtOnce, InFlight},
    meter::Meter,
    request_head::RequestHead,
    service::{Begun, ServedOr, Session, begin_head},
    watch::Order,
};
use crate::target::Target;
use bytes::Bytes;
use flow::Flow;
use http::{Response, Version};
use next::{Next, poll_head};
use reply::{SendProgress, SendableAnswer};
use section::Section;
use std::{
    future::poll_fn,
    rc::Rc,
    task::{Context, Poll, ready},
};
use wait::wait;
use write::ReplyContext;

/// What is left to do on a connection.
pub(super) enum Rest {
    /// There is something for `hyper`.
    Others,
    /// Nothing. `more` says whether the client has sent more than was answered.
    Over { more: bool },
    /// Nothing can be done: the connection broke.
    Broken,
}

/// Answers requests until one comes that is not answered here.
pub(super) async fn serve<S: Serve>(session: &Session<S>, meter: &mut Meter) -> Rest {
    let mut at_hand = None;
    loop {
        match poll_fn(|cx| poll_step(cx, session, meter, &mut at_hand)).await {
            ConnectionStep::Rest(rest) => return rest,
            ConnectionStep::Waits(open, in_flight, answer) => {
                match wait(session, meter, answer).await {
                    Some(answer) => at_hand = Some((open, in_flight, answer)),
                    None => return Rest::Broken,
                }
            }
            ConnectionStep::Sends(closes, _in_flight, flow) => {
                match reply::go_on(session, meter, flow).await {
                    true if closes => return over(meter),
                    true => {}
                    false => return Rest::Broken,
                }
            }
        }
    }
}

/// A request whose answer is not sent yet.
struct PendingRequest {
    asked: ReplyContext,
    target: Target,
    /// What its fields were read from, until it is answered.
    section: Option<Rc<Section>>,
}

impl PendingRequest {
    /// The head of a request that is not answered, as it came, or as it might have come (`head::encoded`).
    fn bytes(&self) -> Bytes {
        let version = match self.asked.version {
            Version::HTTP_10 => " HTTP/1.0\r\n",
            _ => " HTTP/1.1\r\n",
        };
        let method = self.asked.verb.text();
        let line = [method, " ", &self.target.to_string(), version].concat();
        let section = self.section.as_ref().map(|section| section.bytes());
        [line.as_bytes(), section.unwrap_or_default()]
            .concat()
            .into()
    }
}

/// A request and the awaited outcome.
type Answered<B> = (PendingRequest, InFlight, Outcome<B>);

/// The service's answer, or ours if it panicked.
type Outcome<B> = Result<Response<B>, Box<Response<Bytes>>>;

/// The state of a connection when nothing more can be done at once.
enum ConnectionStep<B: AtHand> {
    Rest(Rest),
    /// We wait for an answer.
    Waits(PendingRequest, InFlight, Later<B>),
    /// An answer has begun to be sent. The first field says whether it is the last.
    Sends(bool, InFlight, Flow<B>),
}

/// Sends the answer `at_hand`, and answers requests as long as that can be done at once.
fn poll_step<S: Serve>(
    cx: &mut Context<'_>,
    session: &Session<S>,
    meter: &mut Meter,
    at_hand: &mut Option<Answered<S::Body>>,
) -> Poll<ConnectionStep<S::Body>> {
    let mut step = match at_hand.take() {
        Some((mut open, in_flight, Ok(answer))) => {
            answered(cx, session, meter, (&mut open, in_flight), answer)
        }
        Some((open, in_flight, Err(own))) => {
            Some(left(session, meter, &open, (in_flight, Err(own))))
        }
        None => None,
    };
    loop {
        if let Some(step) = step {
            return Poll::Ready(step);
        }
        let mut head = None;
        if let Next::Rest(rest) = ready!(poll_head(cx, session, meter, &mut head)) {
            return Poll::Ready(ConnectionStep::Rest(rest));
        }
        step = answer(cx, session, meter, &mut head);
    }
}

/// Gets the answer to the request that was read, and sends it if it is at hand; `None` if it is sent, and the
/// connection continues.
#[inline]
fn answer<S: Serve>(
    cx: &mut Context<'_>,
    session: &Session<S>,
    meter: &mut Meter,
    read: &mut Option<head::Head>,
) -> Option<ConnectionStep<S::Body>> {
    let head::Head { request, open, .. } = read.as_mut()?;
    let checked = checked(request, open);
    let in_flight = AtOnce::new(&session.watch);
    let interim = InterimSink::http1(&session.watch, request.version);
    match begin_head(session, request, interim, checked) {
        Ok(Served::Prepared(prepared)) => answered(cx, session, meter, (open, in_flight), prepared),
        Ok(Served::Now(response)) => answered(cx, session, meter, (open, in_flight), response),
        Ok(Served::Later(answer)) => {
            let open = read.take()?.open;
            Some(ConnectionStep::Waits(open, in_flight.into(), answer))
        }
        Err(own) => Some(left(session, meter, open, (in_flight.into(), Err(own)))),
    }
}

/// Makes the checks of a request that are left when it has been read.
fn checked(request: &RequestHead, open: &PendingRequest) -> Result<(), Fault> {
    let RequestHead { target, fields, .. } = request;
    check_target(&request.method, target.scheme(), target.path())?;
    if open
        .section
        .as_ref()
        .is_some_and(|section| section.told.names_host)
    {
        return Ok(());
    }
    // Over HTTP/1 the two are not compared.
    check_host(request.version, ("http", target.authority()), fields)
}

/// Sends an answer; `None` if it is sent, and the connection continues.
fn answered<S: Serve, A: SendableAnswer<S::Body>>(
    cx: &mut Context<'_>,
    session: &Session<S>,
    meter: &mut Meter,
    (open, in_flight): (&mut PendingRequest, impl Into<InFlight>),
    answer: A,
) -> Option<ConnectionStep<S::Body>> {
    session.watch.outbox.close();
    open.asked.closes |= session.is_for_one || session.watch.order() != Order::Serve;
    match reply::begin(cx, session, meter, answer, open) {
        SendProgress::Whole if open.asked.closes => Some(ConnectionStep::Rest(over(meter))),
        SendProgress::Whole => None,
        SendProgress::Begun(flow) => Some(ConnectionStep::Sends(
            open.asked.closes,
            in_flight.into(),
            flow,
        )),
        SendProgress::Broken => Some(ConnectionStep::Rest(Rest::Broken)),
        SendProgress::Not(answer) => {
            let served = Served::Now(answer.response());
            Some(left(session, meter, open, (in_flight.into(), Ok(served))))
        }
    }
}

/// Leaves a request to `hyper`, with what was begun for it.
fn left<S: Serve>(
    session: &Session<S>,
    meter: &mut Meter,
    open: &PendingRequest,
    (in_flight, served): (InFlight, ServedOr<S::Body>),
) -> ConnectionStep<S::Body> {
    meter.put_back(open.bytes());
    meter.bound();
    session.begun.set(Some(Begun { served, in_flight }));
    ConnectionStep::Rest(Rest::Others)
}

/// Ends the connection after the last answer.
fn over(meter: &Meter) -> Rest {
    Rest::Over {
        more: meter.has_ahead(),
    }
}
