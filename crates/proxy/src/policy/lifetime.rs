//! How long answers are fresh, and how long they may be sent past that.

use http::StatusCode;
use std::time::Duration;

/// Lifetimes by status, as nginx's `proxy_cache_valid`.
#[derive(Debug, Default, Clone)]
pub struct Lifetime {
    /// How `by_status` stands to what the origin says.
    pub mode: LifetimeMode,
    /// First match wins.
    pub by_status: Vec<(StatusPattern, Duration)>,
    /// Whether a response without any lifetime gets one from its `Last-Modified` (RFC 9111 section 4.2.2).
    pub heuristic: bool,
}

/// How `by_status` stands to what the origin says.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum LifetimeMode {
    /// Only where the origin gives no explicit lifetime.
    #[default]
    Default,
    /// As `Default`, and in place of the origin's for static types (styles, scripts, images, fonts, media).
    Static,
    /// In place of whatever the origin says.
    Override,
}

/// Which status codes are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusPattern {
    /// This one alone.
    Exact(u16),
    /// All with this hundreds digit: 4 is `4xx`.
    Class(u8),
    /// All of them.
    Any,
}

impl StatusPattern {
    /// Whether `status` is meant.
    pub fn covers(self, status: StatusCode) -> bool {
        match self {
            Self::Exact(code) => code == status.as_u16(),
            Self::Class(digit) => u16::from(digit) == status.as_u16() / 100,
            Self::Any => true,
        }
    }
}

/// Windows past the lifetime. What the origin says goes first (RFC 5861).
#[derive(Debug, Clone)]
pub struct Stale {
    /// Sent at once, while a refresh runs in the background; `None`: only where the origin says so.
    pub while_revalidate: Option<Duration>,
    /// Sent when the origin answers with one of `statuses`; `None`: only where the origin says so.
    pub if_error: Option<Duration>,
    /// The statuses with which an origin fails: what is stored hides them while it may.
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

    /// Whether an origin that answers with `status` fails.
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
