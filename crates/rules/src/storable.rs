//! Whether a response may be stored by a shared cache (RFC 9111 section 3).

use crate::{
    directives::RequestDirectives,
    freshness::{self, Facts},
    time::Time,
};
use http::{HeaderMap, HeaderName, Method, StatusCode};

/// What to do with a response that carries `Set-Cookie`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetCookie {
    /// Not stored unless it says `public`, `s-maxage` or a targeted field.
    #[default]
    Refuse,
    /// Stored without the field (and sent without it).
    Strip,
    /// Plain RFC 9111: the field is stored like any other.
    Store,
}

/// The site's say on storing. Plain values.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    pub freshness: freshness::Site,
    pub set_cookie: SetCookie,
    /// Targeted fields this cache obeys, first match wins (RFC 9213).
    pub targets: &'a [HeaderName],
}

/// One exchange with the origin, seen when the response's head has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    pub method: &'a Method,
    pub request: &'a HeaderMap,
    pub request_directives: &'a RequestDirectives,
    /// The target URI as `scheme://authority/path?query`; compared with `Content-Location` for POST (RFC 9110 section 9.3.3).
    pub target: &'a str,
    pub status: StatusCode,
    pub response: &'a HeaderMap,
    pub request_time: Time,
    pub response_time: Time,
}

/// A storable response: its facts, and how it must be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storable {
    pub facts: Facts,
    /// `Set-Cookie` is to be removed before storing and sending.
    pub strip_set_cookie: bool,
}

/// Why a response is not stored. `Display` gives the token for `Cache-Status`'s `detail` (e.g. `no-store`, `set-cookie`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotStorable {
    /// The method does not allow it.
    Method,
    /// 1xx, 304, or a 206/416 without what it takes.
    Status,
    NoStoreRequest,
    NoStore,
    Private,
    Authorization,
    /// `must-understand` and a status this cache does not know.
    MustUnderstand,
    SetCookie,
    VaryStar,
    /// No lifetime and nothing to validate with: keeping it would never spare a fetch.
    NoFreshness,
}

/// Judges an exchange. A response with neither lifetime, nor stale window, nor validator is `NoFreshness`.
/// 206 is storable when its `Content-Range` is valid and single (see `crate::partial`).
/// `Vary: *` is `VaryStar`. POST only with explicit freshness and `Content-Location` equal to the target.
pub fn judge(exchange: &Exchange<'_>, site: &Site<'_>) -> Result<Storable, NotStorable> {
    todo!()
}
