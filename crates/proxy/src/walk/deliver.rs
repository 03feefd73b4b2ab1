//! Deliver: turns what was found or fetched into the answer that the client gets: its own conditions and ranges, `Age`,
//! `Cache-Status`, body.

mod browsers;
mod own;
mod raw;

pub use own::{ended, failed_forward, failure, redirect_https, refusal};
pub use raw::{Received, raw};

use crate::{
    ask::Ask,
    body::{Content, ReplyBody},
    cache::Worker,
    clock,
    error::Failure,
    heads,
    outcome::Outcome,
    user_group,
    walk::{
        coding::{self, Chosen},
        esi,
        lookup::Hit,
        outbound::edit,
        page, report,
        shape::{self, Shaped},
        tiers,
    },
};
use browsers::Told;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use rules::status::Handled;
use std::{rc::Rc, sync::Arc};
use store::{Stored, fill::Reader};

const X_CACHE: HeaderName = HeaderName::from_static("x-cache");

/// Answers with a stored response.
pub fn stored(worker: &Rc<Worker>, ask: &Ask, hit: Hit) -> Response<ReplyBody> {
    let Hit {
        stored,
        mut reader,
        outcome,
        mut own,
    } = hit;
    tiers::used(worker, ask, &stored, &outcome);
    if page::may_be_page(ask, &stored)
        && let Some((fields, shaped)) = page(worker, ask, &stored, &mut reader, own.as_deref())
    {
        return shaped_stored(worker, ask, &stored, fields, shaped, &outcome);
    }
    let id = stored.id();
    let chosen = coding::choose(worker, ask, stored, reader);
    if let Some(own) = &mut own
        && chosen.stored.id() != id
    {
        // They are now sent with a form.
        let form = &chosen.stored.fields;
        rules::coding::describe_as(own, |name| form.get(name));
    }
    in_form(worker, ask, chosen, own, &outcome)
}

/// Answers with the chosen form of a stored response. `own` are the fields for this client, if they are more than what
/// is stored.
pub fn in_form(
    worker: &Rc<Worker>,
    ask: &Ask,
    chosen: Chosen,
    own: Option<Box<HeaderMap>>,
    outcome: &Outcome,
) -> Response<ReplyBody> {
    match coded(worker, ask, chosen, own, outcome.has_new_content()) {
        Ok((stored, fields, shaped)) => {
            shaped_stored(worker, ask, &stored, fields, shaped, outcome)
        }
        Err(why) => failure(worker, ask, &why),
    }
}

/// Answers with a shaped stored response.
#[inline]
fn shaped_stored(
    worker: &Worker,
    ask: &Ask,
    stored: &Stored,
    mut fields: HeaderMap,
    shaped: Shaped,
    outcome: &Outcome,
) -> Response<ReplyBody> {
    let Shaped { status, content } = shaped;
    let collapsed = matches!(
        outcome.handled,
        Handled::Forwarded {
            collapsed: true,
            ..
        }
    );
    let waited =
        outcome.waited || collapsed || outcome.origin_time.is_some() || outcome.is_on_failure();
    let age = stored
        .facts
        .age(if waited { clock::now() } else { ask.now });
    // An answer that no origin has just confirmed has an `Age`, even of zero seconds (RFC 9111 section 4). One that an
    // origin has confirmed has one if the origin's answer had: an `Age` of ours would mean that it was not generated
    // for this request (section 5.1).
    let unconfirmed = collapsed || outcome.handled == Handled::Hit || outcome.is_on_failure();
    if unconfirmed || outcome.aged {
        let age = worker.field_values.borrow_mut().age(age.as_secs());
        fields.insert(header::AGE, HeaderValue::clone(&age));
    } else {
        heads::clear_unset(&mut fields, &header::AGE);
    }
    if stored.is_debugged() {
        fields.insert(X_CACHE, hit_or_miss(outcome));
    }
    let told = Told {
        status,
        outcome,
        facts: &stored.facts,
        age,
    };
    browsers::tell(ask, &mut fields, &told);
    finish(worker, ask, status, fields, content, outcome)
}

/// The value that `FOSHttpCache` wants for its tests.
fn hit_or_miss(outcome: &Outcome) -> HeaderValue {
    HeaderValue::from_static(match outcome.handled {
        Handled::Hit => "HIT",
        Handled::Forwarded { .. } | Handled::Own => "MISS",
    })
}

/// Returns a stored response in the coding that the client gets. `is_new` says that its content has just come.
#[inline]
fn coded(
    worker: &Worker,
    ask: &Ask,
    chosen: Chosen,
    own: Option<Box<HeaderMap>>,
    is_new: bool,
) -> Result<(Arc<Stored>, HeaderMap, Shaped), Failure> {
    let Chosen {
        stored,
        reader,
        then,
    } = chosen;
    let mut fields = match own {
        Some(own) => *own,
        None => worker.heads.borrow_mut().head(&stored),
    };
    let mut shaped = shape::shape(ask, &stored, reader, &then, &mut fields, is_new);
    if shaped.status == stored.status {
        shaped.content = coding::apply(worker, ask, &stored, &then, &mut fields, shaped.content)?;
    }
    Ok((stored, fields, shaped))
}

/// Composes a stored page of fragments. Returns `None`, and leaves the reader, if it is none.
fn page(
    worker: &Rc<Worker>,
    ask: &Ask,
    stored: &Arc<Stored>,
    reader: &mut Option<Reader>,
    own: Option<&HeaderMap>,
) -> Option<(HeaderMap, Shaped)> {
    let mut fields = match own {
        Some(own) => own.clone(),
        None => worker.heads.borrow_mut().head(stored),
    };
    let Shaped { status, content } = esi::stored(worker, ask, stored, reader, &mut fields)?;
    let content = coding::passed(worker, ask, status, &mut fields, content);
    Some((fields, Shaped { status, content }))
}

/// Finishes every answer to a routed request.
pub fn finish(
    worker: &Worker,
    ask: &Ask,
    status: StatusCode,
    mut fields: HeaderMap,
    content: Content,
    outcome: &Outcome,
) -> Response<ReplyBody> {
    // The answer to a request of our own is for us: it keeps what clients are not to see.
    let for_client = ask.within.is_none();
    let memory = &worker.cache.memory;
    let is_made = ask.composed.get() && !content.is_ended();
    if for_client && (content.passes() || is_made) && memory.is_exhausted() {
        // The answer in its place is not composed.
        ask.composed.set(false);
        return failure(worker, ask, &Failure::NoRoom);
    }
    let content = if for_client {
        let splices = ask.receipt.connection.splices.as_ref();
        content.counted(memory, ask).spliced(splices)
    } else {
        content
    };
    let policy = ask.policy();
    if policy.user_context.is_some() && for_client {
        user_group::translate(&mut fields);
    }
    report::fields(worker, &mut fields, &ask.site, status, outcome, Some(ask));
    if !policy.to_client.edits.is_empty() && for_client {
        let is_coded_here = policy.compress.as_ref().is_some_and(|compress| {
            let kind = fields.get(header::CONTENT_TYPE);
            let kind = kind.map(HeaderValue::as_bytes).unwrap_or_default();
            rules::coding::varies_by_coding(&fields)
                && rules::coding::is_meant(kind, &compress.types)
        });
        edit(&mut fields, &policy.to_client.edits);
        if is_coded_here {
            rules::coding::vary_by_coding(&mut fields);
        }
    }
    let mut response = assemble(status, fields, content);
    report::note(worker, ask, status, outcome, response.body_mut());
    response
}

/// Gives back a request's fields that are not needed any more, to serve the next request with the same fields.
pub fn give_fields_back(ask: &mut Rc<Ask>, response: &mut Response<ReplyBody>) {
    if let Some(ask) = Rc::get_mut(ask)
        && ask.policy().user_context.is_none()
        && ask.within.is_none()
    {
        // With groups, and in an include, they are not the fields that came.
        response.body_mut().gives_back(ask.fields_as_they_came());
    }
}

fn assemble(status: StatusCode, fields: HeaderMap, content: Content) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::from(content));
    *response.status_mut() = status;
    *response.headers_mut() = fields;
    response
}

/// Whether the answer's content comes from a fill and is read to its end.
pub fn reads_fill(response: &Response<ReplyBody>) -> bool {
    response.body().follows()
}
