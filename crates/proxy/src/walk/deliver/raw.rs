//! What an origin sent, as it came.

use super::{X_CACHE, finish, hit_or_miss};
use crate::{
    ask::Ask,
    body::{Content, ReplyBody},
    cache::Worker,
    outcome::Outcome,
    walk::{admit, coding, esi, receive, shape::Shaped},
};
use http::{HeaderValue, Method, Response, StatusCode, header, response};
use rules::{
    fields::{self, has},
    precondition::{self, Representation},
    status::Handled,
};
use std::{rc::Rc, time::Duration};
use store::X_CACHE_DEBUG;

/// Answers with what the origin sent, as it came.
pub fn raw(
    worker: &Rc<Worker>,
    ask: &Ask,
    head: response::Parts,
    content: Content,
    outcome: &Outcome,
) -> Response<ReplyBody> {
    let is_page = esi::is_raw_page(ask, head.status, &head.headers);
    let condition = client_condition(ask, &head);
    let response::Parts {
        status,
        version,
        headers: mut fields,
        ..
    } = head;
    fields::remove_hop_by_hop_of_answer(status, &mut fields);
    if strips_cookies(ask, outcome) {
        fields.remove(header::SET_COOKIE);
    }
    admit::complete(ask, version, &mut fields, receive::now);
    if has(&fields, &X_CACHE_DEBUG) {
        fields.insert(X_CACHE, hit_or_miss(outcome));
    }
    let is_of_content = status.is_success() || status == StatusCode::NOT_MODIFIED;
    let named = coding::held_of(ask, &fields).filter(|_| is_of_content && !is_page);
    let condition = match named {
        Some(tag) => {
            fields.insert(header::ETAG, tag);
            rules::coding::vary_by_coding(&mut fields);
            precondition::Outcome::NotModified
        }
        None => condition,
    };
    let (status, content) = match condition {
        _ if is_page => {
            let Shaped { status, content } = esi::raw(worker, ask, status, &mut fields, content);
            let content = coding::passed(worker, ask, status, &mut fields, content);
            (status, content)
        }
        precondition::Outcome::Proceed | precondition::Outcome::Failed => {
            let content = match ask.method {
                Method::HEAD => Content::Empty,
                _ => content,
            };
            let content = coding::passed(worker, ask, status, &mut fields, content);
            (status, content)
        }
        precondition::Outcome::NotModified => {
            coding::vary(ask, status, &mut fields);
            precondition::trim_not_modified(&mut fields);
            (StatusCode::NOT_MODIFIED, Content::Empty)
        }
    };
    finish(
        worker,
        ask,
        status,
        fields,
        content,
        outcome,
        Duration::ZERO,
    )
}

/// A part that is stored on the way is stored without cookies where the site strips them: then nobody gets them.
fn strips_cookies(ask: &Ask, outcome: &Outcome) -> bool {
    use rules::storable::SetCookie;
    ask.policy().set_cookie == SetCookie::Strip
        && matches!(outcome.handled, Handled::Forwarded { stored: true, .. })
}

/// Whether the client's own conditions turn the origin's answer into another.
fn client_condition(ask: &Ask, head: &response::Parts) -> precondition::Outcome {
    if !head.status.is_success() || !precondition::any(&ask.fields) {
        return precondition::Outcome::Proceed;
    }
    let bytes = |name| head.headers.get(name).map(HeaderValue::as_bytes);
    let representation = Representation {
        etag: bytes(header::ETAG),
        last_modified: bytes(header::LAST_MODIFIED),
        date: None,
    };
    precondition::judge(&ask.method, &ask.fields, &representation, ask.now)
}
