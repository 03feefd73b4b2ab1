//! Descriptors that no connection to a server may take. Without any, nobody could be answered from the store, nor could
//! anyone look.

use rustix::{
    io::Errno,
    process::{Resource, getrlimit},
};
use std::{io, os::fd::AsRawFd};

/// How many descriptors are kept. If the limit is low, a quarter of it.
const KEPT: u64 = 96;

/// Returns a new socket unless it has one of the last descriptors that the system lets this process open. The system
/// gives the lowest free number first.
///
/// # Errors
/// The descriptor is one of the last (`EMFILE`).
pub(crate) fn granted<S: AsRawFd>(socket: S) -> io::Result<S> {
    let Some(limit) = getrlimit(Resource::Nofile).current else {
        return Ok(socket);
    };
    let number = u64::try_from(socket.as_raw_fd()).unwrap_or_default();
    if is_free(number, limit) {
        Ok(socket)
    } else {
        Err(Errno::MFILE.into())
    }
}

fn is_free(number: u64, limit: u64) -> bool {
    number < limit - KEPT.min(limit / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_are_kept() {
        for (number, limit, free) in [
            (927, 1024, true),
            (928, 1024, false),
            (5000, 1024, false),
            (74, 100, true),
            (75, 100, false),
            (0, 0, false),
            (0, 1, true),
        ] {
            assert_eq!(is_free(number, limit), free, "{number} of {limit}");
        }
    }
}
