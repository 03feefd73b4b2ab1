//! Axes: the positions of values, and the values that are labelled.

/// How values are distributed over an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Axis {
    /// Evenly.
    Linear { low: f64, high: f64 },
    /// Each factor takes the same length.
    Log { low: f64, high: f64 },
    /// Percentiles: each further nine takes the same length.
    Nines { most: f64 },
}

/// Ratio between the largest and the smallest value from which small values would be invisible on a linear axis.
const WIDE: f64 = 40.0;

impl Axis {
    /// Makes an axis from 0 to at least this value, which ends at a round value.
    pub(super) fn from_zero(high: f64) -> Self {
        let high = if high > 0.0 { high } else { 1.0 };
        let step = round_step(high / 4.0);
        let high = (high / step - 1e-9).ceil() * step;
        Self::Linear { low: 0.0, high }
    }

    /// Makes an axis from 0 to exactly this value.
    pub(super) fn until(high: f64) -> Self {
        let high = if high > 0.0 { high } else { 1.0 };
        Self::Linear { low: 0.0, high }
    }

    /// Makes a linear axis, or a logarithmic one if the values are too far apart for that.
    pub(super) fn for_latencies(values: impl Iterator<Item = f64> + Clone) -> Self {
        let positive = values.filter(|value| *value > 0.0);
        let high = positive.clone().fold(0.0, f64::max);
        let low = positive.fold(high, f64::min);
        if low > 0.0 && high / low > WIDE {
            let low = 10_f64.powf(low.log10().floor());
            let high = 10_f64.powf(high.log10().ceil());
            Self::Log { low, high }
        } else {
            Self::from_zero(high)
        }
    }

    /// Returns the position of a value, from 0 to 1. A value beyond an end lies at that end.
    pub(super) fn place(self, value: f64) -> f64 {
        let place = match self {
            Self::Linear { low, high } => (value - low) / (high - low),
            Self::Log { low, high } => {
                let (low, high) = (low.log10(), high.log10());
                (value.max(f64::MIN_POSITIVE).log10() - low) / (high - low)
            }
            Self::Nines { most } => nines(value) / nines(most).max(f64::MIN_POSITIVE),
        };
        if place.is_finite() {
            place.clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    /// Returns the values to label, about `count` of them.
    pub(super) fn ticks(self, count: f64) -> Vec<f64> {
        match self {
            Self::Linear { low, high } => {
                let step = round_step((high - low) / count);
                let ticks = (0..=100_u32).map(|one| low + f64::from(one) * step);
                ticks
                    .take_while(|tick| *tick <= high + step * 1e-9)
                    .collect()
            }
            Self::Log { low, high } => {
                let decades = (high / low).log10().round() as i32;
                let each: &[f64] = if decades <= 2 {
                    &[1.0, 2.0, 5.0]
                } else {
                    &[1.0]
                };
                let ticks = (0..=decades)
                    .flat_map(|decade| each.iter().map(move |one| low * 10_f64.powi(decade) * one));
                ticks.filter(|tick| *tick <= high * 1.001).collect()
            }
            Self::Nines { most } => {
                let all = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999];
                all.into_iter().filter(|tick| *tick <= most).collect()
            }
        }
    }
}

fn nines(percent: f64) -> f64 {
    -(1.0 - percent.clamp(0.0, 99.99999) / 100.0).log10()
}

/// Returns the smallest of 1, 2 and 5 times a power of ten that is not below `least`.
fn round_step(least: f64) -> f64 {
    let least = least.max(1e-9);
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|one| one * power);
    let found = steps.into_iter().find(|step| *step >= least * 0.999);
    found.unwrap_or(power * 10.0)
}

/// Writes a value as short as possible on its axis.
pub(super) fn label(value: f64) -> String {
    let size = value.abs();
    if size >= 10_000.0 {
        let thousands = value / 1000.0;
        return format!("{}k", trimmed(thousands, 1));
    }
    let decimals = match size {
        _ if size >= 100.0 || size == 0.0 => 0,
        _ if size >= 1.0 => 1,
        _ if size >= 0.1 => 2,
        _ => 3,
    };
    trimmed(value, decimals)
}

fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_axis() {
        let axis = Axis::from_zero(8734.0);
        assert_eq!(
            axis,
            Axis::Linear {
                low: 0.0,
                high: 10_000.0
            }
        );
        assert_eq!(axis.ticks(4.0), [0.0, 5000.0, 10_000.0]);
        let axis = Axis::for_latencies([0.3, 250.0].into_iter());
        assert_eq!(axis.ticks(4.0).len(), 5, "{axis:?}");
        assert!((axis.place(1000.0) - 1.0).abs() < 1e-9);
        let nines = Axis::Nines { most: 99.99 };
        assert!((nines.place(99.0) - 0.5).abs() < 1e-9);
        assert_eq!(nines.ticks(0.0).last(), Some(&99.99));
    }

    #[test]
    fn nothing_lies_beyond_an_axis() {
        for axis in [
            Axis::from_zero(0.0),
            Axis::until(-1.0),
            Axis::for_latencies([].into_iter()),
            Axis::Nines { most: 0.0 },
        ] {
            for value in [-1.0, 0.0, 1e9, f64::NAN, f64::INFINITY] {
                assert!((0.0..=1.0).contains(&axis.place(value)), "{axis:?} {value}");
            }
            assert!(axis.ticks(5.0).len() < 20);
        }
    }

    #[test]
    fn labels_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (12_500.0, "12.5k"),
            (40_000.0, "40k"),
            (0.25, "0.25"),
            (2.0, "2"),
            (2.5, "2.5"),
            (0.005, "0.005"),
            (100.0, "100"),
        ] {
            assert_eq!(label(value), text);
        }
    }
}
