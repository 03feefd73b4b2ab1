//! What heads over HTTP/2 take of the budget. The `Meter` counts those of requests over HTTP/1 as they come.

use super::super::{
    fault::Fault, field_map::places, meter::SHORT, request_body::counted, watch::Watch,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, header};
use store::Reservation;

/// About what `h2` keeps of an answer until it is sent, beside its fields, in bytes.
const BESIDE: usize = 1024;

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

/// Counts the head of an answer, or its trailers, until it is written: `h2` keeps it as long as the socket takes
/// nothing, and does not tell. So the value of one field, `Date` in a head, holds the room. It is marked as one that is
/// never indexed (RFC 7541 section 7.1.3), since `h2` keeps what it has indexed.
///
/// # Errors
/// What is in flight takes all of the budget, and the client takes nothing, or the head is long.
pub(super) fn count(watch: &Watch, fields: &mut HeaderMap) -> Result<(), Fault> {
    let Some(memory) = &watch.worker.memory else {
        return Ok(());
    };
    let held: usize = fields.values().map(HeaderValue::len).sum();
    if memory.is_exhausted() && (watch.is_blocked() || held > SHORT) {
        return Err(Fault::NoRoom);
    }
    let mut room = memory.budget().reservation();
    room.take((BESIDE + places(fields) + held) as u64);
    memory.make_room();
    let holder = if fields.contains_key(header::DATE) {
        fields.get_mut(header::DATE)
    } else {
        fields.values_mut().next()
    };
    if let Some(holder) = holder {
        let text = counted(Bytes::copy_from_slice(holder.as_bytes()), Some(room));
        // It is valid: it was a value.
        if let Ok(mut value) = HeaderValue::from_maybe_shared(text) {
            value.set_sensitive(true);
            *holder = value;
        }
    }
    Ok(())
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
