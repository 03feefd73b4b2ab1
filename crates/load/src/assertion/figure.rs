//! The figures that can be asserted, and their values for a target.

use crate::figures::{Target, float, percent};

/// The figures that can be asserted, with their units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Figure {
    /// Milliseconds.
    Percentile(&'static str),
    Mean,
    Max,
    /// Percent of the requests, or their number.
    Errors(Share),
    Hits(Share),
    Stale(Share),
    /// Good answers a second.
    Rate,
    /// A number.
    Requests,
    /// Microseconds per request.
    Cpu,
    /// Bytes.
    Memory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    Percent,
    Count,
}

impl Figure {
    /// Whether requests that are still waiting could make it worse.
    pub(super) fn is_of_waiting(self) -> bool {
        matches!(
            self,
            Self::Percentile(_) | Self::Mean | Self::Max | Self::Errors(_)
        )
    }

    /// Whether it is a share of the answers about which caches say something.
    pub(super) fn is_of_caches(self) -> bool {
        matches!(
            self,
            Self::Hits(Share::Percent) | Self::Stale(Share::Percent)
        )
    }

    /// Returns the same share of all answers. `None`: no answer says anything.
    pub(super) fn of_all(self, target: &Target) -> Option<f64> {
        let cache = &target.cache;
        let count = match self {
            Self::Hits(_) => cache.hit + cache.stale,
            _ => cache.stale,
        };
        percent(count, cache.all()).filter(|_| cache.said() > 0)
    }

    /// Says of which answers it is a share, if not all say something about caches.
    pub(super) fn base(self, target: &Target, at_most: bool) -> String {
        let cache = &target.cache;
        match cache.unsaid {
            _ if !self.is_of_caches() => String::new(),
            0 => String::new(),
            _ if at_most => format!(" of the {} answers that said something", cache.said()),
            unsaid => format!(
                " of {} answers, {unsaid} of which said nothing",
                cache.all()
            ),
        }
    }

    /// Returns its least value if the requests that had no answer at the end are included.
    pub(super) fn at_least(self, target: &Target) -> Option<f64> {
        let latency = target.latency_at_least_ms.as_ref()?;
        match self {
            Self::Percentile(name) => latency.percentiles.get(name).copied(),
            Self::Mean => Some(latency.mean),
            Self::Max => Some(latency.max),
            _ => None,
        }
    }

    pub(super) fn of(self, target: &Target) -> Option<f64> {
        let latency = target.latency_ms.as_ref();
        let cache = &target.cache;
        match self {
            Self::Percentile(name) => target.percentile(name),
            Self::Mean => latency.map(|latency| latency.mean),
            Self::Max => latency.map(|latency| latency.max),
            Self::Errors(Share::Percent) => (target.requests > 0).then_some(target.errors_percent),
            Self::Errors(Share::Count) => Some(float(target.errors)),
            Self::Hits(Share::Percent) => cache.hits_percent,
            Self::Hits(Share::Count) => Some(float(cache.hit + cache.stale)),
            Self::Stale(Share::Percent) => cache.stale_percent,
            Self::Stale(Share::Count) => Some(float(cache.stale)),
            Self::Rate => Some(target.rate),
            Self::Requests => Some(float(target.requests)),
            Self::Cpu => target.process.as_ref()?.cpu_us_per_request,
            Self::Memory => target.process.as_ref().map(|one| float(one.memory_bytes)),
        }
    }

    pub(super) fn words(self, found: f64) -> String {
        match self {
            Self::Percentile(_) | Self::Mean | Self::Max => format!("{found:.3} ms"),
            Self::Errors(Share::Percent)
            | Self::Hits(Share::Percent)
            | Self::Stale(Share::Percent) => format!("{found:.3} %"),
            Self::Rate => format!("{found:.1}/s"),
            Self::Cpu => format!("{found:.1} µs a request"),
            Self::Memory => format!("{:.1} MiB", found / 1024.0 / 1024.0),
            _ => format!("{found}"),
        }
    }
}
