//! Answers that go out as the origin sent them.

use super::{
    X_CACHE,
    browsers::{self, Told},
    finish, hit_or_miss,
};
use crate::{
    ask::Ask,
    body::{Content, ReplyBody},
    cache::Worker,
    clock,
    outcome::Outcome,
    walk::{admit, coding, esi, page, shape::Shaped},
};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header, response};
use rules::{
    directives::forbids_transform,
    fields::{self, has},
    precondition::{self, Representation},
    status::Handled,
};
use std::{rc::Rc, time::Duration};
use store::X_CACHE_DEBUG;

/// The end-to-end part of an answer that goes out as it came, with what a recipient adds.
pub struct Received {
    /// The origin's status.
    pub status: StatusCode,
    /// Its fields as a recipient passes them on: without those of its connection and those for us alone.
    pub fields: HeaderMap,
    may_be_coded: bool,
}

impl Received {
    /// Takes an answer with this head.
    pub fn new(ask: &Ask, head: response::Parts, outcome: &Outcome) -> Self {
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
        let mut lines = fields::lines(&fields);
        let may_be_coded = !lines.any(|(name, value)| forbids_transform(name, value));
        drop(lines);
        // This also removes the fields that are for us alone.
        admit::complete(ask, version, &mut fields, clock::now);
        if has(&fields, &X_CACHE_DEBUG) {
            fields.insert(X_CACHE, hit_or_miss(outcome));
        }
        Self {
            status,
            fields,
            may_be_coded,
        }
    }

    /// Sets the tag by which the client holds the content. If it is a form's, the answer depends on `Accept-Encoding`.
    pub fn names(&mut self, tag: HeaderValue) {
        if self.fields.get(header::ETAG) != Some(&tag) {
            self.fields.insert(header::ETAG, tag);
            rules::coding::vary_by_coding(&mut self.fields);
        }
    }

    /// Codes its content on the way, if that is allowed.
    pub fn coded(&mut self, worker: &Worker, ask: &Ask, content: Content) -> Content {
        if self.may_be_coded {
            coding::passed(worker, ask, self.status, &mut self.fields, content)
        } else {
            content
        }
    }

    /// Adds to `Vary` what [`coded`](Self::coded) adds, for an answer without content in its place.
    fn vary(&mut self, ask: &Ask) {
        if self.may_be_coded {
            coding::vary_passed(ask, self.status, &mut self.fields);
        }
    }
}

/// Answers with what the origin sent, as it came.
pub fn raw(
    worker: &Rc<Worker>,
    ask: &Ask,
    head: response::Parts,
    content: Content,
    outcome: &Outcome,
) -> Response<ReplyBody> {
    let facts = browsers::facts(ask, &head, outcome);
    let is_page = page::is_raw_page(ask, head.status, &head.headers);
    let of_form = (ask.said.conditions)
        .then(|| coding::tag_on_its_way(ask, head.status, &head.headers))
        .flatten();
    let condition = client_condition(ask, &head, of_form.as_ref());
    let mut received = Received::new(ask, head, outcome);
    let status = received.status;
    let is_of_content = status.is_success() || status == StatusCode::NOT_MODIFIED;
    let named =
        coding::matching_tag_of(ask, &received.fields).filter(|_| is_of_content && !is_page);
    let condition = if named.is_some() {
        precondition::Verdict::NotModified
    } else {
        condition
    };
    if condition == precondition::Verdict::NotModified
        && !is_page
        && let Some(tag) = named.or(of_form)
    {
        received.names(tag);
    }
    let content = match condition {
        _ if is_page => {
            let fields = &mut received.fields;
            let Shaped { status, content } = esi::raw(worker, ask, status, fields, content);
            received.status = status;
            received.coded(worker, ask, content)
        }
        precondition::Verdict::Proceed | precondition::Verdict::Failed => {
            let content = match ask.method {
                Method::HEAD => Content::Empty,
                _ => content,
            };
            received.coded(worker, ask, content)
        }
        precondition::Verdict::NotModified => {
            received.vary(ask);
            precondition::trim_not_modified(&mut received.fields);
            received.status = StatusCode::NOT_MODIFIED;
            Content::Empty
        }
    };
    let Received {
        status, mut fields, ..
    } = received;
    if let Some(facts) = &facts {
        let told = Told {
            status,
            outcome,
            facts,
            age: Duration::ZERO,
        };
        browsers::tell(ask, &mut fields, &told);
    }
    finish(worker, ask, status, fields, content, outcome)
}

/// Whether cookies are removed: a part that is stored on its way is stored without them if the site strips them, so no
/// client gets them.
fn strips_cookies(ask: &Ask, outcome: &Outcome) -> bool {
    use rules::storable::SetCookie;
    ask.policy().set_cookie == SetCookie::Strip
        && matches!(outcome.handled, Handled::Forwarded { stored: true, .. })
}

/// Whether the client's own conditions turn the origin's answer into another. `of_form` is the tag with which the
/// answer goes out, if that is not the origin's.
fn client_condition(
    ask: &Ask,
    head: &response::Parts,
    of_form: Option<&HeaderValue>,
) -> precondition::Verdict {
    if !head.status.is_success() || !precondition::any(&ask.fields) {
        return precondition::Verdict::Proceed;
    }
    let bytes = |name| head.headers.get(name).map(HeaderValue::as_bytes);
    let representation = Representation {
        etag: of_form.map_or_else(|| bytes(header::ETAG), |tag| Some(tag.as_bytes())),
        last_modified: bytes(header::LAST_MODIFIED),
        date: None,
    };
    precondition::judge(&ask.method, &ask.fields, &representation, ask.now)
}
