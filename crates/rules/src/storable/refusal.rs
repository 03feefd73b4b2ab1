//! The reasons for not storing a response.

use std::fmt;

/// Why a response is not stored. `Display` gives the token for `Cache-Status`'s `detail` (e.g. `no-store`, `set-cookie`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotStorable {
    /// The method does not allow storing this response.
    Method,
    /// 1xx, 304, 416, 426, 428, 429, 431, 511, a 412 to the request's own condition, or a 206 without one valid part.
    Status,
    /// The request's `no-store`.
    NoStoreRequest,
    /// The response's `no-store`.
    NoStore,
    /// `private` without field names.
    Private,
    /// The request has `Authorization`, and the response does not allow shared caching (RFC 9111 section 3.5).
    Authorization,
    /// `must-understand`, and a status that this cache does not understand.
    MustUnderstand,
    /// `Set-Cookie`, which the site refuses to store.
    SetCookie,
    /// A request to a GraphQL service has cookies of which the site says nothing, and the lifetime is not the service's:
    /// the client chose what is asked for (`proxy::walk::admit::may_be_of_one_user`).
    Cookies,
    /// `Vary: *`: no request would ever match.
    VaryStar,
    /// The response has more tags or cache groups than are read: those left out could not purge it.
    TooManyTags,
    /// `Connection` names fields that are meant for all recipients: the response is for us alone (RFC 9110 section
    /// 7.6.1).
    Connection,
    /// There is no lifetime and nothing to validate with: keeping the response would never spare a fetch.
    NoFreshness,
    /// It is an event stream to which the application gives no lifetime: each is another.
    EventStream,
}

impl NotStorable {
    /// Whether the reason lies only in this request, or in cookies. What is stored for others is as
    /// good as before then.
    pub const fn is_of_this_request(self) -> bool {
        matches!(
            self,
            Self::NoStoreRequest | Self::Authorization | Self::SetCookie | Self::Cookies
        )
    }

    /// The reason as a token for `Cache-Status`'s `detail`.
    pub const fn token(self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::Status => "status",
            Self::NoStoreRequest => "no-store-request",
            Self::NoStore => "no-store",
            Self::Private => "private",
            Self::Authorization => "authorization",
            Self::MustUnderstand => "must-understand",
            Self::SetCookie => "set-cookie",
            Self::Cookies => "cookies",
            Self::VaryStar => "vary-star",
            Self::TooManyTags => "too-many-tags",
            Self::Connection => "connection",
            Self::NoFreshness => "no-freshness",
            Self::EventStream => "event-stream",
        }
    }
}

impl fmt::Display for NotStorable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.token())
    }
}

impl std::error::Error for NotStorable {}
