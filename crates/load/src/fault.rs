//! Why a request got no complete answer. Such requests are counted by kind and are in no latency.

use serde::Serialize;
use std::io;

/// Why a request got no complete answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The host's name has no address.
    UnknownHost,
    /// Nobody listens there.
    Refused,
    /// There is no route to the host, or it does not accept connections for another reason.
    Unreachable,
    /// The connection did not open in time.
    ConnectTimeout,
    /// The TLS handshake failed, or the server cannot prove its identity.
    Tls,
    /// The server closed the connection before the answer was complete.
    Closed,
    /// The server reset the connection.
    Reset,
    /// The head of the answer did not come in time.
    Timeout,
    /// The head came, but the answer did not end in time.
    Endless,
    /// What came is not HTTP.
    Garbage,
    /// The server refused or broke the HTTP/2 exchange.
    Http2,
    /// This machine has no descriptor or port left: the tool's own fault, not the server's.
    Local,
}

impl Fault {
    /// All of them, in the order in which they are reported.
    pub const ALL: [Self; 12] = [
        Self::UnknownHost,
        Self::Refused,
        Self::Unreachable,
        Self::ConnectTimeout,
        Self::Tls,
        Self::Closed,
        Self::Reset,
        Self::Timeout,
        Self::Endless,
        Self::Garbage,
        Self::Http2,
        Self::Local,
    ];

    /// Returns its name in results. Names do not change.
    pub fn name(self) -> &'static str {
        match self {
            Self::UnknownHost => "unknown-host",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::ConnectTimeout => "connect-timeout",
            Self::Tls => "tls",
            Self::Closed => "closed",
            Self::Reset => "reset",
            Self::Timeout => "timeout",
            Self::Endless => "endless",
            Self::Garbage => "garbage",
            Self::Http2 => "http2",
            Self::Local => "local",
        }
    }

    /// Returns its meaning, for a person.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::UnknownHost => "the host's name has no address",
            Self::Refused => "nobody listens there",
            Self::Unreachable => "no connection to the host",
            Self::ConnectTimeout => "the connection did not open in time",
            Self::Tls => "the TLS handshake failed",
            Self::Closed => "the server closed before the answer was whole",
            Self::Reset => "the server reset the connection",
            Self::Timeout => "no answer in time",
            Self::Endless => "the answer did not end in time",
            Self::Garbage => "what came is not HTTP",
            Self::Http2 => "the server broke the HTTP/2 exchange",
            Self::Local => "this machine has no descriptor or port left",
        }
    }

    /// Translates an error while connecting.
    pub(crate) fn connecting(error: &io::Error) -> Self {
        use io::ErrorKind::{AddrInUse, AddrNotAvailable, ConnectionRefused, TimedOut};
        match error.kind() {
            ConnectionRefused => Self::Refused,
            TimedOut => Self::ConnectTimeout,
            AddrInUse | AddrNotAvailable => Self::Local,
            _ if out_of_descriptors(error) => Self::Local,
            _ => Self::Unreachable,
        }
    }

    /// Translates an error on an open connection.
    pub(crate) fn exchanging(error: &io::Error) -> Self {
        use io::ErrorKind::{ConnectionReset, InvalidData};
        match error.kind() {
            ConnectionReset => Self::Reset,
            // rustls reports this for a peer that breaks TLS after the handshake.
            InvalidData => Self::Tls,
            _ => Self::Closed,
        }
    }
}

fn out_of_descriptors(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE]
        .iter()
        .any(|errno| code == Some(errno.raw_os_error()))
}
