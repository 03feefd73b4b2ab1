//! The one record of what happened to a request: answers, counters and the access log all render the same value.

mod counters;
mod detail;
mod excerpt;
mod log_queue;
mod record;

pub use counters::{Counters, FORWARDS, HIT_KINDS, bump};
pub use detail::{BypassReason, Detail, Failing, Unkept};
pub use excerpt::Excerpt;
pub use log_queue::{LogReceiver, LogSender, NotQueued, log_queue};
pub use record::{Ending, Record};

use crate::error::Failure;
use rules::{
    reuse::StaleReason,
    status::{ForwardReason, Handled},
};
use std::time::Duration;

/// What happened to one request.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// A hit, forwarded and why, or answered here (RFC 9211 section 2).
    pub handled: Handled,
    /// Remaining lifetime of what was sent, in seconds; negative when stale.
    pub ttl: Option<i64>,
    /// The reason, if there is more to say.
    pub detail: Option<Detail>,
    /// The time from the request to the origin's final head, or its failure; `None` if no origin was asked.
    pub origin_time: Option<Duration>,
    /// Whether the origin's answer states its own age: there is a cache in front of it.
    pub aged: bool,
    /// What was sent was found after the request had waited (for its content, its group, the disk or others): its age is
    /// counted at the time of sending, and not at [`Ask::now`](crate::ask::Ask::now).
    pub waited: bool,
}

impl Outcome {
    /// An answer made here, with nothing to add.
    pub const OWN: Self = Self {
        handled: Handled::Own,
        ttl: None,
        detail: None,
        origin_time: None,
        aged: false,
        waited: false,
    };

    /// Whether the answer is for everybody: it is stored, or would be if there were room.
    pub const fn is_for_all(&self) -> bool {
        match self.handled {
            // An answer made here, because the origin was asked in vain.
            _ if matches!(self.detail, Some(Detail::Failed(_))) => false,
            Handled::Hit => true,
            Handled::Forwarded {
                stored, collapsed, ..
            } => {
                let is_storable = matches!(self.detail, Some(Detail::Unkept(_)));
                stored || collapsed || is_storable || self.is_on_failure()
            }
            Handled::Own => false,
        }
    }

    /// Whether the content that is sent has just come from an origin.
    pub const fn has_new_content(&self) -> bool {
        matches!(
            self.handled,
            Handled::Forwarded {
                status: Some(status),
                ..
            } if status != 304
        ) && !self.is_on_failure()
    }

    /// Whether the store answered because the origin failed.
    pub const fn is_on_failure(&self) -> bool {
        matches!(
            self.detail,
            Some(Detail::StaleOnFailure(_) | Detail::FreshOnFailure(_))
        )
    }

    /// An answer from the store.
    pub const fn hit(ttl: i64) -> Self {
        Self {
            handled: Handled::Hit,
            ttl: Some(ttl),
            detail: None,
            origin_time: None,
            aged: false,
            waited: false,
        }
    }

    /// A request forwarded for `why`.
    pub const fn forwarded(why: ForwardReason) -> Self {
        let handled = Handled::Forwarded {
            why,
            status: None,
            stored: false,
            collapsed: false,
        };
        Self {
            handled,
            ttl: None,
            detail: None,
            origin_time: None,
            aged: false,
            waited: false,
        }
    }

    /// A failure, answered here.
    pub const fn failed(failure: Failure) -> Self {
        Self {
            handled: Handled::Own,
            ttl: None,
            detail: Some(Detail::Failed(failure)),
            origin_time: None,
            aged: false,
            waited: false,
        }
    }

    /// Returns nginx's word for it (`$upstream_cache_status`).
    pub fn nginx_word(&self) -> &'static str {
        match (self.handled, &self.detail) {
            (Handled::Hit, Some(Detail::Stale(StaleReason::WhileRevalidate))) => "UPDATING",
            (Handled::Hit, Some(Detail::Stale(_))) | (_, Some(Detail::StaleOnFailure(_))) => {
                "STALE"
            }
            (Handled::Hit, _) | (_, Some(Detail::FreshOnFailure(_))) => "HIT",
            (
                Handled::Forwarded {
                    why,
                    status: Some(304),
                    ..
                },
                _,
            ) if may_validate(why) => "REVALIDATED",
            (Handled::Forwarded { why, .. }, _) => match why {
                ForwardReason::Bypass | ForwardReason::Method => "BYPASS",
                ForwardReason::Stale | ForwardReason::Request => "EXPIRED",
                ForwardReason::UriMiss
                | ForwardReason::VaryMiss
                | ForwardReason::Miss
                | ForwardReason::Partial => "MISS",
            },
            (Handled::Own, _) => "NONE",
        }
    }
}

/// Whether a 304 to a request forwarded for this reason confirms a stored response. If nothing is stored, the 304
/// answers the client's own condition.
const fn may_validate(why: ForwardReason) -> bool {
    matches!(
        why,
        ForwardReason::VaryMiss
            | ForwardReason::Request
            | ForwardReason::Stale
            | ForwardReason::Partial
    )
}

#[cfg(test)]
mod tests;
