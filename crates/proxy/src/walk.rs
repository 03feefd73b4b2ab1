//! The walk: one request from receipt to answer. This page shows every way in which a request can end.
//!
//! | step | answers | next |
//! |---|---|---|
//! | [`receive`] | refused | our own error |
//! | [`purge`] | wanted | a purge in the words of a client, carried out or refused; the origin never sees it |
//! | | not wanted | what follows |
//! | `received` | misdirected | 421: its target has the other scheme of `http` and `https` |
//! | `on_route` | denied (`refuse`) | the status that the route names |
//! | | redirected | 301 or 308 to HTTPS |
//! | | no room for its content | our own error (503), here and wherever memory is short |
//! | | else | lookup. First [`content_key`] if the content is part of the key: our own error (400, 408, 413) if it cannot be read |
//! | [`user_context`] | `X-User-Context-Hash` | lookup if the route has groups; [`bypass`] if the group is not known; our own error (400) if some route has groups and a client claims one |
//! | [`lookup`] | `Wait` | reads from disk ([`below`]), then as below |
//! | | `Hit` | [`deliver`]; [`plain`] if the head goes out as it is kept |
//! | | `StaleHit` | [`refresh`] in the background, [`deliver`] |
//! | | `Bypass` | [`bypass`]: the store is not asked for the answer. What the answer says about stored responses still counts: the success of an unsafe method [`invalidate`]s. A stale response that was found may stand in if the origin fails |
//! | | `Forward` | [`forward`]; [`bypass`] if the request has a condition that only an origin may judge, or must not fill the store |
//! | [`bypass`] | `only-if-cached` | our own error (504) |
//! | | `Max-Forwards: 0` | our own answer: we are the last recipient |
//! | | 101 | a [`tunnel`] |
//! | | an answer, or none | the origin's; our own error |
//! | [`forward`] | the shared tier has it ([`below`]) | [`deliver`] |
//! | | only-if-cached | our own error (504) |
//! | | follows a leader | looks up again, or reads the part that the leader fetches; fails with it, or fetches once more together; fetches its own variant together with others that want it; or fetches alone |
//! | | leads, or goes alone | [`fetch`] |
//! | [`fetch`], [`land`] | `Found` | [`deliver`]: a lower tier had it |
//! | | `Stored` | [`deliver`] while the [`pump`] fills the body |
//! | | `Stale` | [`deliver`]: the origin failed and a stored response may be sent |
//! | | `Raw` | the origin's answer: not stored, or another part than was asked for |
//! | | `Failed` | our own error (502, 503, 504; 508 if the request has come through us too often) |
//!
//! [`purge::wanted`] reads a head before [`receive`] does; a purge is carried out after it. A request can end without the
//! walk if its listener refuses it or redirects it to HTTPS, and early if its client leaves ([`waiting`]).
//!
//! [`deliver`] composes a page of its fragments ([`esi`]), each of which is a walk of its own ([`fragment`]).
//! [`report`] says in the answer how it was made, and logs and counts it.
//!
//! A request that can be answered at once is: [`Served::Now`] and [`Served::Prepared`] never wait. A refresh
//! and the making of a form go on behind them. A fresh hit takes no contended lock. Everything else is
//! [`Served::Later`], and is [`waiting`] for a client that may leave.

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
pub(crate) mod page;
pub(crate) mod parts;
pub(crate) mod plain;
pub(crate) mod pump;
pub(crate) mod purge;
pub(crate) mod receive;
pub(crate) mod refresh;
pub(crate) mod report;
pub(crate) mod shape;
pub(crate) mod tiers;
pub(crate) mod tunnel;
pub(crate) mod user_context;
pub(crate) mod waiting;

use crate::{
    ask::{Ask, Receipt},
    body::ReplyBody,
    cache::{Worker, WorkerSite},
    clock, content_key,
    error::Failure,
    listen::{Connection, InterimSink, RequestBody, RequestHead, Served},
    outcome::BypassReason,
    user_group::HASH,
};
use esi::Within;
use http::Request;
use lookup::{Bypassed, Decision, Looked};
use purge::Wanted;
use receive::TurnedAway;
use std::rc::Rc;
use user_context::Group;
use waiting::AbandonGuard;

/// Walks one request.
pub fn walk(
    worker: &Rc<Worker>,
    request: Request<RequestBody>,
    connection: &Rc<Connection>,
    interim: InterimSink,
) -> Served<ReplyBody> {
    let (mut parts, content) = request.into_parts();
    let receipt = Receipt::new(connection, interim).with(&mut parts, &content);
    let receipt = receipt.timed(worker.log.is_some());
    let mut head = RequestHead::from(parts);
    let site = worker.site();
    let wanted = purge::wanted(&site, &mut head, connection);
    let ask = receive::receive(site, &mut head, receipt);
    purged_or_received(worker, ask, content, wanted, (&head, connection))
}

/// Walks one request that is only a head. It takes the same steps; what is needed of the head is taken out of it in
/// place.
pub fn walk_head(
    worker: &Rc<Worker>,
    head: &mut RequestHead,
    connection: &Rc<Connection>,
    interim: InterimSink,
) -> Served<ReplyBody> {
    let site = worker.site();
    let wanted = purge::wanted(&site, head, connection);
    let receipt = Receipt::new(connection, interim).timed(worker.log.is_some());
    let ask = receive::read(site, head, receipt, clock::now());
    purged_or_received(worker, ask, RequestBody::none(), wanted, (head, connection))
}

/// Walks a request that was understood, and may be `wanted` of the cache itself. `asked` is the request as it came, for
/// the error if it was not understood.
#[inline]
fn purged_or_received(
    worker: &Rc<Worker>,
    ask: Result<Box<Ask>, Failure>,
    content: RequestBody,
    wanted: Option<Wanted>,
    asked: (&RequestHead, &Connection),
) -> Served<ReplyBody> {
    match (ask, wanted) {
        (Err(failure), _) => Served::Now(deliver::refusal(worker, Some(asked), &failure)),
        (Ok(ask), Some(wanted)) => purge::answer(worker, ask, content, wanted),
        (Ok(ask), None) => received(worker, ask, content),
    }
}

/// Walks a client's request from receipt on.
#[inline]
fn received(worker: &Rc<Worker>, ask: Box<Ask>, content: RequestBody) -> Served<ReplyBody> {
    if let Some(failure) = receive::misdirected(&ask) {
        return Served::Now(deliver::failure(worker, &ask, &failure));
    }
    on_route(worker, ask, content, look_up)
}

/// Walks a request on its route, from where `look_up` goes on.
#[inline]
fn on_route(
    worker: &Rc<Worker>,
    mut ask: Box<Ask>,
    mut content: RequestBody,
    look_up: impl FnOnce(&Rc<Worker>, Box<Ask>, RequestBody) -> Served<ReplyBody> + 'static,
) -> Served<ReplyBody> {
    if let Some(instead) = receive::turned_away(&ask) {
        return Served::Now(match instead {
            TurnedAway::Refused(failure) => deliver::failure(worker, &ask, &failure),
            TurnedAway::ToHttps => deliver::redirect_https(worker, &ask),
        });
    }
    if !content.take_room(&worker.cache.memory) {
        return Served::Now(deliver::failure(worker, &ask, &Failure::NoRoom));
    }
    if content_key::concerns(&ask) {
        let worker = worker.clone();
        return Served::Later(Box::pin(async move {
            let guard = AbandonGuard::new(&worker, &mut *ask, None);
            let read = content_key::read(&worker, &mut *guard.ask, content).await;
            guard.over();
            ask.has_waited = true;
            match read {
                Ok(content) => look_up(&worker, ask, content).response().await,
                Err(failure) => deliver::failure(&worker, &ask, &failure),
            }
        }));
    }
    content_key::read_get(&mut ask);
    look_up(worker, ask, content)
}

/// Walks an include's request, under the configuration of its page. It takes the same steps, but is never a purge and is
/// not in the access log.
pub(crate) fn fragment(
    worker: &Rc<Worker>,
    site: &WorkerSite,
    request: Request<RequestBody>,
    connection: &Rc<Connection>,
    within: &Rc<Within>,
) -> Served<ReplyBody> {
    let (mut parts, content) = request.into_parts();
    let receipt = Receipt::new(connection, InterimSink::deaf()).with(&mut parts, &content);
    let mut head = RequestHead::from(parts);
    match receive::receive(site.clone(), &mut head, receipt) {
        Ok(mut ask) => {
            ask.receipt.for_another = within.for_another;
            ask.within = Some(Rc::clone(within));
            on_route(worker, ask, content, look_up_fragment)
        }
        Err(failure) => Served::Now(deliver::refusal(worker, None, &failure)),
    }
}

/// Walks an include's request from before lookup on.
fn look_up_fragment(
    worker: &Rc<Worker>,
    mut ask: Box<Ask>,
    content: RequestBody,
) -> Served<ReplyBody> {
    match &ask.within {
        Some(within) if within.has(ask.key.as_bytes()) => {
            return Served::Now(deliver::failure(worker, &ask, &Failure::Loop));
        }
        Some(within) if within.asks_group => {
            user_context::as_question(&mut ask);
            return look_up_known(worker, ask, content);
        }
        _ => {}
    }
    if ask.policy().user_context.is_none() {
        // Nothing there is made for a group; everything is for all clients.
        ask.fields.remove(&HASH);
    }
    look_up(worker, ask, content)
}

/// Finds the client's group if the site has groups, then looks up.
#[inline]
fn look_up(worker: &Rc<Worker>, ask: Box<Ask>, content: RequestBody) -> Served<ReplyBody> {
    if ask.site.has_groups {
        return look_up_by_group(worker, ask, content);
    }
    look_up_known(worker, ask, content)
}

/// Finds the client's group, then looks up.
fn look_up_by_group(
    worker: &Rc<Worker>,
    mut ask: Box<Ask>,
    content: RequestBody,
) -> Served<ReplyBody> {
    match user_context::group(worker, &mut ask) {
        Ok(Group::Known) => look_up_known(worker, ask, content),
        Ok(Group::Unknown) => without_group(worker, ask, content),
        Ok(Group::Asked(answer)) => {
            let worker = worker.clone();
            Served::Later(Box::pin(async move {
                let walked = if user_context::is_told(&worker, &mut ask, answer).await {
                    look_up_known(&worker, ask, content)
                } else {
                    without_group(&worker, ask, content)
                };
                walked.response().await
            }))
        }
        Err(failure) => Served::Now(deliver::failure(worker, &ask, &failure)),
    }
}

/// Walks a request whose client's group is not known.
fn without_group(worker: &Rc<Worker>, ask: Box<Ask>, content: RequestBody) -> Served<ReplyBody> {
    let why = Bypassed::Reason(BypassReason::Group);
    Served::Later(Box::pin(bypass::bypass(worker.clone(), ask, content, why)))
}

/// Walks a request from lookup on.
#[inline]
fn look_up_known(
    worker: &Rc<Worker>,
    mut ask: Box<Ask>,
    content: RequestBody,
) -> Served<ReplyBody> {
    match hit(worker, &mut ask) {
        Ok(answer) => answer,
        Err(looked) => go_on(worker, ask, content, looked),
    }
}

/// Looks up, and answers with a hit. Returns an error if there is no hit: how far lookup came, and what it found for
/// this client.
#[inline]
fn hit(worker: &Rc<Worker>, ask: &mut Ask) -> Result<Served<ReplyBody>, Looked> {
    let found = match lookup::lookup(worker, ask) {
        Looked::Decided(found) => lookup::for_client(ask, found),
        wait @ Looked::Wait(_) => return Err(wait),
    };
    match found {
        Decision::Hit(hit) => Ok(plain::hit(worker, ask, hit)),
        found => Err(Looked::Decided(found)),
    }
}

/// Walks the rest of the way, from what lookup found for this client.
fn go_on(
    worker: &Rc<Worker>,
    mut ask: Box<Ask>,
    content: RequestBody,
    looked: Looked,
) -> Served<ReplyBody> {
    let found = match looked {
        Looked::Decided(found) => found,
        Looked::Wait(finding) => {
            let worker = worker.clone();
            return Served::Later(Box::pin(async move {
                let guard = AbandonGuard::new(&worker, &*ask, None);
                let found = below::read(&worker, &ask, finding).await;
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
            let ask = Rc::from(ask);
            refresh::spawn(worker, &ask, &hit.stored);
            Served::Now(deliver::stored(worker, &ask, hit))
        }
        Decision::Bypass(why) => {
            Served::Later(Box::pin(bypass::bypass(worker.clone(), ask, content, why)))
        }
        Decision::Forward(need) => Served::Later(Box::pin(forward::forward(
            worker.clone(),
            Rc::from(ask),
            need,
        ))),
    }
}
