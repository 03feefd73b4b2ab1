//! Way: how a request goes on if nothing stored answers it, and what its answer does to what is stored. No store, no
//! socket, no clock: the walk calls these functions, and so does [`replay`](crate::replay).

use crate::{
    error::Failure,
    hit_for_miss::{Credentials, Unshared},
    outcome::{Detail, Unkept},
};
use http::StatusCode;
use rules::{freshness::Facts, storable::NotStorable};
use std::time::Duration;

/// The terms of a request, on which its way depends.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Its answer must not fill the store, whatever it is (`misses_with`).
    pub stores_nothing: bool,
    /// It has a condition that only an origin may judge (RFC 9111 section 4.3.2).
    pub on_condition: bool,
    /// `only-if-cached` (RFC 9111 section 5.2.1.7).
    pub only_if_cached: bool,
    /// Its answer is likely to be of no use to others: `no-store`, `Authorization`, a stream of events.
    pub for_itself: bool,
}

/// Why a request that found nothing bypasses the store after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateBypass {
    /// A cookie of the request: its answer must not fill the store.
    Cookie,
    /// A condition that only an origin may judge.
    Condition,
}

/// With which other requests a request goes to an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// It does not go: it wants only what is stored.
    Stays,
    /// Alone: its answer would rarely help others, nor theirs help it.
    Alone,
    /// Together with all requests for the same meanwhile.
    Together,
}

/// Returns why a request bypasses the store after all, now that nothing stored answers it.
pub const fn late_bypass(terms: Terms) -> Option<LateBypass> {
    if terms.stores_nothing {
        Some(LateBypass::Cookie)
    } else if terms.on_condition {
        Some(LateBypass::Condition)
    } else {
        None
    }
}

/// Returns with which requests one that does not bypass the store goes to an origin. `is_unshared` returns whether
/// answers for its key were recently of no use to others (hit-for-miss).
pub fn company(terms: Terms, is_unshared: impl FnOnce() -> bool) -> Company {
    if terms.only_if_cached {
        Company::Stays
    } else if terms.for_itself || is_unshared() {
        Company::Alone
    } else {
        Company::Together
    }
}

/// Whether an answer was already past its lifetime when it came, and past the window in which it may be sent while the
/// next is fetched: the duration of the fetch counts into its age (RFC 9111 section 4.2.3). It helps no request that
/// waited for it.
pub fn is_late(facts: &Facts) -> bool {
    let came = facts.response_time;
    let window = Duration::from_secs(facts.stale_while_revalidate.unwrap_or(0).into());
    facts.remaining(came).is_none() && facts.staleness(came) >= window
}

/// Whether an answer of `status` rejects how one client wrote its request, or how often it asks: because of fields,
/// content, framing or version, which are not part of the key (RFC 9110 section 15.5, RFC 8470 section 5.2, RFC 6585).
/// Another request for the same may well get another answer. 405, 414 and 501 are about method and target, 404 and 410
/// about the target: these are heuristically cacheable (RFC 9110 section 15.1).
pub const fn is_of_request(status: StatusCode) -> bool {
    matches!(
        status.as_u16(),
        400 | 406
            | 408
            | 411
            | 412
            | 413
            | 415
            | 416
            | 417
            | 421
            | 425
            | 426
            | 428
            | 429
            | 431
            | 505
    )
}

/// Whether an answer of `status` refuses the credentials of its request: others have none, or other ones.
fn refuses(status: StatusCode, has_credentials: bool) -> bool {
    has_credentials && matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

/// Whether an answer of `status` to a request for a part rejects the range, or may well do so, as many origins do: only
/// 404 and 410 say something about the whole.
pub fn is_of_range(status: StatusCode) -> bool {
    let is_error = status.is_client_error() || status.is_server_error();
    is_error && !matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE)
}

/// Whether an answer of `status` says that what was there is no longer there, or not for everybody: it is gone, has
/// moved, or is now guarded.
fn is_elsewhere(status: StatusCode) -> bool {
    matches!(
        status.as_u16(),
        301 | 302 | 303 | 307 | 308 | 401 | 403 | 404 | 410 | 451
    )
}

/// Whether an answer of `status` says that what was there is gone or has moved for good, whatever the request's
/// conditions.
pub const fn is_gone(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 308 | 404 | 410)
}

/// Whether an answer of `status` withholds from its client something that others may be given.
pub fn is_guarded(status: StatusCode) -> bool {
    matches!(status.as_u16(), 401 | 403 | 451)
}

/// Whether an answer of `status` is to a condition or range of its request.
fn is_conditional(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::PARTIAL_CONTENT
            | StatusCode::NOT_MODIFIED
            | StatusCode::PRECONDITION_FAILED
            | StatusCode::RANGE_NOT_SATISFIABLE
    )
}

impl Unshared {
    /// Returns the reason for an answer of `status` that is not stored because of `why`.
    pub fn of(status: StatusCode, why: &Detail) -> Self {
        match why {
            _ if status.is_server_error() => Self::Failed,
            _ if is_of_request(status) => Self::OfRequest,
            Detail::NotStored(NotStorable::Status) if is_conditional(status) => Self::OfRequest,
            Detail::NotStored(why) => Self::NotStored(*why),
            Detail::Unkept(Unkept::OfRange) => Self::OfRequest,
            Detail::Unkept(Unkept::TooLarge) => Self::TooLarge,
            Detail::Unkept(Unkept::NoRoom) => Self::NoRoom,
            Detail::Unkept(Unkept::Invalidated) => Self::Invalidated,
            Detail::Unkept(Unkept::Superseded) => Self::Superseded,
            _ => Self::Failed,
        }
    }

    /// Returns the reason for an answer that did not come, or not whole; `None` if the failure only concerns the
    /// request itself.
    pub fn of_failure(failure: &Failure) -> Option<Self> {
        match failure {
            Failure::Origin(error) => Some(Self::Unanswered(error.kind())),
            Failure::BadPart => Some(Self::BadPart),
            Failure::Unasked => Some(Self::Unasked),
            _ => None,
        }
    }

    /// Returns the reason for an answer that is stored; `None` if it is of use to others.
    pub const fn of_kept(facts: &Facts) -> Option<Self> {
        if facts.is_always_validated() {
            Some(Self::Validated)
        } else {
            None
        }
    }

    /// Whether the answer of `status`, which is not stored, shows that the stored response is out of date: the origin
    /// now has something else, or nothing (RFC 9111 section 4.3.3). `is_fresh` means that the stored response is fresh,
    /// so that only the client wanted the origin's answer. If that refuses the client, or is private to it, it says
    /// nothing about others, to whom the origin has promised the stored response. If an answer to a request with
    /// credentials may not be stored, these are taken for the reason.
    pub fn withdraws(self, status: StatusCode, is_fresh: bool, credentials: Credentials) -> bool {
        let has_credentials = credentials == Credentials::Authorization;
        let is_the_requests = match self {
            Self::NotStored(why) => {
                has_credentials
                    || why.is_of_this_request()
                    || (is_fresh && why == NotStorable::Private)
            }
            Self::OfRequest => true,
            _ => false,
        };
        let is_the_requests =
            is_the_requests || (is_fresh && is_guarded(status)) || refuses(status, has_credentials);
        (status.is_success() || is_elsewhere(status)) && !is_the_requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms {
        stores_nothing: false,
        on_condition: false,
        only_if_cached: false,
        for_itself: false,
    };

    #[test]
    fn who_goes_with_whom() {
        let for_itself = Terms {
            for_itself: true,
            ..TERMS
        };
        let stays = Terms {
            only_if_cached: true,
            ..for_itself
        };
        for (terms, is_unshared, wanted) in [
            (TERMS, false, Company::Together),
            (TERMS, true, Company::Alone),
            (for_itself, false, Company::Alone),
            (stays, true, Company::Stays),
        ] {
            assert_eq!(company(terms, || is_unshared), wanted, "{terms:?}");
        }
    }

    #[test]
    fn what_is_gone_is_gone_for_everybody() {
        let gone = (100..600).filter(|status| StatusCode::from_u16(*status).is_ok_and(is_gone));
        assert_eq!(gone.collect::<Vec<_>>(), [301, 308, 404, 410]);
    }

    #[test]
    fn an_answer_that_is_not_kept_withdraws_what_is_out_of_date() {
        let of = |status: u16, why, is_fresh| {
            let status = StatusCode::from_u16(status).unwrap();
            Unshared::of(status, &why).withdraws(status, is_fresh, Credentials::None)
        };
        let not = Detail::NotStored;
        for (status, why, withdraws) in [
            (200, not(NotStorable::NoStore), true),
            (200, not(NotStorable::SetCookie), false),
            (200, not(NotStorable::Authorization), false),
            (200, not(NotStorable::NoStoreRequest), false),
            (200, Detail::Unkept(Unkept::TooLarge), true),
            (404, Detail::Unkept(Unkept::TooLarge), true),
            (200, Detail::Unkept(Unkept::NoRoom), true),
            (404, not(NotStorable::NoFreshness), true),
            (410, not(NotStorable::NoStore), true),
            (302, not(NotStorable::NoStore), true),
            (302, not(NotStorable::SetCookie), false),
            (403, not(NotStorable::Private), true),
            (403, not(NotStorable::Authorization), false),
            (400, not(NotStorable::NoFreshness), false),
            (429, not(NotStorable::NoStore), false),
            (431, not(NotStorable::NoStore), false),
            (500, not(NotStorable::NoStore), false),
            (206, not(NotStorable::Status), false),
            (206, not(NotStorable::NoStore), true),
        ] {
            assert_eq!(
                of(status, why.clone(), false),
                withdraws,
                "{status} {why:?}"
            );
        }
        // Only the client wanted the origin's answer.
        for (status, why, withdraws) in [
            (200, not(NotStorable::NoStore), true),
            (200, not(NotStorable::Private), false),
            (404, not(NotStorable::NoFreshness), true),
            (404, not(NotStorable::Private), false),
            (302, not(NotStorable::NoStore), true),
            (401, not(NotStorable::NoFreshness), false),
            (403, not(NotStorable::NoStore), false),
            (403, Detail::Unkept(Unkept::TooLarge), false),
            (451, not(NotStorable::NoStore), false),
        ] {
            assert_eq!(of(status, why.clone(), true), withdraws, "{status} {why:?}");
        }
    }

    #[test]
    fn of_errors_to_ranges_404_and_410_alone_say_something_of_the_whole() {
        for (code, wanted) in [
            (200, false),
            (302, false),
            (400, true),
            (403, true),
            (404, false),
            (410, false),
            (416, true),
            (501, true),
        ] {
            let status = StatusCode::from_u16(code).unwrap();
            assert_eq!(is_of_range(status), wanted, "{code}");
        }
    }
}
