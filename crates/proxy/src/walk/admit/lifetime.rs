//! The site's say on how long an answer is fresh, for its route and status.

use super::settled::is_settled;
use crate::{
    ask::Ask,
    policy::{Lifetime, LifetimeMode, StatusPattern},
    walk::lookup::seconds,
};
use http::{HeaderMap, StatusCode};
use rules::freshness;
use std::time::Duration;

/// The site's say on lifetimes for this route, and for an answer of this status with these fields.
pub(super) fn freshness_site(
    ask: &Ask,
    status: StatusCode,
    fields: &HeaderMap,
    known: Option<origin::Lifetime>,
) -> freshness::Site {
    let policy = ask.policy();
    let own = ask.operation().and_then(|operation| operation.ttl);
    let lifetime = own
        .filter(|_| status == StatusCode::OK)
        .or_else(|| policy.lifetime.of(status));
    let forced = match policy.lifetime.mode {
        LifetimeMode::Default => false,
        LifetimeMode::Override => true,
        LifetimeMode::Static => is_settled(ask.key.path(), fields),
    };
    freshness::Site {
        default_lifetime: match known {
            Some(origin::Lifetime::Remaining(remaining)) => Some(remaining),
            Some(origin::Lifetime::Usual(usual) | origin::Lifetime::AtMost(usual)) => {
                lifetime.or(Some(usual))
            }
            None => lifetime.filter(|_| !forced),
        },
        longest_lifetime: match known {
            Some(origin::Lifetime::AtMost(longest)) => Some(longest),
            Some(origin::Lifetime::Remaining(_) | origin::Lifetime::Usual(_)) | None => None,
        },
        override_lifetime: lifetime.filter(|_| forced),
        stale_while_revalidate: policy.stale.while_revalidate.map(seconds),
        stale_if_error: policy.stale.if_error.map(seconds),
        heuristic: policy.lifetime.heuristic,
    }
}

impl Lifetime {
    /// The lifetime the site gives to answers of `status`; first match wins.
    pub fn of(&self, status: StatusCode) -> Option<Duration> {
        let code = status.as_u16();
        self.by_status
            .iter()
            .find(|(pattern, _)| match pattern {
                StatusPattern::Exact(exact) => *exact == code,
                StatusPattern::Class(class) => u16::from(*class) == code / 100,
                StatusPattern::Any => true,
            })
            .map(|(_, lifetime)| *lifetime)
    }
}
