//! What the caller knows of a request beyond its message.

use crate::Interim;
use bytes::Bytes;
use std::{
    fmt,
    net::{IpAddr, SocketAddr},
};

/// Takes so many bytes more of what the caller has to spare in memory; false, and nothing taken, where there are not so many left.
/// Dropped, it gives back all.
pub type Room = Box<dyn FnMut(u64) -> bool + Send>;

/// What the caller knows of a request beyond its message.
#[derive(Default)]
pub struct Context {
    /// Feeds consistent hashing: same number, same server while it lives.
    pub hash: u64,
    /// Passed each 1xx except 100 and 101.
    pub interim: Option<Interim>,
    /// The request may be sent again to another server: its method is idempotent, or it changes nothing. One with content is only
    /// where that is `content`.
    pub repeatable: bool,
    /// The request's content, where all of it lies in memory.
    pub content: Option<Bytes>,
    /// What FastCGI servers are told beside the message.
    pub visitor: Visitor,
    /// The host the client asked for, in lower case, or the one that stands for all: what pages are kept by.
    pub host: String,
    /// The site wants the application itself to answer: pages that were made for everybody will not do, unless there is nobody
    /// else to ask.
    pub personal: bool,
    /// Room for a body that must be gathered before it is sent on (FastCGI, without a length). `None`: nobody counts.
    pub room: Option<Room>,
}

/// Which parts of a [`Context`] an origin looks at; the others need not be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heeds {
    /// `hash`.
    pub key: bool,
    /// `visitor`, `host` and `personal`.
    pub asker: bool,
}

/// Who asks, and where, as scripts are told (RFC 3875 section 4.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Visitor {
    /// The client; `None`: nobody in particular, or it is connected to a Unix socket.
    pub client: Option<IpAddr>,
    /// Its port, where it is known.
    pub port: Option<u16>,
    /// The address it is connected to.
    pub server: Option<SocketAddr>,
    /// Its request is for `https`, and the origin may know.
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
            .finish()
    }
}
