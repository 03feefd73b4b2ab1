//! Failures of the walk, and the status and `detail` that each becomes. Requests that a listener refuses before the walk have a
//! `listen::Fault` instead; `rules::status` spells the field `Cache-Status`.

use http::StatusCode;
use std::sync::Arc;

/// Why a request gets an answer of our own instead of one from the store or an origin. Clients read its words: where the origin is, and
/// what the system says of it, stands in the log.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The request cannot be understood; the client's fault.
    #[error("bad request: {}", .0.detail())]
    BadRequest(BadRequest),
    /// `CONNECT`, or `TRACE` addressed to us: not offered.
    #[error("method not allowed")]
    MethodNotAllowed,
    /// The target is of the other of `http` and `https` than the connection (RFC 9110 section 7.4); the client's fault.
    #[error("misdirected request")]
    Misdirected,
    /// The site refuses it, with this status.
    #[error("refused")]
    Denied(StatusCode),
    /// The request's content is larger than the site allows; the client's fault.
    #[error("request body too large")]
    BodyTooLarge,
    /// The request's content did not come in time; the client's fault.
    #[error("request body too late")]
    BodyTooLate,
    /// `only-if-cached` and nothing to answer with (RFC 9111 section 5.2.1.7).
    #[error("only-if-cached, and nothing stored to answer with")]
    OnlyIfCached,
    /// The request has come through us too often: our configuration's fault.
    #[error("the request loops")]
    Loop,
    /// The origin switched to a protocol that nobody asked for (RFC 9110 section 7.8): its fault.
    #[error("the origin switched protocols unasked")]
    UnaskedSwitch,
    /// The origin's 304 confirms nothing that it was asked about, or its 206 is part of what was asked for whole (RFC 9110 sections 15.3.7
    /// and 15.4.5), twice: its fault.
    #[error("the origin answered what it was not asked")]
    Unasked,
    /// The origin's 206 brought other bytes than its `Content-Range` says: its fault.
    #[error("the origin sent another part than it said")]
    BadPart,
    /// The memory budget does not hold what this answer would need; worth retrying.
    #[error("no room in memory for this answer")]
    NoRoom,
    /// A task of ours ended without an answer: our fault.
    #[error("internal error")]
    Internal,
    /// The origin failed; worth retrying where [`origin::Error::worth_retrying`] says so.
    #[error("{}", .0.kind())]
    Origin(Arc<origin::Error>),
}

/// Why a request cannot be understood, or is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRequest {
    /// Its target is none that can be passed on.
    Target,
    /// No host, where there has to be one (RFC 9112 section 3.2).
    HostMissing,
    /// More than one `Host` (RFC 9112 section 3.2).
    HostRepeated,
    /// Its host is none.
    HostInvalid,
    /// No route is for it.
    NoRoute,
    /// It claims a group of users, which the application alone tells.
    UserContext,
    /// Its content broke off, or is not well framed.
    Content,
}

impl BadRequest {
    const fn detail(self) -> &'static str {
        match self {
            Self::Target => "bad-target",
            Self::HostMissing => "host-missing",
            Self::HostRepeated => "host-repeated",
            Self::HostInvalid => "host-invalid",
            Self::NoRoute => "no-route",
            Self::UserContext => "user-context",
            Self::Content => "request-body",
        }
    }
}

impl Failure {
    /// Whether the origin, or the way to it, is why there is no answer: it is counted among its errors, something stale may stand in (RFC 9111
    /// section 4.2.4), and who waits for the same hears of it. What its client sent is not its fault.
    pub fn is_the_origins(&self) -> bool {
        match self {
            Self::Origin(error) => error.kind() != origin::Kind::RequestBody,
            Self::UnaskedSwitch | Self::Unasked | Self::BadPart => true,
            Self::BadRequest(_)
            | Self::MethodNotAllowed
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

    /// Whether it came before any server could be asked: no turn was free, say, or none is well.
    pub fn asked_nobody(&self) -> bool {
        matches!(self, Self::Origin(error) if error.server().is_none())
    }

    /// Whether an origin may have got some of the request, on whose way it was found, and may have done what it was asked to.
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
            | Self::Misdirected
            | Self::Denied(_)
            | Self::OnlyIfCached
            | Self::Loop
            | Self::NoRoom
            | Self::Internal => false,
        }
    }

    /// The status a client gets.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
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

    /// The token for `detail` in `Cache-Status`.
    pub fn detail(&self) -> &'static str {
        match self {
            Self::BadRequest(why) => why.detail(),
            Self::MethodNotAllowed => "method-not-allowed",
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
            Self::Origin(error) => error.kind().detail(),
        }
    }
}

/// RFC 9110 sections 15.6.3 to 15.6.5: the origin's answer was bad, there is no capacity, or it did not come in time.
fn origin_status(kind: origin::Kind) -> StatusCode {
    use origin::Kind;
    match kind {
        Kind::ConnectTimeout
        | Kind::FirstByteTimeout
        | Kind::BetweenBytesTimeout
        | Kind::WholeTimeout => StatusCode::GATEWAY_TIMEOUT,
        Kind::QueueFull
        | Kind::QueueTimeout
        | Kind::NoHealthyServer
        | Kind::NoSocket
        | Kind::Spool => StatusCode::SERVICE_UNAVAILABLE,
        Kind::RequestBody => StatusCode::BAD_REQUEST,
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
