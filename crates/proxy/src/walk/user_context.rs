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
    listen::{Later, RequestBody, Served},
    outcome::BypassReason,
    walk::{
        bypass::bypass,
        deliver, esi, look_up_known,
        lookup::{Bypassed, bypassed},
        waiting::AbandonGuard,
    },
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use std::rc::Rc;
use tokio::time::timeout;

/// The field that names a group.
pub const HASH: HeaderName = HeaderName::from_static("x-user-context-hash");

/// The media type of an answer that names a group.
const KIND: &str = "application/vnd.fos.user-context-hash";

/// Whether these are the fields of a particular user.
pub fn is_somebody(fields: &HeaderMap) -> bool {
    fields.contains_key(header::COOKIE) || fields.contains_key(header::AUTHORIZATION)
}

/// Walks a request to a site with groups, on any route, from before its lookup.
pub fn look_up(worker: &Rc<Worker>, mut ask: Ask, content: RequestBody) -> Served<ReplyBody> {
    // An include has the hash of its page's request; a client must not send one.
    if ask.within.is_none() && is_forged(&ask.fields) {
        let failure = Failure::BadRequest(BadRequest::UserContext);
        return Served::Now(deliver::failure(worker, &ask, &failure));
    }
    if ask.policy().user_context.is_none() {
        return look_up_known(worker, ask, content);
    }
    ask.fields.remove(&HASH);
    let is_question = ask.policy().user_context.as_deref() == Some(ask.key.path());
    if is_question && ask.within.is_some() {
        let who = who(&ask);
        ask.key.asker(&who);
    }
    if is_question || !is_somebody(&ask.fields) || bypassed::bypassed(&ask).is_some() {
        return look_up_known(worker, ask, content);
    }
    match question(worker, &ask) {
        Some(Ok(answer)) => {
            let hash = hash(answer);
            go_on(worker, ask, content, hash)
        }
        Some(Err(answer)) => {
            let worker = worker.clone();
            Served::Later(Box::pin(async move {
                let guard = AbandonGuard::new(&worker, &ask, None);
                let answer = timeout(ask.policy().fragment_wait, answer).await;
                guard.over();
                let hash = answer.ok().and_then(hash);
                go_on(&worker, ask, content, hash).response().await
            }))
        }
        None => go_on(worker, ask, content, None),
    }
}

/// Walks the question for the group, whichever route it takes. Its answer is stored for the client it is about, and for
/// no other.
pub fn look_up_group(worker: &Rc<Worker>, mut ask: Ask, content: RequestBody) -> Served<ReplyBody> {
    ask.fields.remove(&HASH);
    let who = who(&ask);
    ask.key.asker(&who);
    look_up_known(worker, ask, content)
}

/// Whether a client says what only the application may say, or asks for what no client may know.
pub fn is_forged(fields: &HeaderMap) -> bool {
    let mut accepted = fields.get_all(header::ACCEPT).iter();
    fields.keys().any(is_hash) || accepted.any(|line| holds(line, KIND))
}

/// Whether an application may take this field for [`HASH`]. Where fields become variables, all characters but letters
/// and digits are the same.
fn is_hash(name: &HeaderName) -> bool {
    let hash = HASH;
    let (hash, name) = (hash.as_str().as_bytes(), name.as_str().as_bytes());
    let is_alike = |(of, byte): (&u8, &u8)| {
        of == byte || (!of.is_ascii_alphanumeric() && !byte.is_ascii_alphanumeric())
    };
    name.len() == hash.len() && hash.iter().zip(name).all(is_alike)
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

/// Returns the hash that an answer names.
fn hash(answer: Response<ReplyBody>) -> Option<HeaderValue> {
    let fields = answer.headers();
    let kind = fields.get(header::CONTENT_TYPE);
    let is_told = answer.status() == StatusCode::OK && kind.is_some_and(|kind| holds(kind, KIND));
    let hash = fields.get(&HASH).filter(|_| is_told).cloned();
    answer.into_body().keep();
    hash
}

/// Goes on with the answer to the question. Without a hash no stored response is for this client, and no answer to it
/// is for others.
fn go_on(
    worker: &Rc<Worker>,
    mut ask: Ask,
    content: RequestBody,
    hash: Option<HeaderValue>,
) -> Served<ReplyBody> {
    if let Some(hash) = hash {
        ask.fields.insert(HASH, hash);
        return look_up_known(worker, ask, content);
    }
    let why = Bypassed::Reason(BypassReason::Group);
    Served::Later(Box::pin(bypass(worker.clone(), ask, content, why)))
}

/// Translates the fields for a client, which sends no hash and must not learn any: what it gets depends on its cookies
/// and credentials.
pub fn translate(fields: &mut HeaderMap) {
    fields.remove(&HASH);
    let mut lines = fields.get_all(header::VARY).iter();
    if !lines.any(|line| holds(line, HASH.as_str())) {
        return;
    }
    let lines = fields.get_all(header::VARY).iter();
    let names = lines.filter_map(|line| line.to_str().ok());
    let names = names.flat_map(|line| line.split(',')).map(str::trim);
    let mut names: Vec<_> = names
        .filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case(HASH.as_str()))
        .collect();
    for name in ["Cookie", "Authorization"] {
        if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            names.push(name);
        }
    }
    // They were field values before.
    if let Ok(line) = HeaderValue::try_from(names.join(", ")) {
        fields.insert(header::VARY, line);
    }
}

/// Whether a value contains this text, in any case.
fn holds(value: &HeaderValue, text: &str) -> bool {
    let mut places = value.as_bytes().windows(text.len());
    places.any(|place| place.eq_ignore_ascii_case(text.as_bytes()))
}
