//! The demands of RFC 9111 section 3, one check for each.

use super::{Exchange, NotStorable, SetCookie, post};
use crate::{
    directives::{DirectiveSource, ResponseDirectives},
    fields::{begins_event_stream, has},
    freshness::{self, Facts},
    range,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{
        AUTHORIZATION, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_MATCH, IF_UNMODIFIED_SINCE,
        LAST_MODIFIED, SET_COOKIE,
    },
};

/// An exchange and what was read from it. Each check is one demand of RFC 9111 section 3.
pub(super) struct Says<'a> {
    pub(super) exchange: &'a Exchange<'a>,
    pub(super) directives: &'a ResponseDirectives,
    /// The field that the directives come from.
    pub(super) read_from: &'a DirectiveSource,
    /// Whether the site forces a lifetime.
    pub(super) forced: bool,
}

/// Whether there are servers that refuse a request because its header is so large. Many say so with a 400, and not with a
/// 431, which is never stored (RFC 6585 section 5): from 8 KB on as Tomcat, nginx and Apache do, and for more than 100
/// fields.
fn may_be_too_large(request: &HeaderMap) -> bool {
    const LARGE: usize = 4 << 10;
    const MANY: usize = 50;
    let line = |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len();
    request.len() > MANY || request.iter().map(line).sum::<usize>() > LARGE
}

/// Whether an origin that says this means its `Set-Cookie` for everybody.
pub(super) const fn means_cookie(
    directives: &ResponseDirectives,
    read_from: &DirectiveSource,
) -> bool {
    directives.public || directives.s_maxage.is_some() || read_from.is_targeted()
}

impl Says<'_> {
    /// "the request method is understood by the cache". A response to `HEAD` has no content to keep; for what it says
    /// about a stored response see [`crate::validate::head_says`].
    pub(super) fn check_method(&self) -> Result<(), NotStorable> {
        let exchange = self.exchange;
        let allowed = match *exchange.method {
            Method::GET => true,
            Method::POST => post::is_storable(exchange, self.directives, self.read_from),
            _ => false,
        };
        allowed.then_some(()).ok_or(NotStorable::Method)
    }

    /// "the response status code is final". 206 and 304 are understood: a 206 is stored as a part, a 304 freshens. 412
    /// answers the request's own condition, which is not part of the cache key.
    pub(super) fn check_status(&self) -> Result<(), NotStorable> {
        let exchange = self.exchange;
        let has = |name: HeaderName| exchange.request.contains_key(name);
        let allowed = match exchange.status {
            status if !super::may_be_stored(status) => false,
            StatusCode::PARTIAL_CONTENT => is_single_part(exchange.response),
            StatusCode::PRECONDITION_FAILED => !has(IF_MATCH) && !has(IF_UNMODIFIED_SINCE),
            StatusCode::BAD_REQUEST => !may_be_too_large(exchange.request),
            _ => true,
        };
        allowed.then_some(()).ok_or(NotStorable::Status)
    }

    /// `must-understand`, `no-store` and `private` (RFC 9111 sections 5.2.2.3, 5.2.2.5, 5.2.2.7).
    pub(super) fn check_prohibitions(&self) -> Result<(), NotStorable> {
        let directives = self.directives;
        if directives.must_understand && !is_understood(self.exchange.status) {
            return Err(NotStorable::MustUnderstand);
        }
        if self.forced {
            return Ok(());
        }
        if directives.no_store && !directives.must_understand {
            return Err(NotStorable::NoStore);
        }
        if directives.private.is_whole() {
            return Err(NotStorable::Private);
        }
        Ok(())
    }

    /// Checks `Authorization` in the request (RFC 9111 section 3.5). Under a forced lifetime only `public` allows
    /// storing: the other two allow it only to a cache that keeps to the lifetime and the revalidation that they ask
    /// for.
    pub(super) fn check_authorization(&self) -> Result<(), NotStorable> {
        let directives = self.directives;
        let conditional = directives.must_revalidate || directives.s_maxage.is_some();
        let allowed = !has(self.exchange.request, &AUTHORIZATION)
            || directives.public
            || (conditional && !self.forced);
        allowed.then_some(()).ok_or(NotStorable::Authorization)
    }

    /// Returns whether `Set-Cookie` must be removed. RFC 9111 does not forbid storing it. But to send one user's
    /// session to another is the costliest fault that a cache can have, so by default the origin has to say that it
    /// means it.
    pub(super) fn check_set_cookie(&self, site: SetCookie) -> Result<bool, NotStorable> {
        if !has(self.exchange.response, &SET_COOKIE) {
            return Ok(false);
        }
        let directives = self.directives;
        // A field that `private` or `no-cache` names is never stored.
        let mut excluded = directives.private.names().iter();
        let is_excluded = excluded.any(|name| *name == SET_COOKIE)
            || directives.no_cache.names().contains(&SET_COOKIE);
        let is_meant = means_cookie(directives, self.read_from);
        match site {
            SetCookie::Strip => Ok(true),
            SetCookie::Store => Ok(false),
            SetCookie::Refuse if is_meant || is_excluded => Ok(false),
            SetCookie::Refuse | SetCookie::Never => Err(NotStorable::SetCookie),
        }
    }

    /// "the response contains at least one of the following", and something that can make a later fetch cheaper: a
    /// lifetime, a stale window, or a validator. With `no-cache` only the validator can.
    ///
    /// The validator of a failure cannot (RFC 5861 section 4): a failure that is validated each time spares nobody
    /// anything, and would take the place of the page that can stand in for it. Nor can that of an event stream, each
    /// of which is another.
    pub(super) fn check_freshness(&self, facts: &Facts) -> Result<(), NotStorable> {
        let exchange = self.exchange;
        let permitted = self.directives.public
            || freshness::has_explicit(exchange.response, self.directives, self.read_from)
            || freshness::is_heuristically_cacheable(exchange.status)
            || matches!(
                facts.source,
                freshness::LifetimeSource::Override | freshness::LifetimeSource::Default
            );
        let has_validator = [ETAG, LAST_MODIFIED]
            .iter()
            .any(|name| has(exchange.response, name));
        let opens = |window: Option<u32>| window.is_some_and(|seconds| seconds > 0);
        let has_time = facts.lifetime_ms > 0
            || opens(facts.stale_while_revalidate)
            || opens(facts.stale_if_error);
        let is_stream = begins_event_stream(exchange.response);
        let is_worth_asking_about = has_validator && !facts.is_failure && !is_stream;
        let is_useful = is_worth_asking_about || (has_time && !facts.no_cache);
        match (permitted && is_useful, is_stream) {
            (true, _) => Ok(()),
            (false, true) => Err(NotStorable::EventStream),
            (false, false) => Err(NotStorable::NoFreshness),
        }
    }
}

/// Whether a 206 has one part that we can place: one valid `Content-Range`, and not `multipart/byteranges` (RFC 9110
/// section 15.3.7).
fn is_single_part(response: &HeaderMap) -> bool {
    const MULTIPART: &[u8] = b"multipart/byteranges";
    let is_multipart = response.get(CONTENT_TYPE).is_some_and(|value| {
        let kind = value.as_bytes().get(..MULTIPART.len());
        kind.is_some_and(|kind| kind.eq_ignore_ascii_case(MULTIPART))
    });
    let mut ranges = response.get_all(CONTENT_RANGE).iter();
    match (ranges.next(), ranges.next()) {
        (Some(one), None) => !is_multipart && range::parse_content_range(one).is_some(),
        _ => false,
    }
}

/// Whether we implement all caching-related behaviour of the status (RFC 9111 section 3): true for those of RFC 9110
/// section 15.
const fn is_understood(status: StatusCode) -> bool {
    matches!(
        status.as_u16(),
        200..=206 | 300..=305 | 307 | 308 | 400..=417 | 421 | 422 | 426 | 500..=505
    )
}
