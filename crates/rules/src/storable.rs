//! Whether a response may be stored by a shared cache (RFC 9111 section 3).
//!
//! `demands` holds the checks that [`judge`] goes through, `post` finds the responses to `POST` that may be stored, and
//! `refusal` names the reasons.

mod demands;
mod post;
mod refusal;

pub use refusal::NotStorable;

use crate::{
    directives::{self, RequestDirectives},
    fields,
    freshness::{self, Facts},
    surrogate,
    time::Time,
    vary,
};
use demands::Says;
use http::{HeaderMap, HeaderName, Method, StatusCode};

/// What to do with a response that carries `Set-Cookie`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetCookie {
    /// Not stored unless it says `public`, `s-maxage` or a targeted field, or keeps the cookie out itself (`private="Set-Cookie"`, or `no-cache`
    /// so).
    #[default]
    Refuse,
    /// Not stored, whatever it says.
    Never,
    /// Stored without the field (and sent without it).
    Strip,
    /// Plain RFC 9111: the field is stored like any other.
    Store,
}

/// The site's say on storing. Plain values.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// Its say on lifetimes.
    pub freshness: freshness::Site,
    /// Its say on cookies.
    pub set_cookie: SetCookie,
    /// Targeted fields this cache obeys, first match wins (RFC 9213).
    pub targets: &'a [HeaderName],
}

/// One exchange with the origin, seen when the response's head has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The request's method.
    pub method: &'a Method,
    /// The request's fields.
    pub request: &'a HeaderMap,
    /// What the request says of caching.
    pub request_directives: &'a RequestDirectives,
    /// The target URI as `scheme://authority/path?query`; compared with `Content-Location` for POST (RFC 9110 section 9.3.3).
    pub target: &'a str,
    /// The response's status.
    pub status: StatusCode,
    /// The response's fields, with those that [must not be stored](crate::fields::is_unstorable).
    pub response: &'a HeaderMap,
    /// When the request was sent.
    pub request_time: Time,
    /// When the response's head was received.
    pub response_time: Time,
}

/// A storable response: its facts, and how it must be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storable {
    /// What judging it later needs.
    pub facts: Facts,
    /// `Set-Cookie` is to be removed before storing and sending.
    pub strip_set_cookie: bool,
    /// See [`directives::ResponseDirectives::names_fields`].
    pub names_fields: bool,
}

/// Whether an answer of `status` may be stored at all, whatever the origin or the site says: it is final, no 304, which freshens, no 416,
/// which answers the request's own range, and no 426, whose `Upgrade` is of one connection (RFC 9110 section 15.5.22). 428, 429, 431 and 511 "MUST NOT be stored by a cache" (RFC 6585 sections 3 to 6).
pub fn may_be_stored(status: StatusCode) -> bool {
    !matches!(
        status,
        StatusCode::NOT_MODIFIED
            | StatusCode::RANGE_NOT_SATISFIABLE
            | StatusCode::UPGRADE_REQUIRED
            | StatusCode::PRECONDITION_REQUIRED
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
            | StatusCode::NETWORK_AUTHENTICATION_REQUIRED
    ) && !status.is_informational()
}

/// Judges an exchange. A response with neither lifetime, nor stale window, nor validator is `NoFreshness`.
/// 206 is storable when its `Content-Range` is valid and single (see `crate::partial`).
/// `Vary: *` is `VaryStar`. POST only with explicit freshness and `Content-Location` equal to the target.
///
/// [`freshness::Site::override_lifetime`] overrules the origin's `no-store`, `private`, `no-cache` and missing freshness, and what ends stale
/// windows (`must-revalidate` and its kin). What these allowed for `Authorization` they allow no more: of three exceptions `public` is left.
pub fn judge(exchange: &Exchange<'_>, site: &Site<'_>) -> Result<Storable, NotStorable> {
    let (directives, source) = directives::response(exchange.response, site.targets);
    let says = Says {
        exchange,
        directives: &directives,
        targeted: source != directives::DirectiveSource::CacheControl,
        forced: site.freshness.override_lifetime.is_some(),
    };
    says.check_method()?;
    says.check_status()?;
    if exchange.request_directives.no_store {
        return Err(NotStorable::NoStoreRequest);
    }
    says.check_prohibitions()?;
    says.check_authorization()?;
    let strip_set_cookie = says.check_set_cookie(site.set_cookie)?;
    if vary::is_everything(exchange.response) {
        return Err(NotStorable::VaryStar);
    }
    if !surrogate::fits(exchange.response) || !surrogate::groups_fit(exchange.response) {
        return Err(NotStorable::TooManyTags);
    }
    if fields::names_end_to_end(exchange.response) {
        return Err(NotStorable::Connection);
    }
    let facts = freshness::facts(
        exchange.status,
        exchange.response,
        &directives,
        says.targeted,
        &site.freshness,
        exchange.request_time,
        exchange.response_time,
    );
    says.check_freshness(&facts)?;
    Ok(Storable {
        facts,
        strip_set_cookie,
        names_fields: directives.names_fields(),
    })
}

#[cfg(test)]
mod tests;
