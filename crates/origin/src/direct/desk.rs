//! Memory that the exchanges of one worker use in turn, so that none holds any while it waits.

use std::cell::Cell;

/// What is read at once, in bytes. More than most answers have: a read that does not fill it tells the runtime that there is
/// nothing more, and spares the question.
pub(super) const READ: usize = 64 * 1024;

/// A longer request's memory is given back.
const LONGEST: usize = 64 * 1024;

thread_local! {
    static READING: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static WRITING: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
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
