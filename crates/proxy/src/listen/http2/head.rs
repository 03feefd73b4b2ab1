//! What the heads of requests over HTTP/2 take of the budget. The `Meter` counts those of HTTP/1 as they come.

use super::super::{fault::Fault, meter::SHORT, watch::Watch};
use http::Request;
use store::Reservation;

/// Takes room for a head until it is answered, if memory is counted. A short one needs none.
pub(super) fn room<B>(watch: &Watch, request: &Request<B>) -> Result<Option<Reservation>, Fault> {
    let Some(memory) = &watch.worker.memory else {
        return Ok(None);
    };
    let size = size(request);
    if size <= SHORT {
        return Ok(None);
    }
    let mut room = memory.budget().reservation();
    let fits = room.grow_sparing(size as u64);
    memory.make_room();
    if fits {
        Ok(Some(room))
    } else {
        Err(Fault::NoRoom)
    }
}

/// The size of a head, much as RFC 9113 section 6.5.2 counts it: names and values, and 32 bytes for each field.
fn size<B>(request: &Request<B>) -> usize {
    let uri = request.uri();
    let target = uri.path_and_query().map_or(0, |path| path.as_str().len());
    let fields = request.headers().iter();
    fields.fold(target, |all, (name, value)| {
        all + name.as_str().len() + value.len() + 32
    })
}
