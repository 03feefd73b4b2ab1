//! Connections are accepted with their first bytes.
//!
//! Clients of HTTP, and of TLS and the PROXY protocol below it, speak first. So the kernel holds a connection until it
//! has sent something. Otherwise the worker would wake for a silent connection, read from it in vain, and wake again
//! for the first bytes: a tenth of what a connection with one request costs. A connection that the kernel holds when
//! the program ends learns of it when it speaks.

use nix::sys::socket::{setsockopt, sockopt::SetUsize};
use std::os::fd::AsFd;

/// How long the kernel holds a silent connection, in seconds. Then the worker has it, and its limits apply, those of
/// time among them.
const HOLDS: usize = 1;

/// `TCP_DEFER_ACCEPT` (tcp(7)).
#[derive(Clone, Copy, Debug)]
struct DeferAccept;

nix::setsockopt_impl!(
    DeferAccept,
    libc::IPPROTO_TCP,
    libc::TCP_DEFER_ACCEPT,
    usize,
    SetUsize
);

/// Makes `listener` hold connections until they send something.
pub(super) fn defer(listener: &impl AsFd) {
    // On failure, connections come at once.
    let _ = setsockopt(listener, DeferAccept, &HOLDS);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::ErrorKind,
        net::{TcpListener, TcpStream},
    };

    #[test]
    fn a_silent_connection_is_held_for_a_while() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        defer(&listener);
        listener.set_nonblocking(true).unwrap();
        let silent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let early = listener.accept().map_err(|error| error.kind());
        assert_eq!(early.map(drop), Err(ErrorKind::WouldBlock));
        listener.set_nonblocking(false).unwrap();
        assert_eq!(listener.accept().unwrap().1, silent.local_addr().unwrap());
    }
}
