//! The arithmetic of figures: rates, shares and units.

use std::time::Duration;

pub(super) fn millis(time: Duration) -> f64 {
    // The resolution is a hundred nanoseconds.
    (time.as_secs_f64() * 1e7).round() / 1e4
}

pub(super) fn each(cpu: Duration, requests: u64) -> Option<f64> {
    (requests > 0).then(|| cpu.as_secs_f64() * 1e6 / float(requests))
}

pub(super) fn per(what: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { what / seconds } else { 0.0 }
}

/// Returns a share. `None`: it is one of nothing.
pub(crate) fn percent(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| float(part) * 100.0 / float(of))
}

/// Returns a count as a float.
#[allow(
    clippy::cast_precision_loss,
    reason = "counts of a run are far below what a float holds exactly"
)]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}
