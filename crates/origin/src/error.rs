//! What went wrong with an origin, whose fault it is, and whether a retry is worthwhile.

use std::{error::Error as StdError, fmt, io::ErrorKind, sync::Arc};

pub(crate) type Cause = Box<dyn StdError + Send + Sync>;

/// An origin's failure: what happened, at which server, and the library's own error.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    server: Option<Arc<str>>,
    cause: Option<Cause>,
    was_sent: bool,
}

impl Error {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            server: None,
            cause: None,
            was_sent: false,
        }
    }

    /// Notes that some of the request may have been sent before, if `sent`.
    pub(crate) fn having_sent_if(mut self, sent: bool) -> Self {
        self.was_sent |= sent;
        self
    }

    pub(crate) fn because(mut self, cause: impl Into<Cause>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    pub(crate) fn at(mut self, server: &Arc<str>) -> Self {
        self.server = Some(Arc::clone(server));
        self
    }

    /// Translates an error of hyper's from waiting for a head or reading a body.
    pub(crate) fn of_hyper(cause: hyper::Error) -> Self {
        Self::new(kind_of(&cause)).because(cause)
    }

    /// Translates an error of h2's: a stream was reset, a connection was given up, or a socket broke.
    pub(crate) fn of_h2(cause: h2::Error) -> Self {
        // The stream was reset without an error, but before its end. RFC 9113 section 8.1 allows that only after a
        // complete answer.
        let stops = cause.is_reset() && cause.reason() == Some(h2::Reason::NO_ERROR);
        let kind = if cause.is_io() || stops {
            Kind::Truncated
        } else {
            Kind::Protocol
        };
        Self::new(kind).because(cause)
    }

    /// Translates an error of h2's from waiting for a head.
    pub(crate) fn of_h2_before_head(cause: h2::Error) -> Self {
        let refuses = cause.reason() == Some(h2::Reason::REFUSED_STREAM);
        if refuses && cause.is_remote() && cause.is_reset() {
            return Self::new(Kind::StreamRefused).because(cause);
        }
        Self::of_h2(cause)
    }

    /// Returns what went wrong.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the server's address as configured, if one had been chosen.
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// Whether some of the request may have reached a server, which may have acted on it.
    pub fn was_sent(&self) -> bool {
        self.was_sent
    }

    /// Whether nobody was asked: the fetch got no turn, or no server that may be asked is healthy, and no attempt before
    /// that had sent anything.
    pub(crate) fn asked_nobody(&self) -> bool {
        let is_unasked = self.kind.is_of_the_queue() || self.kind == Kind::NoHealthyServer;
        is_unasked && !self.was_sent
    }

    /// Whether a time limit ran out. The client then gets a 504 (RFC 9110 section 15.6.5), otherwise a 502.
    pub fn is_timeout(&self) -> bool {
        self.kind.is_timeout()
    }

    /// Whether no answer could be had at all, in the sense of RFC 9111 section 4.2.4 ("disconnected").
    pub fn is_unreachable(&self) -> bool {
        self.kind.is_unreachable()
    }

    /// Whether the same request may well succeed if sent again later.
    pub fn worth_retrying(&self) -> bool {
        self.kind.worth_retrying()
    }
}

fn kind_of(cause: &hyper::Error) -> Kind {
    if cause.is_parse_too_large() {
        return Kind::HeadTooLarge;
    }
    if cause.is_parse() {
        return Kind::Malformed;
    }
    if cause.is_incomplete_message() || cause.is_closed() || cause.is_canceled() {
        return Kind::Truncated;
    }
    let io = cause.source().and_then(<dyn StdError>::downcast_ref);
    match io.map(std::io::Error::kind) {
        // hyper's chunk decoder reports these kinds; it has none of its own.
        Some(ErrorKind::InvalidData | ErrorKind::InvalidInput) => Kind::Malformed,
        Some(_) => Kind::Truncated,
        None => Kind::Protocol,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        if let Some(server) = &self.server {
            write!(f, " ({server})")?;
        }
        if let Some(cause) = &self.cause {
            write!(f, ": {cause}")?;
        }
        Ok(())
    }
}

/// Describes the failure without a name or an address, so that anybody may read it.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.cause {
            Some(cause) => Some(cause.as_ref()),
            None => None,
        }
    }
}

/// What went wrong. `detail()` returns the token for `Cache-Status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The server's name has no address.
    Unresolvable,
    /// No connection could be made: refused, no route, no such socket.
    Refused,
    /// This machine lacks a descriptor, a port or memory to make a connection with. No server is at fault.
    NoSocket,
    /// A page store refuses what it is asked for: a wrong password, an unknown command.
    Declined,
    /// No connection was made within `Timeouts::connect`, TLS included.
    ConnectTimeout,
    /// The TLS handshake failed.
    Tls,
    /// The request asks for an upgrade, and the server speaks HTTP/2 alone, which has none (RFC 9113 section 8.6). Nothing
    /// is at fault: it may well answer all others.
    NoUpgrade,
    /// The server does not speak the configured protocol, or ended an HTTP/2 stream or connection with an error.
    Protocol,
    /// The server refused the HTTP/2 stream: it had not begun with the request (RFC 9113 section 8.7).
    StreamRefused,
    /// No response head within `Timeouts::first_byte`.
    FirstByteTimeout,
    /// No byte of the body for `Timeouts::between_bytes`.
    BetweenBytesTimeout,
    /// The exchange outlasted `Timeouts::whole`.
    WholeTimeout,
    /// The connection ended before the head or before the announced end of the body.
    Truncated,
    /// The answer is not HTTP, has contradictory lengths or a bad chunk.
    Malformed,
    /// The server answered 101 to a request that asked for no other protocol (RFC 9110 section 15.2.2).
    UnaskedSwitch,
    /// The response head is larger than `OriginConfig::largest_head`, or has too many fields.
    HeadTooLarge,
    /// `ConcurrencyLimits::most` fetches are under way and the queue is full.
    QueueFull,
    /// No turn came within `ConcurrencyLimits::queue_time`.
    QueueTimeout,
    /// Active checks consider every server down.
    NoHealthyServer,
    /// The script that answers broke off, as its own language says. This is the application's fault, on whichever
    /// server.
    Script,
    /// The request's own body could not be read. This is the client's fault.
    RequestBody,
    /// A request's body of unknown length can be kept nowhere until it is whole. This is our own host's fault.
    Spool,
    /// The folder is gone, we have no permission to read what is there, or the device does not return it.
    Unreadable,
    /// A symbolic link leads out of the folder. Nothing was asked, and nothing is at fault but the link.
    Outside,
    /// The configuration cannot work: no server, unreadable authorities, an impossible name.
    Configuration,
}

impl Kind {
    /// Returns the token for `Cache-Status`'s `detail` (RFC 9211 section 2.8).
    pub fn detail(self) -> &'static str {
        match self {
            Self::Unresolvable => "unresolvable",
            Self::Refused => "refused",
            Self::NoSocket => "no-socket",
            Self::Declined => "declined",
            Self::ConnectTimeout => "connect-timeout",
            Self::Tls => "tls",
            Self::NoUpgrade => "no-upgrade",
            Self::Protocol => "protocol",
            Self::StreamRefused => "stream-refused",
            Self::FirstByteTimeout => "first-byte-timeout",
            Self::BetweenBytesTimeout => "between-bytes-timeout",
            Self::WholeTimeout => "whole-timeout",
            Self::Truncated => "truncated",
            Self::Malformed => "malformed",
            Self::UnaskedSwitch => "unasked-switch",
            Self::HeadTooLarge => "head-too-large",
            Self::QueueFull => "queue-full",
            Self::QueueTimeout => "queue-timeout",
            Self::NoHealthyServer => "no-healthy-server",
            Self::Script => "script",
            Self::RequestBody => "request-body",
            Self::Spool => "spool",
            Self::Unreadable => "unreadable",
            Self::Outside => "outside",
            Self::Configuration => "configuration",
        }
    }

    /// Whether the fetch got no turn, so that nobody was asked.
    pub(crate) fn is_of_the_queue(self) -> bool {
        matches!(self, Self::QueueFull | Self::QueueTimeout)
    }

    /// Whether the server that was asked for something counts as failed. One that had no turn left for the fetch, or has no
    /// upgrades, does not.
    pub(crate) fn is_a_failure(self) -> bool {
        !self.is_of_the_queue() && !matches!(self, Self::StreamRefused | Self::NoUpgrade)
    }

    /// Whether a time limit ran out.
    pub fn is_timeout(self) -> bool {
        matches!(
            self,
            Self::ConnectTimeout
                | Self::FirstByteTimeout
                | Self::BetweenBytesTimeout
                | Self::WholeTimeout
                | Self::QueueTimeout
        )
    }

    /// Whether no answer could be had at all: refused, nothing to connect with, declined, unresolvable, out of time
    /// before the head, no healthy server, no turn, no stream.
    pub fn is_unreachable(self) -> bool {
        matches!(
            self,
            Self::Unresolvable
                | Self::Refused
                | Self::NoSocket
                | Self::Declined
                | Self::ConnectTimeout
                | Self::StreamRefused
                | Self::FirstByteTimeout
                | Self::QueueFull
                | Self::QueueTimeout
                | Self::NoHealthyServer
        )
    }

    /// Whether the server that was asked is to blame, so that others may do better.
    pub(crate) fn is_the_servers(self) -> bool {
        !matches!(
            self,
            Self::NoSocket | Self::RequestBody | Self::Spool | Self::Script
        )
    }

    /// Whether the same request may well succeed if sent again later.
    pub fn worth_retrying(self) -> bool {
        !matches!(
            self,
            Self::NoUpgrade
                | Self::RequestBody
                | Self::Outside
                | Self::Configuration
                | Self::HeadTooLarge
        )
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Unresolvable => "the server's name has no address",
            Self::Refused => "the server cannot be connected to",
            Self::NoSocket => "this machine has no socket left to connect with",
            Self::Declined => "the server answers, but not with a page",
            Self::ConnectTimeout => "no connection in time",
            Self::Tls => "the TLS handshake failed",
            Self::NoUpgrade => "the server speaks HTTP/2, which has no upgrades",
            Self::Protocol => "the server broke the protocol",
            Self::StreamRefused => "the server takes no more requests for now",
            Self::FirstByteTimeout => "no response in time",
            Self::BetweenBytesTimeout => "the response stalled",
            Self::WholeTimeout => "the exchange took too long",
            Self::Truncated => "the response was cut short",
            Self::Malformed => "the response is malformed",
            Self::UnaskedSwitch => "the server switched protocols unasked",
            Self::HeadTooLarge => "the response head is too large",
            Self::QueueFull => "too many fetches wait for this origin",
            Self::QueueTimeout => "no turn in the origin's queue in time",
            Self::NoHealthyServer => "no server of this origin is healthy",
            Self::Script => "the script broke off",
            Self::RequestBody => "the request's body could not be read",
            Self::Spool => "the request's body cannot be kept until it is whole",
            Self::Unreadable => "what lies in the folder cannot be read",
            Self::Outside => "a link leads out of the folder",
            Self::Configuration => "the origin's configuration cannot work",
        }
    }
}
