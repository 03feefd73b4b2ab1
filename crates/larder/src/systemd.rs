//! Notifies systemd of the state of the program, as in `sd_notify(3)`: one datagram to the socket that `NOTIFY_SOCKET`
//! names.

use rustix::time::{ClockId, clock_gettime};
use std::{
    env,
    ffi::OsStr,
    io,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr, UnixDatagram},
        },
    },
    time::Duration,
};

/// How long a supervisor that is busy is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// A state that systemd is notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The program serves, after a start or a reload.
    Ready,
    /// The program reads its configuration again.
    Reloading,
    /// The program is stopping.
    Stopping,
}

impl State {
    fn text(self) -> String {
        match self {
            Self::Ready => "READY=1".to_owned(),
            Self::Reloading => {
                let now = clock_gettime(ClockId::Monotonic);
                let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
                format!("RELOADING=1\nMONOTONIC_USEC={micros}")
            }
            Self::Stopping => "STOPPING=1".to_owned(),
        }
    }
}

/// Notifies systemd, if it started the program; does nothing otherwise.
pub fn notify(state: State) {
    if let Some(socket) = env::var_os("NOTIFY_SOCKET") {
        // A supervisor that does not take the message does not need it, and nothing waits for ever for one that reads
        // nothing.
        let _ = send(&socket, &state.text());
    }
}

fn send(socket: &OsStr, text: &str) -> io::Result<usize> {
    let own = UnixDatagram::unbound()?;
    own.set_write_timeout(Some(PATIENCE))?;
    own.send_to_addr(text.as_bytes(), &address(socket)?)
}

/// Reads the address: a path, or after `@` an abstract name that is no file (unix(7)).
fn address(socket: &OsStr) -> io::Result<SocketAddr> {
    match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(socket),
    }
}
