//! `Cache-Control`, `Pragma` and targeted fields as values (RFC 9111 section 5.2, RFC 9213, RFC 5861, RFC 8246).

use http::{HeaderMap, HeaderName};

/// A directive that may carry field names: `no-cache` and `private` (RFC 9111 section 5.2.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Qualified {
    /// The directive is not there.
    #[default]
    Absent,
    /// It stands alone, or its argument could not be read: it covers the whole response.
    Whole,
    /// It covers these fields only.
    Fields(Vec<HeaderName>),
}

/// What a response says of its own caching. Durations are in seconds, capped at 2^31.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseDirectives {
    pub no_store: bool,
    pub no_cache: Qualified,
    pub private: Qualified,
    pub public: bool,
    pub must_revalidate: bool,
    pub proxy_revalidate: bool,
    pub must_understand: bool,
    pub immutable: bool,
    pub no_transform: bool,
    pub max_age: Option<u32>,
    pub s_maxage: Option<u32>,
    pub stale_while_revalidate: Option<u32>,
    pub stale_if_error: Option<u32>,
}

/// What a request says (RFC 9111 section 5.2.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestDirectives {
    pub no_cache: bool,
    pub no_store: bool,
    pub no_transform: bool,
    pub only_if_cached: bool,
    pub max_age: Option<u32>,
    pub min_fresh: Option<u32>,
    /// `Some(u32::MAX)` for a bare `max-stale`: any staleness.
    pub max_stale: Option<u32>,
    pub stale_if_error: Option<u32>,
}

/// Which field a set of response directives was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    CacheControl,
    Targeted(HeaderName),
}

/// The directives that hold for this cache: the first valid, non-empty targeted field of `targets`, in that order
/// (RFC 9213 section 2.2), otherwise `Cache-Control`.
pub fn response(fields: &HeaderMap, targets: &[HeaderName]) -> (ResponseDirectives, Source) {
    todo!()
}

/// The request's directives; `Pragma: no-cache` counts only where there is no `Cache-Control` (RFC 9111 section 5.4).
/// Must be cheap when neither field is there: the path of a hit calls it.
pub fn request(fields: &HeaderMap) -> RequestDirectives {
    todo!()
}
