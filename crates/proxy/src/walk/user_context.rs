//! User context: pages that the application makes once for each group of users, in the manner of `FOSHttpCache`.
//!
//! Before a request is looked up, the application is asked which group its client belongs to. Our own request for that
//! has the same cookies and credentials. The answer names a hash, and may be stored for clients that send the same of
//! them. From then on the hash is in the client's request, and pages vary by it.

use crate::{
    ask::Ask,
    body::ReplyBody,
    cache::Worker,
    content_key,
    error::{BadRequest, Failure},
    listen::Later,
    user_group::{HASH, KIND, holds, is_forged, is_somebody},
    walk::{esi, lookup::bypassed, waiting::AbandonGuard},
};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use std::rc::Rc;
use tokio::time::timeout;

/// How a request to a site with groups goes on.
pub enum Group {
    /// To lookup: it has its group's hash, or needs none.
    Known,
    /// Past the store: the application names no group. No stored response is for this client, and no answer to it is
    /// for others.
    Unknown,
    /// The application is being asked: [`is_told`] waits for the answer.
    Asked(Later<ReplyBody>),
}

/// Finds the group of a request's client, on any route of a site with groups.
///
/// # Errors
/// If the client claims to belong to a group.
pub fn group(worker: &Rc<Worker>, ask: &mut Ask) -> Result<Group, Failure> {
    // An include has the hash of its page's request; a client must not send one.
    if ask.within.is_none() && is_forged(&ask.fields) {
        return Err(Failure::BadRequest(BadRequest::UserContext));
    }
    if ask.policy().user_context.is_none() {
        return Ok(Group::Known);
    }
    ask.fields.remove(&HASH);
    let is_question = ask.policy().user_context.as_deref() == Some(ask.key.path());
    if is_question && ask.within.is_some() {
        key_by_asker(ask);
    }
    if is_question || !is_somebody(&ask.fields) || bypassed::bypassed(ask).is_some() {
        return Ok(Group::Known);
    }
    let is_known = match question(worker, ask) {
        Some(Ok(answer)) => take_hash(ask, answer),
        Some(Err(answer)) => return Ok(Group::Asked(answer)),
        None => false,
    };
    Ok(if is_known {
        Group::Known
    } else {
        Group::Unknown
    })
}

/// Waits for the application's answer about the group. Returns whether the group is known by now.
pub async fn is_told(worker: &Worker, ask: &mut Ask, answer: Later<ReplyBody>) -> bool {
    let Ok(guard) = AbandonGuard::for_origin(worker, &*ask, None) else {
        return false;
    };
    let answer = timeout(ask.policy().fragment_wait, answer).await;
    guard.over();
    ask.has_waited = true;
    answer.is_ok_and(|answer| take_hash(ask, answer))
}

/// Makes `ask` the question for the group of its client, whichever route it takes. Its answer is stored for that client,
/// and for no other.
pub fn as_question(ask: &mut Ask) {
    ask.fields.remove(&HASH);
    // How old a page its client takes has nothing to do with the group. By an old answer nobody would leave one.
    ask.directives.max_stale = None;
    ask.directives.stale_if_error = None;
    key_by_asker(ask);
}

fn key_by_asker(ask: &mut Ask) {
    let who = who(ask);
    ask.key.asker(&who);
}

/// Returns who asks the question, as a digest of everything that identifies the client and reaches the application.
/// Answers are kept by it, so that no client gets another's, whatever their `Vary` says, and there may be as many as
/// there are users.
fn who(ask: &Ask) -> String {
    let names = [header::AUTHORIZATION, header::COOKIE];
    // If only some cookies reach the application, those are in the key.
    let names = names
        .iter()
        .filter(|name| **name != header::COOKIE || !ask.policy().key.drop_cookies);
    let mut all = Vec::new();
    for name in names {
        for line in ask.fields.get_all(name) {
            all.extend_from_slice(line.as_bytes());
            all.push(b'\n');
        }
        all.push(b'\n');
    }
    content_key::digest(&all)
}

/// Asks for the group. Returns the answer, or the wait for it.
fn question(
    worker: &Rc<Worker>,
    ask: &Ask,
) -> Option<Result<Response<ReplyBody>, Later<ReplyBody>>> {
    let path = ask.policy().user_context.as_deref()?;
    esi::Context::asking_group(worker, ask, KIND).walk(path)
}

/// Puts the hash that an answer names into the request. Returns whether it names one.
fn take_hash(ask: &mut Ask, answer: Response<ReplyBody>) -> bool {
    let fields = answer.headers();
    let kind = fields.get(header::CONTENT_TYPE);
    let is_told = answer.status() == StatusCode::OK && kind.is_some_and(|kind| holds(kind, KIND));
    let hash = only_hash(fields).filter(|_| is_told).cloned();
    answer.into_body().keep();
    let is_named = hash.is_some();
    if let Some(hash) = hash {
        ask.fields.insert(HASH, hash);
    }
    is_named
}

/// Returns the hash in an answer's fields. Of several that differ, none is the group's: the client may not be in the
/// first one.
fn only_hash(fields: &HeaderMap) -> Option<&HeaderValue> {
    let mut lines = fields.get_all(&HASH).iter();
    let first = lines.next()?;
    lines.all(|line| line == first).then_some(first)
}
