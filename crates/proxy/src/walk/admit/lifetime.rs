//! The site's settings for how long an answer is fresh, by route and status.

use super::static_files;
use crate::{
    ask::Ask,
    policy::{Lifetime, LifetimeMode, StatusPattern, seconds},
    way,
};
use http::{HeaderMap, StatusCode, header};
use rules::{
    fields::begins_event_stream,
    freshness::{self, Facts, LifetimeSource},
};
use std::time::Duration;

/// The site's lifetime settings for this route, and for an answer of this status with these fields.
///
/// Those that lengthen are not for event streams, which would be replayed: a site that gives a lifetime to everything
/// hardly means them. The rules withhold its windows from them ([`freshness::Facts::must_revalidate`]).
pub(super) fn freshness_site(
    ask: &Ask,
    status: StatusCode,
    fields: &HeaderMap,
    known: Option<origin::Lifetime>,
) -> freshness::Site {
    let policy = ask.policy();
    let own = ask.operation().and_then(|operation| operation.ttl);
    let is_for_others = status.is_success() && is_no_file(ask, fields);
    let is_stream = begins_event_stream(fields);
    let is_ok = matches!(status, StatusCode::OK | StatusCode::PARTIAL_CONTENT);
    let lifetime = own
        .filter(|_| is_ok)
        .or_else(|| policy.lifetime.of(status).filter(|_| !is_for_others))
        .filter(|lifetime| !is_stream || lifetime.is_zero());
    let forced = match policy.lifetime.mode {
        LifetimeMode::Default => false,
        LifetimeMode::Override => true,
        LifetimeMode::Static => static_files::is_static(ask.key.path(), fields),
    };
    freshness::Site {
        default_lifetime: match known {
            Some(origin::Lifetime::Remaining(remaining)) => Some(remaining),
            Some(origin::Lifetime::Usual(usual) | origin::Lifetime::AtMost(usual)) => {
                lifetime.or(Some(usual))
            }
            Some(origin::Lifetime::Never) | None => lifetime.filter(|_| !forced),
        },
        longest_lifetime: match known {
            Some(origin::Lifetime::AtMost(longest)) => Some(longest),
            Some(
                origin::Lifetime::Remaining(_)
                | origin::Lifetime::Usual(_)
                | origin::Lifetime::Never,
            )
            | None => None,
        },
        override_lifetime: lifetime.filter(|_| forced),
        stale_while_revalidate: policy.stale.while_revalidate.map(seconds),
        stale_if_error: policy.stale.if_error.map(seconds),
        heuristic: policy.lifetime.heuristic && !is_stream,
    }
}

/// Whether the answer with these `facts` may be for its own user, as far as the site says: a GraphQL service was asked
/// with cookies of which the site says nothing, and the lifetime is not the service's. What is asked for is the
/// client's word, and so is the name of the operation: whoever lures a user to an address of their own making would
/// read what that user may read.
pub fn may_be_of_one_user(ask: &Ask, facts: &Facts) -> bool {
    let is_the_sites = matches!(
        facts.source,
        LifetimeSource::Override | LifetimeSource::Default | LifetimeSource::Heuristic
    );
    is_the_sites && facts.lifetime_ms > 0 && has_unsettled_cookies(ask)
}

/// Whether a request to a GraphQL service has cookies, and the site does not say what they mean.
fn has_unsettled_cookies(ask: &Ask) -> bool {
    let policy = ask.policy();
    policy.graphql.is_some()
        && ask.fields.contains_key(header::COOKIE)
        && policy.key.cookies.is_empty()
        && policy.bypass.cookies.is_empty()
        && policy.bypass.misses_with.is_empty()
        && policy.user_context.is_none()
}

/// Whether a page was sent in place of a file, on a route whose lifetimes are for styles, scripts and the like. They do
/// not apply to it.
pub(super) fn is_no_file(ask: &Ask, fields: &HeaderMap) -> bool {
    let is_static = ask.policy().lifetime.mode == LifetimeMode::Static;
    is_static && static_files::is_no_file(ask.key.path(), fields)
}

impl Lifetime {
    /// Returns the site's lifetime for answers of `status`; the first match wins. A status that finds fault with its
    /// own request alone, or that withholds something from its own client, gets a lifetime only if it is named exactly,
    /// or if the lifetime is zero: other clients ask for the same and did nothing of the kind. A part gets the lifetime
    /// of the whole unless 206 is named: how much the first client asked for says nothing about how long a page lasts.
    pub fn of(&self, status: StatusCode) -> Option<Duration> {
        let part = StatusPattern::Exact(StatusCode::PARTIAL_CONTENT.as_u16());
        let names_parts = || self.by_status.iter().any(|(pattern, _)| *pattern == part);
        let status = match status {
            StatusCode::PARTIAL_CONTENT if !names_parts() => StatusCode::OK,
            status => status,
        };
        let is_meant = |(pattern, lifetime): &&(StatusPattern, Duration)| {
            let is_named = matches!(pattern, StatusPattern::Exact(_));
            let is_for_one = way::is_of_request(status) || way::is_guarded(status);
            let is_for_others = !is_for_one || lifetime.is_zero();
            (is_named || is_for_others) && pattern.covers(status)
        };
        let found = self.by_status.iter().find(is_meant);
        found.map(|(_, lifetime)| *lifetime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lifetime(list: &[(StatusPattern, u64)]) -> Lifetime {
        Lifetime {
            by_status: list
                .iter()
                .map(|(pattern, seconds)| (*pattern, Duration::from_secs(*seconds)))
                .collect(),
            ..Lifetime::default()
        }
    }

    fn of(lifetime: &Lifetime, code: u16) -> Option<u64> {
        let status = StatusCode::from_u16(code).unwrap();
        lifetime.of(status).map(|time| time.as_secs())
    }

    #[test]
    fn a_part_lasts_as_long_as_the_whole_unless_its_status_is_named() {
        use StatusPattern::{Any, Class, Exact};
        for (list, seconds) in [
            (&[(Exact(200), 1)][..], Some(1)),
            (&[(Exact(200), 1), (Class(2), 2), (Any, 3)], Some(1)),
            (&[(Exact(200), 1), (Exact(206), 2)], Some(2)),
            (&[(Exact(206), 2), (Any, 3)], Some(2)),
            (&[(Class(2), 2), (Any, 3)], Some(2)),
            (&[(Exact(204), 1)], None),
        ] {
            assert_eq!(of(&lifetime(list), 206), seconds, "{list:?}");
        }
    }

    #[test]
    fn classes_do_not_cover_what_one_request_brought_about() {
        let some = lifetime(&[
            (StatusPattern::Exact(400), 1),
            (StatusPattern::Class(4), 2),
            (StatusPattern::Any, 3),
        ]);
        for (code, seconds) in [
            (200, Some(3)),
            (400, Some(1)),
            (404, Some(2)),
            (405, Some(2)),
            (410, Some(2)),
            (414, Some(2)),
            (500, Some(3)),
            (501, Some(3)),
            (401, None),
            (403, None),
            (451, None),
            (406, None),
            (408, None),
            (411, None),
            (412, None),
            (413, None),
            (415, None),
            (416, None),
            (417, None),
            (421, None),
            (425, None),
            (426, None),
            (505, None),
        ] {
            assert_eq!(of(&some, code), seconds, "{code}");
        }
        // A lifetime of zero applies in any case.
        let none = lifetime(&[(StatusPattern::Class(4), 0), (StatusPattern::Any, 3)]);
        assert_eq!(of(&none, 408), Some(0));
        assert_eq!(of(&none, 505), None);
    }
}
