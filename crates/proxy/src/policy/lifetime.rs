//! How long answers are fresh, and how long they may be sent past that.

use http::StatusCode;
use std::{fmt, time::Duration};

/// Lifetimes by status, like nginx's `proxy_cache_valid`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Lifetime {
    /// How `by_status` relates to what the origin says.
    pub mode: LifetimeMode,
    /// The lifetimes; the first match wins.
    pub by_status: Vec<(StatusPattern, Duration)>,
    /// Whether a response without any lifetime gets one from its `Last-Modified` (RFC 9111 section 4.2.2).
    pub heuristic: bool,
}

/// How `by_status` relates to what the origin says.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum LifetimeMode {
    /// Only if the origin gives no explicit lifetime.
    #[default]
    Default,
    /// As `Default`, but for static types (styles, scripts, WebAssembly, images, fonts, media) in place of the origin's.
    Static,
    /// In place of whatever the origin says.
    Override,
}

/// A set of status codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusPattern {
    /// Only this code.
    Exact(u16),
    /// All with this hundreds digit: 4 is `4xx`.
    Class(u8),
    /// All codes.
    Any,
}

impl StatusPattern {
    /// Whether the pattern includes `status`.
    pub fn covers(self, status: StatusCode) -> bool {
        match self {
            Self::Exact(code) => code == status.as_u16(),
            Self::Class(digit) => u16::from(digit) == status.as_u16() / 100,
            Self::Any => true,
        }
    }
}

impl fmt::Display for StatusPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(code) => write!(out, "{code}"),
            Self::Class(digit) => write!(out, "{digit}xx"),
            Self::Any => out.write_str("any status"),
        }
    }
}

/// Windows past the lifetime. What the origin says takes precedence (RFC 5861).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// Sent at once, while a refresh runs in the background; `None`: only if the origin says so.
    pub while_revalidate: Option<Duration>,
    /// Sent when the origin answers with one of `statuses`; `None`: only if the origin says so.
    pub if_error: Option<Duration>,
    /// The statuses that count as failures: stored responses hide them while they may.
    pub statuses: Vec<StatusPattern>,
    /// Sent when the origin cannot be reached or gives no head in time (RFC 9111 section 4.2.4).
    pub unreachable: Duration,
}

impl Stale {
    /// The statuses that RFC 5861 section 4 names.
    pub const USUAL_STATUSES: [StatusPattern; 4] = [
        StatusPattern::Exact(500),
        StatusPattern::Exact(502),
        StatusPattern::Exact(503),
        StatusPattern::Exact(504),
    ];

    /// Returns the statuses that count as failures, if they are not the usual ones.
    pub fn own_statuses(&self) -> Option<&[StatusPattern]> {
        (self.statuses != Self::USUAL_STATUSES).then_some(&self.statuses)
    }

    /// Whether an origin that answers with `status` has failed.
    pub fn is_failure(&self, status: StatusCode) -> bool {
        let mut statuses = self.statuses.iter();
        statuses.any(|pattern| pattern.covers(status))
    }
}

impl Default for Stale {
    fn default() -> Self {
        Self {
            while_revalidate: None,
            if_error: None,
            statuses: Self::USUAL_STATUSES.to_vec(),
            unreachable: Duration::ZERO,
        }
    }
}

/// Returns whole seconds, at most as many as the rules count with.
pub fn seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX)
}
