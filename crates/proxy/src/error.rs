//! Failures of the walk, with the status and `detail` of each. A request that a listener refuses before the walk has a
//! `listen::Fault` instead. `rules::status` writes the field `Cache-Status`.

use crate::policy::Unadmitted;
use http::StatusCode;
use std::sync::Arc;

/// Why a request gets an answer made here instead of one from the store or an origin. Clients read its texts: the
/// origin's address, and what the operating system reports, are only in the log.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The request cannot be understood: the client's fault.
    #[error("bad request: {}", .0.token())]
    BadRequest(BadRequest),
    /// `CONNECT`, or `TRACE` addressed to this server: not offered.
    #[error("method not allowed")]
    MethodNotAllowed,
    /// A request for the cache itself, from a client that may not make it.
    #[error(transparent)]
    MayNotPurge(Unadmitted),
    /// The scheme of the target is not that of the connection, `http` or `https` (RFC 9110 section 7.4): the client's
    /// fault.
    #[error("misdirected request")]
    Misdirected,
    /// The site refuses it with this status.
    #[error("refused")]
    Denied(StatusCode),
    /// The request's content is larger than the site allows: the client's fault.
    #[error("request body too large")]
    BodyTooLarge,
    /// The request's content did not come in time: the client's fault.
    #[error("request body too late")]
    BodyTooLate,
    /// `only-if-cached`, and nothing stored can answer (RFC 9111 section 5.2.1.7).
    #[error("only-if-cached, and nothing stored to answer with")]
    OnlyIfCached,
    /// The request has passed through here too often: the fault of this server's configuration.
    #[error("the request loops")]
    Loop,
    /// The origin switched to a protocol that was not requested (RFC 9110 section 7.8): its fault.
    #[error("the origin switched protocols unasked")]
    UnaskedSwitch,
    /// Twice the origin sent a 304 that confirms nothing that it was asked about, or a 206 for a request without a
    /// range (RFC 9110 sections 15.3.7 and 15.4.5): its fault.
    #[error("the origin answered what it was not asked")]
    Unasked,
    /// The origin's 206 had other bytes than its `Content-Range` says: its fault.
    #[error("the origin sent another part than it said")]
    BadPart,
    /// The memory budget has no room for what this answer would need; worth retrying.
    #[error("no room in memory for this answer")]
    NoRoom,
    /// A task of this process ended without an answer: its own fault.
    #[error("internal error")]
    Internal,
    /// The origin failed; worth retrying if [`origin::Error::worth_retrying`] says so.
    #[error("{}", .0.kind())]
    Origin(Arc<origin::Error>),
}

/// Why a request cannot be understood, or is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRequest {
    /// Its method is one that is known, in other letters: some applications take it for that one (RFC 9110 section 9.1).
    MethodLetters,
    /// Its target cannot be forwarded.
    Target,
    /// It does not name its host as it must.
    Host(BadHost),
    /// No route matches it.
    NoRoute,
    /// It claims a group of users, which only the application may tell.
    UserContext,
    /// Its content broke off, or is framed wrongly.
    Content,
}

/// How a request fails to name its host. A listener judges what clients send, and the walk every request, also those
/// that no client sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadHost {
    /// It has none, although one is required: HTTP/1.1 without `Host` (RFC 9112 section 3.2), HTTP/2 with neither
    /// `:authority` nor `Host` (RFC 9113 section 8.3.1).
    Missing,
    /// More than one `Host` (RFC 9112 section 3.2).
    Repeated,
    /// It is not an authority (RFC 9112 section 3.2).
    Invalid,
}

impl BadHost {
    /// Returns the token for `detail` in `Cache-Status`.
    pub const fn token(self) -> &'static str {
        match self {
            Self::Missing => "host-missing",
            Self::Repeated => "host-repeated",
            Self::Invalid => "host-invalid",
        }
    }
}

impl BadRequest {
    const fn token(self) -> &'static str {
        match self {
            Self::MethodLetters => "method-letters",
            Self::Target => "bad-target",
            Self::Host(why) => why.token(),
            Self::NoRoute => "no-route",
            Self::UserContext => "user-context",
            Self::Content => "request-body",
        }
    }
}

impl Failure {
    /// Whether the origin, or the way to it, is the cause. Such a failure is counted among the origin's errors,
    /// something stale may stand in (RFC 9111 section 4.2.4), and followers are told. What the client sent is not the
    /// origin's fault, and what is refused is no failure.
    pub fn is_the_origins(&self) -> bool {
        match self {
            Self::Origin(error) => is_of_the_origin(error.kind()),
            Self::UnaskedSwitch | Self::Unasked | Self::BadPart => true,
            Self::BadRequest(_)
            | Self::MethodNotAllowed
            | Self::MayNotPurge(_)
            | Self::Misdirected
            | Self::Denied(_)
            | Self::BodyTooLarge
            | Self::BodyTooLate
            | Self::OnlyIfCached
            | Self::Loop
            | Self::NoRoom
            | Self::Internal => false,
        }
    }

    /// Whether it happened before any server could be asked: for example, no turn was free, or no server is healthy.
    /// The first may have been asked before there was no other.
    pub fn asked_nobody(&self) -> bool {
        matches!(self, Self::Origin(error) if error.server().is_none() && !error.was_sent())
    }

    /// Whether an origin may have received some of the request before the failure, and may have acted on it.
    pub fn may_have_arrived(&self) -> bool {
        match self {
            Self::Origin(error) => error.was_sent(),
            Self::UnaskedSwitch
            | Self::Unasked
            | Self::BadPart
            | Self::BodyTooLarge
            | Self::BodyTooLate => true,
            Self::BadRequest(_)
            | Self::MethodNotAllowed
            | Self::MayNotPurge(_)
            | Self::Misdirected
            | Self::Denied(_)
            | Self::OnlyIfCached
            | Self::Loop
            | Self::NoRoom
            | Self::Internal => false,
        }
    }

    /// Returns the status for the client.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::MethodNotAllowed | Self::MayNotPurge(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Misdirected => StatusCode::MISDIRECTED_REQUEST,
            Self::Denied(status) => *status,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTooLate => StatusCode::REQUEST_TIMEOUT,
            Self::OnlyIfCached => StatusCode::GATEWAY_TIMEOUT,
            Self::Loop => StatusCode::LOOP_DETECTED,
            Self::UnaskedSwitch | Self::Unasked | Self::BadPart => StatusCode::BAD_GATEWAY,
            Self::NoRoom => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Origin(error) => origin_status(error.kind()),
        }
    }

    /// Returns the token for `detail` in `Cache-Status`.
    pub fn token(&self) -> &'static str {
        match self {
            Self::BadRequest(why) => why.token(),
            Self::MethodNotAllowed => "method-not-allowed",
            Self::MayNotPurge(why) => why.token(),
            Self::Misdirected => "misdirected",
            Self::Denied(_) => "denied",
            Self::BodyTooLarge => "request-body-too-large",
            Self::BodyTooLate => "request-timeout",
            Self::OnlyIfCached => "only-if-cached",
            Self::Loop => "loop",
            Self::UnaskedSwitch => "unasked-switch",
            Self::Unasked => "unasked",
            Self::BadPart => "bad-part",
            Self::NoRoom => "no-room",
            Self::Internal => "internal",
            Self::Origin(error) => error.kind().token(),
        }
    }
}

/// Whether the origin, or the way to it, is the cause of a failure of this kind.
pub fn is_of_the_origin(kind: origin::Kind) -> bool {
    use origin::Kind;
    !matches!(kind, Kind::RequestBody | Kind::Outside | Kind::NoUpgrade)
}

/// Returns the status for a failed fetch (RFC 9110 sections 15.6.3 to 15.6.5): a bad answer, no capacity, or too late.
fn origin_status(kind: origin::Kind) -> StatusCode {
    use origin::Kind;
    match kind {
        Kind::ConnectTimeout
        | Kind::FirstByteTimeout
        | Kind::BetweenBytesTimeout
        | Kind::WholeTimeout => StatusCode::GATEWAY_TIMEOUT,
        Kind::StreamRefused
        | Kind::QueueFull
        | Kind::QueueTimeout
        | Kind::NoHealthyServer
        | Kind::NoSocket
        | Kind::Spool => StatusCode::SERVICE_UNAVAILABLE,
        Kind::RequestBody => StatusCode::BAD_REQUEST,
        Kind::Outside => StatusCode::FORBIDDEN,
        Kind::NoUpgrade => StatusCode::NOT_IMPLEMENTED,
        Kind::Unreadable | Kind::Configuration => StatusCode::INTERNAL_SERVER_ERROR,
        Kind::Unresolvable
        | Kind::Refused
        | Kind::Declined
        | Kind::Tls
        | Kind::Protocol
        | Kind::Truncated
        | Kind::Script
        | Kind::Malformed
        | Kind::UnaskedSwitch
        | Kind::HeadTooLarge => StatusCode::BAD_GATEWAY,
    }
}
