//! What can go wrong with an origin, and what follows from each: its token, its sentence, whose fault it is, whether a
//! retry is worthwhile.

use std::fmt;

/// What went wrong. `token()` returns the token for `Cache-Status`.
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
    /// TLS failed: its handshake, which a server of version 1.3 may refuse when the request is out already (RFC 8446
    /// section 4.4.2.4), or what came later.
    Tls,
    /// The request is the handshake of a WebSocket, and the server speaks HTTP/2 alone, which has no upgrades (RFC 9113
    /// section 8.6). Nothing is at fault: it may well answer all others.
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
    pub fn token(self) -> &'static str {
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

    /// Whether the server that was asked for something counts as failed. One that had no turn left for the fetch does not.
    pub(crate) fn is_a_failure(self) -> bool {
        !self.is_of_the_queue() && self != Self::StreamRefused
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

/// Describes the failure without a name or an address, so that anybody may read it.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}
