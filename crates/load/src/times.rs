//! Latencies: an HDR histogram in nanoseconds, allocated for the first one.

use hdrhistogram::Histogram;
use std::time::Duration;

/// Resolution in nanoseconds: 100 ns.
const LOWEST: u64 = 100;

/// The longest latency that is distinguished, in nanoseconds: an hour. Longer ones count as this.
const HIGHEST: u64 = 3_600_000_000_000;

/// The precision of latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Digits {
    Two = 2,
    Three = 3,
}

/// Latencies.
#[derive(Clone, Debug)]
pub struct Times {
    digits: Digits,
    histogram: Option<Box<Histogram<u64>>>,
}

impl Default for Times {
    fn default() -> Self {
        Self::fine()
    }
}

impl Times {
    /// Makes a histogram precise to a thousandth, for results.
    pub fn fine() -> Self {
        Self {
            digits: Digits::Three,
            histogram: None,
        }
    }

    /// Makes a histogram precise to a hundredth, in an eighth of the memory, for the points of a chart.
    pub fn coarse() -> Self {
        Self {
            digits: Digits::Two,
            histogram: None,
        }
    }

    fn histogram(&mut self) -> Option<&mut Histogram<u64>> {
        if self.histogram.is_none() {
            let made = Histogram::new_with_bounds(LOWEST, HIGHEST, self.digits as u8);
            // It accepts these constant bounds; see the test.
            self.histogram = made.ok().map(Box::new);
        }
        self.histogram.as_deref_mut()
    }

    /// Counts one latency.
    pub fn record(&mut self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        if let Some(histogram) = self.histogram() {
            histogram.saturating_record(nanos);
        }
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Self) {
        if let Some(theirs) = &other.histogram
            && let Some(ours) = self.histogram()
        {
            // Both have the same bounds, so nothing is out of range.
            let _ = ours.add(theirs.as_ref());
        }
    }

    /// Returns how many there are.
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, |one| one.len())
    }

    /// Returns the time within which `percent` of 100 lie. `None`: there are none.
    pub fn percentile(&self, percent: f64) -> Option<Duration> {
        let histogram = self.histogram.as_ref().filter(|one| !one.is_empty())?;
        // The histogram returns the upper end of a bucket, which may be above the largest.
        let found = histogram.value_at_percentile(percent).min(histogram.max());
        Some(Duration::from_nanos(found))
    }

    /// Returns the shortest.
    pub fn min(&self) -> Option<Duration> {
        let histogram = self.histogram.as_ref().filter(|one| !one.is_empty())?;
        Some(Duration::from_nanos(histogram.min()))
    }

    /// Returns the longest.
    pub fn max(&self) -> Option<Duration> {
        self.percentile(100.0)
    }

    /// Returns mean and standard deviation.
    pub fn mean(&self) -> Option<(Duration, Duration)> {
        let histogram = self.histogram.as_ref().filter(|one| !one.is_empty())?;
        let nanos = |value: f64| Duration::try_from_secs_f64(value / 1e9).ok();
        Some((nanos(histogram.mean())?, nanos(histogram.stdev())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_thousandth() {
        let mut times = Times::fine();
        for micros in 1..=10_000 {
            times.record(Duration::from_micros(micros));
        }
        for (percent, micros) in [(50.0, 5_000.0), (99.0, 9_900.0), (99.99, 9_999.0)] {
            let found = times.percentile(percent).unwrap().as_secs_f64() * 1e6;
            assert!(
                (found / micros - 1.0_f64).abs() < 0.002,
                "{percent}: {found}"
            );
        }
        assert_eq!(times.count(), 10_000);
        assert!(times.max().unwrap() <= Duration::from_micros(10_010));
    }

    #[test]
    fn what_is_beyond_the_bounds_is_counted_at_them() {
        let mut times = Times::coarse();
        times.record(Duration::ZERO);
        times.record(Duration::from_secs(1 << 40));
        assert_eq!(times.count(), 2);
        assert!(times.max().unwrap() < Duration::from_secs(4000));
        let mut all = Times::fine();
        all.add(&times);
        assert_eq!(all.count(), 2);
        assert_eq!(Times::fine().percentile(50.0), None);
    }
}
