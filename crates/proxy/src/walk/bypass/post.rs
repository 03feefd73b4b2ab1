//! The answer to a POST that is stored as that to a later GET.

use crate::{
    ask::Ask,
    body::Content,
    cache::Worker,
    outcome::{Detail, Unkept},
    walk::{
        admit::{self, Admitted, Times},
        arrival::Arrival,
        fetch,
        forward::begin_fill,
        pump::{Destination, Pump, Room},
    },
};
use http::{Method, StatusCode, response};
use http_body::Body as _;
use origin::ResponseBody;
use std::{rc::Rc, sync::Arc};

/// What becomes of the answer to a POST.
#[allow(
    clippy::large_enum_variant,
    reason = "taken apart where it is made: a box would be one more allocation a request"
)]
pub(super) enum Post {
    /// It is stored on its way to the client, as the answer to a later GET.
    Stored(Content),
    Passed(ResponseBody, Detail),
}

/// RFC 9110 section 9.3.3: storable with explicit freshness and a `Content-Location` that is the target. Its success has
/// just invalidated the target, so the ticket is drawn anew; the caller has made sure that nobody else did.
pub(super) fn store_post(
    worker: &Rc<Worker>,
    ask: &Rc<Ask>,
    head: &response::Parts,
    body: ResponseBody,
    times: Times,
) -> Post {
    let storable = match admit::judge(ask, &Method::POST, times, head.status, &head.headers) {
        Ok(storable) => storable,
        Err(why) => return Post::Passed(body, Detail::NotStored(why)),
    };
    let length = body.size_hint().exact();
    let room = Room::of(worker, ask);
    let ticket = worker.cache.memory.begin();
    let (fill, mut writer) = begin_fill(worker);
    if !room.admits(worker, ask, length, &mut writer) {
        return Post::Passed(body, Detail::Unkept(Unkept::TooLarge));
    }
    let Some(reader) = fill.reader() else {
        return Post::Passed(body, Detail::Unkept(Unkept::Invalidated));
    };
    let mut head = fetch::clone_head(head);
    head.status = StatusCode::OK;
    let ask = ask.clone();
    let destination = Destination::Then(Box::new(move |worker, body| {
        let admitted = Admitted::new(&ask, storable, &head.headers);
        let (stored, _) =
            admit::new_stored(worker, &ask, ticket, head, admitted, body, times.response);
        let most = ask.site.most_variants;
        let _ = worker
            .cache
            .memory
            .insert(ask.key.as_bytes(), ticket, Arc::new(stored), most);
    }));
    let pump = Pump::new(worker, Arrival::new(body), writer, destination, room);
    tokio::task::spawn_local(pump.run());
    Post::Stored(Content::following(reader, length))
}
