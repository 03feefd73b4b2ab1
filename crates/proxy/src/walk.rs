//! The walk: one request from receipt to answer. This page shows every way in which a request can end.
//!
//! | step | answers | next |
//! |---|---|---|
//! | [`receive`] | refused | our own error |
//! | [`purge`] | wanted | a purge in a client's own words, carried out or refused; never the origin's to see |
//! | | not wanted | what follows |
//! | `received` | misdirected | 421: its target is of the other of `http` and `https` |
//! | | denied (`refuse`) | the status that the route says |
//! | | redirected | 301 or 308 to HTTPS |
//! | | no room for its content | our own error (503), here and wherever memory is short |
//! | | else | lookup; first [`content_key`], where the content is part of the key: our own error (400, 408, 413) where that cannot be read |
//! | [`user_context`] | `X-User-Context-Hash` | lookup, where the route has groups; [`bypass`] where the group is not known; our own error (400) where some route has groups and a client claims one |
//! | [`lookup`] | `Wait` | reads from disk ([`below`]), then as below |
//! | | `Hit` | [`deliver`]; [`plain`] where the head goes out as it is kept |
//! | | `StaleHit` | [`refresh`] in the background, [`deliver`] |
//! | | `Bypass` | [`bypass`]: the store is not asked for the answer, which tells of what is stored all the same: an unsafe method's success [`invalidate`]s; what was found and is stale may stand in for an origin that fails |
//! | | `Forward` | [`forward`]; [`bypass`] where the request has a condition that only an origin may judge, or must not fill the store |
//! | [`bypass`] | `only-if-cached` | our own error (504) |
//! | | `Max-Forwards: 0` | our own answer: we are who is meant |
//! | | 101 | a [`tunnel`] |
//! | | an answer, or none | the origin's; our own error |
//! | [`forward`] | the shared tier has it ([`below`]) | [`deliver`] |
//! | | only-if-cached | our own error (504) |
//! | | follows a leader | looks up again, or reads the part that the leader fetches; fails with it, or fetches once more together; fetches its own variant with those who want it too; or fetches alone |
//! | | leads, or goes alone | [`fetch`] |
//! | [`fetch`], [`land`] | `Found` | [`deliver`]: a tier below had it |
//! | | `Stored` | [`deliver`] while the [`pump`] fills the body |
//! | | `Stale` | [`deliver`]: the origin failed and what is stored may be sent |
//! | | `Raw` | the origin's answer: not stored, or another part than was asked for |
//! | | `Failed` | our own error (502, 503, 504; 508 where the request has come through us too often) |
//!
//! [`purge::look`] reads a head before [`receive`] does; what is wanted is carried out after it. A request can end without the walk, where its
//! listener refuses it or redirects it to HTTPS, and early, where its client leaves ([`waiting`]).
//!
//! [`deliver`] composes a page of its fragments ([`esi`]), each of which is a walk of its own ([`fragment`]). What an answer says of how
//! it was made, and what is logged and counted of that, is [`report`]'s.
//!
//! A request that can be answered at once is: [`WalkAnswer::Now`] and [`WalkAnswer::Prepared`] never wait; what goes on behind them are a refresh
//! and the making of a form; a fresh hit takes no contended lock. The rest is [`WalkAnswer::Later`], and is
//! [`waiting`] for a client that may leave.

pub(crate) mod admit;
pub(crate) mod arrival;
pub(crate) mod below;
pub(crate) mod bypass;
pub(crate) mod coding;
pub(crate) mod deliver;
pub(crate) mod esi;
pub(crate) mod fetch;
pub(crate) mod forward;
pub(crate) mod invalidate;
pub(crate) mod land;
pub(crate) mod lookup;
pub(crate) mod outbound;
pub(crate) mod parts;
pub(crate) mod plain;
pub(crate) mod pump;
pub(crate) mod purge;
pub(crate) mod receive;
pub(crate) mod refresh;
pub(crate) mod report;
pub(crate) mod shape;
pub(crate) mod tunnel;
pub(crate) mod user_context;
pub(crate) mod waiting;

use crate::{
    ask::Ask,
    body::ReplyBody,
    cache::Worker,
    content_key,
    error::Failure,
    listen::{Connection, InterimSink, Prepared, RequestBody, RequestHead},
};
use esi::Within;
use http::{Request, Response};
use lookup::{Decision, Looked};
use purge::Wanted;
use receive::Brought;
use std::{pin::Pin, rc::Rc};
use waiting::AbandonGuard;

/// An answer, or the wait for one.
pub enum WalkAnswer {
    /// Ready: answered without waiting.
    Now(Response<ReplyBody>),
    /// Ready, and its head is kept as it is sent.
    Prepared(Prepared<ReplyBody>),
    /// The rest of the walk needs an origin.
    Later(Later),
}

/// An answer that is waited for.
pub type Later = Pin<Box<dyn Future<Output = Response<ReplyBody>>>>;

impl WalkAnswer {
    /// The answer with its fields in a map, or the wait for one.
    pub(crate) fn at_once(self) -> Result<Response<ReplyBody>, Later> {
        match self {
            Self::Now(response) => Ok(response),
            Self::Prepared(prepared) => Ok(prepared.response()),
            Self::Later(response) => Err(response),
        }
    }

    /// The same, when it is there.
    pub(crate) async fn response(self) -> Response<ReplyBody> {
        match self.at_once() {
            Ok(response) => response,
            Err(response) => response.await,
        }
    }
}

/// Walks one request.
pub fn walk(
    worker: &Rc<Worker>,
    request: Request<RequestBody>,
    connection: &Rc<Connection>,
    interim: InterimSink,
) -> WalkAnswer {
    let (mut parts, content) = request.into_parts();
    let brought = Brought::with(&mut parts, &content);
    let mut head = RequestHead::from(parts);
    let site = worker.site();
    let wanted = purge::look(&site, &mut head, connection);
    let ask = receive::receive(worker, site, &mut head, brought, connection, interim);
    purged_or_received(worker, ask, content, wanted, (&head, connection))
}

/// Walks one request that is its head and nothing more. It takes the same steps; what is needed of the head is taken where it lies.
pub fn walk_head(
    worker: &Rc<Worker>,
    head: &mut RequestHead,
    connection: &Rc<Connection>,
    interim: InterimSink,
) -> WalkAnswer {
    let site = worker.site();
    let wanted = purge::look(&site, head, connection);
    let ask = receive::alone(worker, site, head, connection, interim);
    purged_or_received(worker, ask, RequestBody::none(), wanted, (head, connection))
}

/// The walk of what was understood, and may be `wanted` of the cache itself. `asked`: what was not.
#[inline]
fn purged_or_received(
    worker: &Rc<Worker>,
    ask: Result<Ask, Failure>,
    content: RequestBody,
    wanted: Option<Wanted>,
    asked: (&RequestHead, &Connection),
) -> WalkAnswer {
    match (ask, wanted) {
        (Err(failure), _) => WalkAnswer::Now(deliver::refusal(worker, Some(asked), &failure)),
        (Ok(ask), Some(wanted)) => purge::answer(worker, ask, content, wanted),
        (Ok(ask), None) => received(worker, ask, content),
    }
}

/// The walk from receipt on.
#[inline]
fn received(worker: &Rc<Worker>, mut ask: Ask, mut content: RequestBody) -> WalkAnswer {
    if let Some(failure) = receive::misdirected(&ask) {
        return WalkAnswer::Now(deliver::failure(worker, &ask, &failure));
    }
    if let Some(answer) = turned_away(worker, &ask) {
        return WalkAnswer::Now(answer);
    }
    if !content.take_room(&worker.cache.memory) {
        return WalkAnswer::Now(deliver::failure(worker, &ask, &Failure::NoRoom));
    }
    if content_key::concerns(&ask) {
        let worker = worker.clone();
        return WalkAnswer::Later(Box::pin(async move {
            let guard = AbandonGuard::new(&worker, &mut ask, None);
            let read = content_key::read(&worker, &mut *guard.ask, content).await;
            guard.over();
            match read {
                Ok(content) => look_up(&worker, ask, content).response().await,
                Err(failure) => deliver::failure(&worker, &ask, &failure),
            }
        }));
    }
    if ask.policy().graphql.is_some() {
        content_key::read_get(&mut ask);
    }
    look_up(worker, ask, content)
}

/// What its route answers in place of the origin: a refusal, or a redirect to HTTPS.
#[inline]
fn turned_away(worker: &Worker, ask: &Ask) -> Option<Response<ReplyBody>> {
    if let Some(failure) = receive::denied(ask) {
        return Some(deliver::failure(worker, ask, &failure));
    }
    receive::is_redirected(ask).then(|| deliver::redirect_https(worker, ask))
}

/// Walks an include's request. It takes the same steps; it is never a purge, nor in the access log.
pub(crate) fn fragment(
    worker: &Rc<Worker>,
    request: Request<RequestBody>,
    connection: &Rc<Connection>,
    within: &Rc<Within>,
) -> WalkAnswer {
    let (mut parts, content) = request.into_parts();
    let brought = Brought::with(&mut parts, &content);
    let mut head = RequestHead::from(parts);
    let interim = InterimSink::deaf();
    let mut ask = match receive::receive(
        worker,
        worker.site(),
        &mut head,
        brought,
        connection,
        interim,
    ) {
        Ok(ask) => ask,
        Err(failure) => return WalkAnswer::Now(deliver::refusal(worker, None, &failure)),
    };
    ask.began = None;
    ask.for_another = within.for_another;
    ask.within = Some(Rc::clone(within));
    if let Some(answer) = turned_away(worker, &ask) {
        return WalkAnswer::Now(answer);
    }
    if ask.policy().graphql.is_some() {
        content_key::read_get(&mut ask);
    }
    if within.has(ask.key.as_bytes()) {
        return WalkAnswer::Now(deliver::failure(worker, &ask, &Failure::Loop));
    }
    if within.asks_group {
        return user_context::look_up_group(worker, ask, content);
    }
    if ask.policy().user_context.is_none() {
        // Nothing is made for a group there, and what is made is everybody's.
        ask.fields.remove(&user_context::HASH);
    }
    look_up(worker, ask, content)
}

/// The walk from before lookup on.
#[inline]
fn look_up(worker: &Rc<Worker>, ask: Ask, content: RequestBody) -> WalkAnswer {
    if ask.site.has_groups {
        return user_context::look_up(worker, ask, content);
    }
    look_up_known(worker, ask, content)
}

/// The walk from lookup on.
#[inline]
fn look_up_known(worker: &Rc<Worker>, mut ask: Ask, content: RequestBody) -> WalkAnswer {
    match hit(worker, &mut ask) {
        Ok(answer) => answer,
        Err(looked) => go_on(worker, ask, content, looked),
    }
}

/// Looks up, and answers with a hit: that is done where the request lies, which is large to be moved about. An error: how far lookup
/// came, and to what for this client.
#[inline]
fn hit(worker: &Rc<Worker>, ask: &mut Ask) -> Result<WalkAnswer, Looked> {
    let found = match lookup::lookup(worker, ask) {
        Looked::Decided(found) => lookup::for_client(ask, found),
        wait @ Looked::Wait(_) => return Err(wait),
    };
    match found {
        Decision::Hit(hit) => Ok(plain::hit(worker, ask, hit)),
        found => Err(Looked::Decided(found)),
    }
}

/// The rest of the walk, from what lookup came to for this client.
fn go_on(worker: &Rc<Worker>, mut ask: Ask, content: RequestBody, looked: Looked) -> WalkAnswer {
    let found = match looked {
        Looked::Decided(found) => found,
        Looked::Wait(finding) => {
            let worker = worker.clone();
            return WalkAnswer::Later(Box::pin(async move {
                let guard = AbandonGuard::new(&worker, &ask, None);
                let found = below::read(&worker, &ask, finding, ask.now).await;
                guard.over();
                let found = lookup::for_client(&mut ask, found);
                let looked = Looked::Decided(found);
                go_on(&worker, ask, content, looked).response().await
            }));
        }
    };
    match found {
        Decision::Hit(hit) => plain::hit(worker, &mut ask, hit),
        Decision::StaleHit(hit) => {
            let ask = Rc::new(ask);
            refresh::spawn(worker, &ask, &hit.stored);
            WalkAnswer::Now(deliver::stored(worker, &ask, hit))
        }
        Decision::Bypass(why) => {
            WalkAnswer::Later(Box::pin(bypass::bypass(worker.clone(), ask, content, why)))
        }
        Decision::Forward(need) => WalkAnswer::Later(Box::pin(forward::forward(
            worker.clone(),
            Rc::new(ask),
            need,
        ))),
    }
}
