//! A request's content on its way to the origin: its limit, and the memory it may take.

use crate::{
    ask::Ask,
    cache::Worker,
    error::Failure,
    listen::{Cut, RequestBody},
};
use bytes::Bytes;
use http_body::Body as _;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};

pub(super) fn request_body(
    ask: &Ask,
    content: RequestBody,
) -> Result<origin::RequestBody, Failure> {
    if content.is_end_stream() {
        return Ok(Empty::<Bytes>::new()
            .map_err(|never| match never {})
            .boxed_unsync());
    }
    let Some(most) = ask.site.largest_request_body else {
        return Ok(content.map_err(Into::into).boxed_unsync());
    };
    if content.size_hint().lower() > most {
        return Err(Failure::BodyTooLarge);
    }
    Ok(Limited::new(content, usize::try_from(most).unwrap_or(usize::MAX)).boxed_unsync())
}

/// The memory that an origin may take for content that it cannot pass on as it comes.
pub(super) fn room(worker: &Worker) -> origin::Room {
    let memory = worker.cache.memory.clone();
    let mut held = memory.budget().reservation();
    Box::new(move |bytes| {
        let fits = held.grow(bytes);
        memory.make_room();
        fits
    })
}

/// Why sending the request's content failed, if that is why the request failed: it turned out to be longer than the
/// site allows, or did not come in time.
pub(super) fn cut(error: &origin::Error) -> Option<Failure> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return Some(Failure::BodyTooLarge);
        }
        if let Some(Cut::Late) = error.downcast_ref() {
            return Some(Failure::BodyTooLate);
        }
        cause = error.source();
    }
    None
}
