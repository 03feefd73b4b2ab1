//! Latencies: their percentiles, and how far these can be relied on.

use super::{
    PERCENTILES,
    number::{float, millis},
};
use crate::times::Times;
use serde::Serialize;
use std::collections::BTreeMap;

/// How many answers must lie beyond a percentile for it to mean something.
pub(crate) const BEYOND: f64 = 10.0;

/// Latencies, in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    /// How many.
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
    /// The names of percentiles beyond which lie fewer than ten of these: chance rather than a measure.
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

/// How many of so many lie beyond a percentile.
pub(crate) fn beyond(count: u64, percent: f64) -> f64 {
    float(count) * (100.0 - percent) / 100.0
}

/// The latency at percentiles that come closer and closer to 100, as far as there are requests to tell them apart.
pub(super) fn curve(times: &Times) -> Vec<(f64, f64)> {
    let mut curve = Vec::new();
    let (mut percent, mut step) = (0.0, 5.0);
    let enough = |percent: f64| float(times.count()) * (100.0 - percent) / 100.0 >= 1.0;
    while percent < 99.9999 && enough(percent) {
        if let Some(time) = times.percentile(percent) {
            curve.push((percent, millis(time)));
        }
        // Ten steps from one nine to the next.
        if 100.0 - percent <= step * 2.0 + 1e-9 {
            step /= 10.0;
        }
        percent = ((percent + step) * 1e6).round() / 1e6;
    }
    curve
}
