//! A connection is accepted with its first bytes.
//!
//! Clients of HTTP, and of TLS and the PROXY protocol below it, speak first. So a worker need not wake for a connection that has said
//! nothing, ask it in vain, and wake again for what it says: the kernel holds it until then, which is a tenth of what a
//! connection with one request costs. A connection that is held when the program ends learns it when it speaks.

use nix::sys::socket::{setsockopt, sockopt::SetUsize};
use std::os::fd::AsFd;

/// How long the kernel holds a silent connection, in seconds. From then on it is the worker's, and counts against its limits, those of
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

/// Has `listener` hold connections until they say something.
pub(super) fn defer(listener: &impl AsFd) {
    // Without it, they come at once.
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
