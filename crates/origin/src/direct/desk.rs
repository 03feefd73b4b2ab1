//! Memory that the exchanges of one worker use in turn, so that none holds any while it waits.

use bytes::{Bytes, BytesMut};
use std::cell::{Cell, RefCell};

/// Bytes read at once. This is more than most answers have: a read that does not fill it tells the runtime that nothing
/// more is there, and saves another call.
pub(super) const READ: usize = 64 * 1024;

/// The memory of a longer request is given back.
const LONGEST: usize = 64 * 1024;

/// Bytes of memory into which heads are copied one after another. All of it is held as long as one of them is needed.
const COPIES: usize = 4 << 10;

thread_local! {
    static HEADS: RefCell<BytesMut> = RefCell::new(BytesMut::with_capacity(COPIES));
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

/// Copies `head`. The memory of the heads that share a block is used again when the last of them is no longer needed.
pub(super) fn copy(head: &[u8]) -> Bytes {
    HEADS.with_borrow_mut(|heads| {
        heads.extend_from_slice(head);
        heads.split().freeze()
    })
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
