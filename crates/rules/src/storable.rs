//! Whether a shared cache may store a response (RFC 9111 section 3).
//!
//! `demands` holds the checks that [`judge`] makes, `post` recognises the responses to `POST` that may be stored, and
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
    /// Not stored, unless the response has `public`, `s-maxage` or a targeted field, or excludes the cookie itself
    /// (`private="Set-Cookie"`, or `no-cache` likewise).
    #[default]
    Refuse,
    /// Not stored, whatever the response says.
    Never,
    /// Stored and sent without the field.
    Strip,
    /// Plain RFC 9111: the field is stored like any other.
    Store,
}

/// What the site says about storing. Plain values.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// What it says about lifetimes.
    pub freshness: freshness::Site,
    /// What it says about cookies.
    pub set_cookie: SetCookie,
    /// The targeted fields that this cache obeys; the first match wins (RFC 9213).
    pub targets: &'a [HeaderName],
}

/// One exchange with the origin, at the moment when the response's head has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The request's method.
    pub method: &'a Method,
    /// The request's fields.
    pub request: &'a HeaderMap,
    /// What the request says about caching.
    pub request_directives: &'a RequestDirectives,
    /// The target URI as `scheme://authority/path?query`; compared with `Content-Location` for POST (RFC 9110 section
    /// 9.3.3).
    pub target: &'a str,
    /// The response's status.
    pub status: StatusCode,
    /// The response's fields, including those that [must not be stored](crate::fields::is_unstorable).
    pub response: &'a HeaderMap,
    /// When the request was sent.
    pub request_time: Time,
    /// When the response's head was received.
    pub response_time: Time,
}

/// A storable response: its facts, and how it must be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storable {
    /// What is needed to judge it later.
    pub facts: Facts,
    /// Whether `Set-Cookie` must be removed before storing and sending.
    pub strip_set_cookie: bool,
    /// See [`directives::ResponseDirectives::names_fields`].
    pub names_fields: bool,
}

/// Whether a response of `status` may be stored at all, whatever the origin or the site says.
///
/// The status must be final. A 304 freshens, a 416 answers the request's own range, and the `Upgrade` of a 426 belongs
/// to one connection (RFC 9110 section 15.5.22). 428, 429, 431 and 511 "MUST NOT be stored by a cache" (RFC 6585
/// sections 3 to 6).
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

/// Whether a response with these fields says that its `Set-Cookie` is for everybody, as [`SetCookie::Refuse`] demands.
pub fn means_cookie(response: &HeaderMap, targets: &[HeaderName]) -> bool {
    let (directives, read_from) = directives::response(response, targets);
    demands::means_cookie(&directives, &read_from)
}

/// Judges an exchange.
///
/// A response without lifetime, stale window and validator is `NoFreshness`; an event stream is `EventStream`, validator
/// or not. A 206 is storable if it has one valid `Content-Range` (see `crate::partial`). `Vary: *` is `VaryStar`. A
/// response to POST needs explicit freshness and a `Content-Location` equal to the target.
///
/// [`freshness::Site::override_lifetime`] overrules the origin's `no-store`, `private`, `no-cache` and missing
/// freshness, and what ends stale windows (`must-revalidate` and its kin). These no longer allow storing a response to
/// a request with `Authorization` then: of three exceptions only `public` is left.
pub fn judge(exchange: &Exchange<'_>, site: &Site<'_>) -> Result<Storable, NotStorable> {
    let said = directives::response(exchange.response, site.targets);
    let (directives, read_from) = &said;
    let says = Says {
        exchange,
        directives,
        read_from,
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
        &said,
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
