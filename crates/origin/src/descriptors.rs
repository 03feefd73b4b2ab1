//! The last descriptors, which connections may not take: to servers none of the last 96, from clients none of the last 48.
//! Without any, no file could be read, and nobody could look.

use rustix::{
    io::Errno,
    process::{Resource, getrlimit},
};
use std::{io, os::fd::AsRawFd};

/// How many descriptors are kept from connections to servers. If the limit is low, a quarter of it.
const KEPT: u64 = 96;

/// Returns a new socket unless it has one of the last descriptors that the system lets this process open. The system
/// gives the lowest free number first.
///
/// # Errors
/// The descriptor is one of the last (`EMFILE`).
pub(crate) fn granted<S: AsRawFd>(socket: S) -> io::Result<S> {
    if is_granted(&socket, KEPT) {
        Ok(socket)
    } else {
        Err(Errno::MFILE.into())
    }
}

/// Whether a client may keep its connection. Half of what is kept from connections to servers is kept from clients too:
/// for files, and for who looks.
pub fn is_granted_to_client(socket: &impl AsRawFd) -> bool {
    is_granted(socket, KEPT / 2)
}

fn is_granted(socket: &impl AsRawFd, kept: u64) -> bool {
    let number = u64::try_from(socket.as_raw_fd()).unwrap_or_default();
    let limit = getrlimit(Resource::Nofile).current;
    limit.is_none_or(|limit| is_free(number, limit, kept))
}

fn is_free(number: u64, limit: u64, kept: u64) -> bool {
    let of_few = limit / 4 / (KEPT / kept);
    number < limit - kept.min(of_few)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_are_kept() {
        for (number, limit, kept, free) in [
            (927, 1024, KEPT, true),
            (928, 1024, KEPT, false),
            (975, 1024, KEPT / 2, true),
            (976, 1024, KEPT / 2, false),
            (5000, 1024, KEPT / 2, false),
            (74, 100, KEPT, true),
            (75, 100, KEPT, false),
            (87, 100, KEPT / 2, true),
            (88, 100, KEPT / 2, false),
            (0, 0, KEPT, false),
            (0, 1, KEPT, true),
            (0, u64::MAX, KEPT, true),
        ] {
            assert_eq!(is_free(number, limit, kept), free, "{number} of {limit}");
        }
    }
}
