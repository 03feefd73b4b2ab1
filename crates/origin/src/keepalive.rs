//! TCP keepalive, the same for clients and servers.

use rustix::{
    io,
    net::sockopt::{set_socket_keepalive, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl},
};
use std::{os::fd::AsFd, time::Duration};

/// How long nothing comes before the other side is asked for a sign of life, the time between two questions, and how
/// many are asked.
const SILENCE: Duration = Duration::from_mins(1);
const INTERVAL: Duration = Duration::from_secs(15);
const QUESTIONS: u32 = 4;

/// Makes the kernel give up another side that has left without a word: two minutes after the last bytes, or once it has
/// sent some of ours again in vain for long enough. Tunnels have no other limit on silence. Set on a listener, it is
/// inherited by what is accepted there.
pub fn turn_on(socket: impl AsFd) {
    // A socket of another kind has no such option.
    let _ = try_to_turn_on(&socket);
}

fn try_to_turn_on(socket: impl AsFd) -> io::Result<()> {
    set_tcp_keepidle(&socket, SILENCE)?;
    set_tcp_keepintvl(&socket, INTERVAL)?;
    set_tcp_keepcnt(&socket, QUESTIONS)?;
    set_socket_keepalive(&socket, true)
}
