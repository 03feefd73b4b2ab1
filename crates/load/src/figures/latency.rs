//! Latencies: their percentiles, and how reliable these are.

use super::{
    PERCENTILES,
    number::{float, millis},
};
use crate::times::Times;
use serde::Serialize;
use std::collections::BTreeMap;

/// How many answers must lie beyond a percentile to make it meaningful.
pub(crate) const BEYOND: f64 = 10.0;

/// Latencies, in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    /// How many there are.
    pub count: u64,
    /// The shortest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub stddev: f64,
    /// The percentiles of [`PERCENTILES`], by name.
    #[serde(flatten)]
    pub percentiles: BTreeMap<&'static str, f64>,
    /// The longest.
    pub max: f64,
    /// The names of percentiles beyond which fewer than ten of these lie. They are chance rather than a measurement.
    pub doubtful: Vec<&'static str>,
}

impl Latency {
    pub(super) fn of(times: &Times) -> Option<Self> {
        let (mean, stddev) = times.mean()?;
        let named = PERCENTILES.iter();
        let named =
            named.filter_map(|(name, percent)| Some((*name, millis(times.percentile(*percent)?))));
        let doubted = PERCENTILES.iter();
        let doubted = doubted.filter(|(_, percent)| beyond(times.count(), *percent) < BEYOND);
        Some(Self {
            count: times.count(),
            min: millis(times.min()?),
            mean: millis(mean),
            stddev: millis(stddev),
            percentiles: named.collect(),
            max: millis(times.max()?),
            doubtful: doubted.map(|(name, _)| *name).collect(),
        })
    }
}

/// Returns how many of `count` lie beyond a percentile.
pub(crate) fn beyond(count: u64, percent: f64) -> f64 {
    float(count) * (100.0 - percent) / 100.0
}

/// Returns the latency at percentiles that approach 100, as far as there are enough requests to distinguish them.
pub(super) fn curve(times: &Times) -> Vec<(f64, f64)> {
    let mut curve = Vec::new();
    let (mut percent, mut step) = (0.0, 5.0);
    let enough = |percent: f64| float(times.count()) * (100.0 - percent) / 100.0 >= 1.0;
    while percent < 99.9999 && enough(percent) {
        if let Some(time) = times.percentile(percent) {
            curve.push((percent, millis(time)));
        }
        // Ten steps for each further nine.
        if 100.0 - percent <= step * 2.0 + 1e-9 {
            step /= 10.0;
        }
        percent = ((percent + step) * 1e6).round() / 1e6;
    }
    curve
}
