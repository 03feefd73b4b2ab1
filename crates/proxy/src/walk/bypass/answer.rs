//! The way back of an answer that bypassed the store. `post` stores the answer to a POST; `head` applies that to a HEAD
//! to what is stored; `gone` says whether the page is gone for everybody.

use super::{
    gone, head,
    post::{Post, is_untouched, store_post},
};
use crate::{
    ask::{Ask, Upgrade},
    body::{self, Content, ReplyBody, Unstored},
    cache::Worker,
    error::Failure,
    outcome::{Detail, Outcome, bump},
    walk::{
        admit::Times,
        coding,
        deliver::{self, Received},
        esi, invalidate,
        lookup::{Bypassed, bypassed},
        outbound, page, tiers, tunnel,
    },
};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header, response};
use hyper_util::rt::TokioIo;
use origin::ResponseBody;
use rules::{status::Handled, storable::NotStorable};
use std::rc::Rc;
use store::Ticket;

/// What is known of an exchange that bypassed the store, besides its answer.
pub(super) struct Exchanged {
    /// Why it bypassed the store.
    pub why: Bypassed,
    /// When it took place, with the ticket drawn before its request went out.
    pub asked: Asked,
    /// The cache groups that its answer invalidates, as far as they are those of responses in the tiers below.
    pub groups: Vec<String>,
    /// Its outcome so far, until the answer is complete.
    pub outcome: Outcome,
}

/// When an exchange took place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// As the log of purges counts: the ticket of what its answer brings.
    pub ticket: Ticket,
    /// As clocks count.
    pub times: Times,
}

/// Handles an answer: invalidates, freshens or stores, and sends the answer back.
pub(super) fn land(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    response: Response<ResponseBody>,
    upgrade: Option<Upgrade>,
    exchanged: Exchanged,
) -> Response<ReplyBody> {
    let Exchanged {
        why,
        asked,
        groups,
        mut outcome,
    } = exchanged;
    let status = response.status();
    outcome.handled = with_status(outcome.handled, status, false);
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return switch(worker, ask, response, upgrade, &outcome);
    }
    let may_fill = bypassed::may_fill(ask);
    // If it was meant with another method, its answer is not known to be that to a POST.
    let is_post = ask.method == Method::POST && !outbound::is_overridden(&ask.fields);
    let before = worker.cache.memory.begin();
    let is_current = is_post
        && may_fill
        && is_untouched(worker, ask, response.headers(), asked.ticket)
        && !ask.is_overruled(worker);
    let own = invalidate::invalidate(worker, ask, status, response.headers(), groups);
    let ticket = worker.cache.memory.begin();
    // Nothing else was purged in between if the log has moved only by what the answer itself invalidates.
    let is_current = is_current && ticket.log_at == before.log_at + own;
    let (head, body) = response.into_parts();
    if gone::is_said(ask, why, status) {
        tiers::withdraw_chosen(worker, ask, None, asked.ticket);
    } else if head::is_heard(ask, why) {
        head::says(worker, ask, &head, asked);
    }
    let content = if is_current {
        match store_post(worker, ask, &head, body, Asked { ticket, ..asked }) {
            Post::Stored(content, fresh) => {
                bump(&worker.counters.stored);
                outcome.handled = with_status(outcome.handled, status, true);
                outcome.ttl = fresh.map(rules::status::ttl);
                content
            }
            Post::Passed(body, why) => {
                let says_more = !matches!(why, Detail::NotStored(NotStorable::Method));
                outcome.detail = outcome.detail.or(says_more.then_some(why));
                Content::Origin(Unstored::new(body, &worker.counters))
            }
        }
    } else {
        Content::Origin(Unstored::new(body, &worker.counters))
    };
    pass_on(worker, ask, head, content, &outcome)
}

fn with_status(handled: Handled, status: StatusCode, stored: bool) -> Handled {
    match handled {
        Handled::Forwarded { why, collapsed, .. } => Handled::Forwarded {
            why,
            status: Some(status.as_u16()),
            stored,
            collapsed,
        },
        other => other,
    }
}

/// Sends the end-to-end part of the answer back as it came.
fn pass_on(
    worker: &Rc<Worker>,
    ask: &Ask,
    head: response::Parts,
    content: Content,
    outcome: &Outcome,
) -> Response<ReplyBody> {
    let status = head.status;
    let is_page = page::is_raw_page(ask, status, &head.headers);
    let announced = body::announced(ask, &head);
    let mut received = Received::new(ask, head, outcome);
    if status == StatusCode::NOT_MODIFIED
        && let Some(tag) = coding::matching_tag_of(ask, &received.fields)
    {
        received.names(tag);
    }
    let content = if is_page {
        esi::raw(worker, ask, status, &mut received.fields, content).content
    } else {
        content
    };
    let content = received.coded(worker, ask, content);
    let mut fields = received.fields;
    if matches!(content, Content::Origin(_)) {
        // Only content that goes out as it came has trailers.
        fields.extend(announced.map(|names| (header::TRAILER, names)));
    }
    deliver::finish(worker, ask, status, fields, content, outcome)
}

/// Whether 101 with these fields switches to a protocol that the client asked for (RFC 9110 section 7.8). If it names
/// none, it is believed. A switch to `h2c` is not: `ask::protocol` offers it to no origin, but the application may
/// find the offer where we do not.
fn is_to_what_was_asked(fields: &HeaderMap, client: &Upgrade) -> bool {
    let lines = fields.get_all(header::UPGRADE).iter();
    lines.flat_map(protocols).all(|name| {
        let is_asked = protocols(&client.protocol).any(|asked| asked.eq_ignore_ascii_case(name));
        is_asked && !name.eq_ignore_ascii_case(b"h2c")
    })
}

/// The protocols that a line names, as bytes: other characters that text counts as blanks belong to a name.
fn protocols(line: &HeaderValue) -> impl Iterator<Item = &[u8]> {
    let names = line.as_bytes().split(|byte| *byte == b',');
    names.map(<[u8]>::trim_ascii)
}

/// Handles a 101: from here on bytes pass in both directions untouched.
fn switch(
    worker: &Worker,
    ask: &Ask,
    mut response: Response<ResponseBody>,
    client: Option<Upgrade>,
    outcome: &Outcome,
) -> Response<ReplyBody> {
    let Some(client) = client.filter(|client| is_to_what_was_asked(response.headers(), client))
    else {
        bump(&worker.counters.origin_errors);
        return deliver::failure(worker, ask, &Failure::UnaskedSwitch);
    };
    let origin = hyper::upgrade::on(&mut response);
    let connection = &ask.receipt.connection;
    let patience = tunnel::Patience {
        ended: connection.idle_time,
        untaken: connection.write_time,
    };
    let (head, serving) = response.into_parts();
    let Received { status, fields, .. } = Received::new(ask, head, outcome);
    let mut answer = deliver::finish(worker, ask, status, fields, Content::Empty, outcome);
    // For the access log, the bytes that pass through the tunnel are the answer's content.
    let mut ending = answer.body_mut().unwatched();
    tokio::task::spawn_local(async move {
        if let (Ok(client), Ok(origin)) = tokio::join!(client.client, origin) {
            let (client, origin) = (TokioIo::new(client), TokioIo::new(origin));
            let sent = |bytes| {
                if let Some(ending) = &mut ending {
                    ending.sent(bytes);
                }
            };
            tunnel::pass(client, origin, patience, sent).await;
        }
        // Until here the server counts this request as one that it serves.
        drop(serving);
    });
    answer
}
