//! User context: pages that the application makes once for each group of users, as `FOSHttpCache` has it.
//!
//! Before what somebody asks for is looked up, the application is asked which group that is: by a request of our own with the same
//! cookies and credentials, whose answer tells a hash, and may be stored like any other. The hash stands in the client's request
//! from then on, and pages vary by it.

use crate::{
    ask::Ask,
    body::ReplyBody,
    cache::Worker,
    error::Failure,
    listen::RequestBody,
    outcome::Bypass,
    walk::{
        Answer, Later,
        bypass::{bypass, rule},
        deliver, esi, look_up_known,
        lookup::Bypassed,
    },
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use std::rc::Rc;
use tokio::time::timeout;

/// The field that names a group.
pub const HASH: HeaderName = HeaderName::from_static("x-user-context-hash");

/// The media type of an answer that does.
const KIND: &str = "application/vnd.fos.user-context-hash";

/// Whether these are the fields of somebody in particular.
pub fn is_somebody(fields: &HeaderMap) -> bool {
    fields.contains_key(header::COOKIE) || fields.contains_key(header::AUTHORIZATION)
}

/// The walk of a request on a route with groups, from before its lookup on.
pub fn look_up(worker: &Rc<Worker>, mut ask: Ask, content: RequestBody) -> Answer {
    // An include has what its page's request has; a client has no say.
    if ask.within.is_none() && is_forged(&ask.fields) {
        let failure = Failure::BadRequest("user-context");
        return Answer::Now(deliver::failure(worker, &ask, &failure));
    }
    ask.fields.remove(&HASH);
    let is_question = ask.policy().user_context.as_deref() == Some(ask.key.path());
    if is_question || !is_somebody(&ask.fields) || rule::bypassed(&ask).is_some() {
        return look_up_known(worker, ask, content);
    }
    match question(worker, &ask) {
        Some(Ok(answer)) => {
            let hash = hash(&ask.fields, answer);
            go_on(worker, ask, content, hash)
        }
        Some(Err(answer)) => {
            let worker = worker.clone();
            Answer::Later(Box::pin(async move {
                let answer = timeout(ask.policy().fragment_wait, answer).await;
                let hash = answer.ok().and_then(|answer| hash(&ask.fields, answer));
                go_on(&worker, ask, content, hash).response().await
            }))
        }
        None => go_on(worker, ask, content, None),
    }
}

/// Whether a client says what only the application may say, or asks for what is nobody's to know.
fn is_forged(fields: &HeaderMap) -> bool {
    let mut accepted = fields.get_all(header::ACCEPT).iter();
    fields.contains_key(&HASH) || accepted.any(|line| holds(line, KIND))
}

/// The answer to the question for the group, or the wait for it.
fn question(worker: &Rc<Worker>, ask: &Ask) -> Option<Result<Response<ReplyBody>, Later>> {
    let path = ask.policy().user_context.as_deref()?;
    esi::Context::accepting(worker, ask, KIND).walk(path)
}

/// The hash that an answer tells whoever sent these fields.
fn hash(client: &HeaderMap, answer: Response<ReplyBody>) -> Option<HeaderValue> {
    let fields = answer.headers();
    let kind = fields.get(header::CONTENT_TYPE);
    let is_told = answer.status() == StatusCode::OK
        && kind.is_some_and(|kind| holds(kind, KIND))
        && is_for(client, fields);
    let hash = fields.get(&HASH).filter(|_| is_told).cloned();
    // Others may be answered with it.
    answer.into_body().leave();
    hash
}

/// Whether an answer was made for whoever sent these fields: just now, or it varies by all that they say of that. One that the
/// application forgot to have varied would put everybody into the group of whoever asked first.
fn is_for(client: &HeaderMap, answer: &HeaderMap) -> bool {
    let is_fresh = !answer.contains_key(header::AGE);
    let mut said = [header::COOKIE, header::AUTHORIZATION].into_iter();
    is_fresh
        || said.all(|name| {
            let mut lines = answer.get_all(header::VARY).iter();
            !client.contains_key(&name) || lines.any(|line| holds(line, name.as_str()))
        })
}

/// Without a hash nothing stored is for the one who asks, and nothing that comes is for others.
fn go_on(
    worker: &Rc<Worker>,
    mut ask: Ask,
    content: RequestBody,
    hash: Option<HeaderValue>,
) -> Answer {
    if let Some(hash) = hash {
        ask.fields.insert(HASH, hash);
        return look_up_known(worker, ask, content);
    }
    let why = Bypassed::Site(Bypass::Group);
    Answer::Later(Box::pin(bypass(worker.clone(), ask, content, why)))
}

/// Says it in a client's words: it sends no hash and must not know any, and what it gets depends on who it is.
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
    // They were values before.
    if let Ok(line) = HeaderValue::try_from(names.join(", ")) {
        fields.insert(header::VARY, line);
    }
}

/// Whether a value holds this text, in whatever case.
fn holds(value: &HeaderValue, text: &str) -> bool {
    let mut places = value.as_bytes().windows(text.len());
    places.any(|place| place.eq_ignore_ascii_case(text.as_bytes()))
}
