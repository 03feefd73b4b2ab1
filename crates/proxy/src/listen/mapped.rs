//! Bytes in [memory that the kernel sends](arena) without copying it.

mod pipe;

use super::socket::send;
use rustix::{fs::sendfile, io::retry_on_intr, net::SendFlags};
use std::{
    io::{self, IoSlice},
    os::fd::BorrowedFd,
};
use store::arena;

/// Returns the index of the first of `bufs` that is in that memory, and long enough to be worth it.
pub(super) fn first(bufs: &[IoSlice<'_>]) -> Option<usize> {
    let is_mapped = |buf: &IoSlice<'_>| buf.len() >= arena::LEAST && arena::place_of(buf).is_some();
    bufs.iter().position(is_mapped)
}

/// Writes `bufs` up to and including the one at `mapped`, as far as `socket` takes them.
///
/// An answer goes through a [`pipe`]. A client that takes only a part costs the pipe, which must be made again. So the
/// rest of the answer goes from the file. What stands before it is sent by itself: in the pipe it would take a page of
/// its own, and 100 KB cost a fifteenth more.
pub(super) fn write(
    socket: BorrowedFd<'_>,
    bufs: &[IoSlice<'_>],
    mapped: usize,
) -> io::Result<usize> {
    let (before, from) = bufs.split_at_checked(mapped).unwrap_or_default();
    let mut sent = 0;
    if !before.is_empty() {
        // In one packet with what follows.
        sent = send(socket, before, SendFlags::MORE)?;
        if sent < before.iter().map(|buf| buf.len()).sum() {
            return Ok(sent);
        }
    }
    let Some(buf) = from.first() else {
        return Ok(sent);
    };
    let Some((file, mut offset)) = arena::place_of(buf) else {
        return Ok(sent);
    };
    if !before.is_empty()
        && let Some(more) = pipe::send(socket, buf)
    {
        // The next call returns the error again.
        return Ok(sent + more.unwrap_or(0));
    }
    match retry_on_intr(|| sendfile(socket, file, Some(&mut offset), buf.len())) {
        Ok(more) => Ok(sent + more),
        // The next call returns the error again.
        Err(_) if sent > 0 => Ok(sent),
        Err(error) => Err(error.into()),
    }
}
