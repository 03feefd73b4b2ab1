//! Memory that the exchanges of one worker use in turn, so that none holds any while it waits.

use crate::upload::Outgoing;
use http::{HeaderMap, Request};
use rules::fields::Spares;
use std::cell::{Cell, RefCell};

/// What is read at once, in bytes. More than most answers have: a read that does not fill it tells the runtime that there is
/// nothing more, and spares the question.
pub(super) const READ: usize = 64 * 1024;

/// A longer request's memory is given back.
const LONGEST: usize = 64 * 1024;

thread_local! {
    static READING: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static WRITING: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static FIELDS: RefCell<Spares> = const { RefCell::new(Spares::new()) };
}

/// Lends [`READ`] bytes to read into.
pub(super) fn to_read<T>(act: impl FnOnce(&mut [u8]) -> T) -> T {
    let mut buffer = READING.take();
    if buffer.len() != READ {
        buffer.resize(READ, 0);
    }
    let done = act(&mut buffer);
    READING.set(buffer);
    done
}

/// Lends an empty buffer to write into.
pub(super) fn to_write<T>(act: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut buffer = WRITING.take();
    buffer.clear();
    let done = act(&mut buffer);
    if buffer.capacity() <= LONGEST {
        WRITING.set(buffer);
    }
    done
}

/// An empty map for an answer's fields.
pub(super) fn fields() -> HeaderMap {
    FIELDS.with_borrow_mut(Spares::take)
}

/// Has the fields of a request that is answered make room for those of another answer.
pub(crate) fn reuse(request: Request<Outgoing>) {
    let fields = request.into_parts().0.headers;
    FIELDS.with_borrow_mut(|spares| spares.keep(fields));
}
