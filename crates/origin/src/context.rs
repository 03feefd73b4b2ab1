//! What the caller knows of a request beyond its message.

use crate::{Interim, Sent};
use bytes::Bytes;
use std::{
    fmt,
    net::{IpAddr, SocketAddr},
};

/// Takes that many more bytes of the memory that the caller can spare. If not that many are left, returns false and
/// takes nothing. Gives back everything when dropped.
pub type Room = Box<dyn FnMut(u64) -> bool + Send>;

/// What the caller knows of a request beyond its message.
#[derive(Default)]
pub struct Context {
    /// Input of consistent hashing: the same number selects the same server while that lives.
    pub hash: u64,
    /// Receives each 1xx except 100 and 101.
    pub interim: Option<Interim>,
    /// Whether the request may be sent again to another server: its method is idempotent, or it changes nothing. A
    /// request with content may be only if `content` has it.
    pub repeatable: bool,
    /// The request's content, if all of it is in memory.
    pub content: Option<Bytes>,
    /// What FastCGI servers are told in addition to the message.
    pub visitor: Visitor,
    /// The host that the client asked for, in lower case, or the host that stands for all. Pages are kept under it.
    pub host: String,
    /// Whether the site wants the application itself to answer. Pages that were made for everybody are used only if
    /// there is nobody else to ask.
    pub personal: bool,
    /// Room for a body that must be gathered before it is sent on (FastCGI, without a length). `None`: the memory is
    /// not counted.
    pub room: Option<Room>,
    /// Learns whether some of the request may have reached a server.
    pub sent: Sent,
}

/// Which parts of a [`Context`] an origin uses. The others need not be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heeds {
    /// `hash`.
    pub key: bool,
    /// `visitor`, `host` and `personal`.
    pub asker: bool,
}

/// The client and the address it asked at, as scripts are told (RFC 3875 section 4.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Visitor {
    /// The client's address; `None`: there is no particular client, or it is connected to a Unix socket.
    pub client: Option<IpAddr>,
    /// The client's port, if known.
    pub port: Option<u16>,
    /// The address that the client is connected to.
    pub server: Option<SocketAddr>,
    /// Whether the request is for `https`, and the origin may know that.
    pub https: bool,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("hash", &self.hash)
            .field("interim", &self.interim)
            .field("repeatable", &self.repeatable)
            .field("content", &self.content.is_some())
            .field("visitor", &self.visitor)
            .field("host", &self.host)
            .field("personal", &self.personal)
            .field("room", &self.room.is_some())
            .field("sent", &self.sent)
            .finish()
    }
}
