//! The answer to a POST that is stored as the answer to a later GET.

use super::answer::Asked;
use crate::{
    ask::Ask,
    body::Content,
    cache::Worker,
    outcome::{Detail, Unkept},
    walk::{
        admit::{self, Admitted},
        arrival::Arrival,
        fetch,
        pump::{Destination, Pump, Room, begin_fill},
    },
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, response};
use http_body::Body as _;
use origin::ResponseBody;
use std::{rc::Rc, sync::Arc, time::Duration};
use store::{Ticket, purge::Label};

/// What becomes of the answer to a POST.
#[allow(
    clippy::large_enum_variant,
    reason = "taken apart where it is made: a box would be one more allocation a request"
)]
pub(super) enum Post {
    /// It is stored on its way to the client, as the answer to a later GET. It is fresh for this long, if at all.
    Stored(Content, Option<Duration>),
    Passed(ResponseBody, Detail),
}

/// Whether no purge since `ticket`, not even a soft one, covers an answer with these fields. If one does, the answer
/// may be older than the change that the purge was sent for.
pub(super) fn is_untouched(worker: &Worker, ask: &Ask, fields: &HeaderMap, ticket: Ticket) -> bool {
    let log = worker.cache.memory.log();
    if ticket.log_at == log.head() {
        return true;
    }
    let tags = admit::tags(ask, fields, None);
    let content_type = fields.get(header::CONTENT_TYPE);
    !log.has_touched(&Label {
        key: ask.key.as_bytes(),
        checked: ticket.log_at,
        content_type: content_type.map_or(&[], HeaderValue::as_bytes),
        tags: tags.iter().map(String::as_str).collect(),
    })
}

/// Stores the answer as RFC 9110 section 9.3.3 allows: with explicit freshness and a `Content-Location` that is the
/// target. Its success has just invalidated the target, so the ticket was drawn after that. The caller has made sure that
/// nothing else was purged meanwhile.
pub(super) fn store_post(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    head: &response::Parts,
    body: ResponseBody,
    Asked { ticket, times }: Asked,
) -> Post {
    let storable = match admit::judge(ask, &Method::POST, times, head.status, &head.headers) {
        Ok(storable) => storable,
        Err(why) => return Post::Passed(body, Detail::NotStored(why)),
    };
    let length = body.size_hint().exact();
    let room = Room::of(worker, ask);
    let (fill, mut writer) = begin_fill(worker);
    if let Err(why) = room.admits(worker, ask, length, &mut writer) {
        return Post::Passed(body, Detail::Unkept(why));
    }
    let Some(reader) = fill.reader() else {
        return Post::Passed(body, Detail::Unkept(Unkept::Invalidated));
    };
    let fresh = storable.facts.remaining(times.response);
    let mut head = fetch::clone_head(head);
    head.status = StatusCode::OK;
    let ask = ask.clone();
    let destination = Destination::Then(Box::new(move |worker, body| {
        let admitted = Admitted::new(&ask, storable, &head.headers);
        let (stored, _) =
            admit::new_stored(worker, &ask, ticket, head, admitted, body, times.response);
        let most = ask.site.most_variants;
        let memory = &worker.cache.memory;
        let inserted = memory.insert(ask.key.as_bytes(), ticket, Arc::new(stored), most);
        inserted.is_ok()
    }));
    let pump = Pump::new(worker, Arrival::new(body), writer, destination, room);
    tokio::task::spawn_local(pump.run());
    Post::Stored(Content::following(reader, length), fresh)
}
