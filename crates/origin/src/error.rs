//! The failure of an origin: what went wrong, at which server, whose fault it is, and whether a retry is worthwhile.

mod kind;

pub use kind::Kind;

use std::{
    error::Error as StdError,
    fmt,
    io::{self, ErrorKind},
    sync::Arc,
};

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
        let kind = kind_of(&cause);
        match cause.source() {
            // hyper's own words only say that the connection broke.
            Some(source) if kind == Kind::Tls => Self::new(kind).because(source.to_string()),
            _ => Self::new(kind).because(cause),
        }
    }

    /// Translates an error of h2's: a stream was reset, a connection was given up, or a socket broke.
    pub(crate) fn of_h2(cause: h2::Error) -> Self {
        // The stream was reset without an error, but before its end. RFC 9113 section 8.1 allows that only after a
        // complete answer.
        let stops = cause.is_reset() && cause.reason() == Some(h2::Reason::NO_ERROR);
        let kind = match cause.get_io() {
            Some(io) => of_connection(io),
            None if stops => Kind::Truncated,
            None => Kind::Protocol,
        };
        Self::new(kind).because(cause)
    }

    /// Translates an error of h2's from a connection whose server has not sent a frame.
    pub(crate) fn of_h2_before_frames(cause: h2::Error) -> Self {
        let is_of_tls = cause.get_io().is_some_and(is_invalid);
        let kind = if is_of_tls { Kind::Tls } else { Kind::Protocol };
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

    /// Whether nobody was asked: the fetch got no turn, no server that may be asked is healthy, there are no upgrades, or
    /// the request's content broke off, and nothing had been sent before.
    pub(crate) fn asked_nobody(&self) -> bool {
        let is_unasked = self.kind.is_of_the_queue()
            || matches!(
                self.kind,
                Kind::NoHealthyServer | Kind::NoUpgrade | Kind::RequestBody
            );
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
    let io: Option<&io::Error> = cause.source().and_then(<dyn StdError>::downcast_ref);
    match io {
        Some(io) if is_of_tls(io) => Kind::Tls,
        // hyper's chunk decoder reports these kinds; it has none of its own.
        Some(io) if is_invalid(io) => Kind::Malformed,
        Some(_) => Kind::Truncated,
        None => Kind::Protocol,
    }
}

/// What it means that a connection broke: only TLS finds that what arrives is invalid, an alert or no records at all.
pub(crate) fn of_connection(cause: &io::Error) -> Kind {
    if is_invalid(cause) {
        Kind::Tls
    } else {
        Kind::Truncated
    }
}

fn is_invalid(cause: &io::Error) -> bool {
    matches!(
        cause.kind(),
        ErrorKind::InvalidData | ErrorKind::InvalidInput
    )
}

fn is_of_tls(cause: &io::Error) -> bool {
    let inner = cause.get_ref();
    inner.is_some_and(<dyn StdError + Send + Sync>::is::<rustls::Error>)
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

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.cause {
            Some(cause) => Some(cause.as_ref()),
            None => None,
        }
    }
}
