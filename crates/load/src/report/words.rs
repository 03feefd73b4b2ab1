//! Figures for people: with units, grouped thousands, and a mark if they rest on too few answers.

use crate::figures::{Cache, Latency};

/// Writes a latency in milliseconds with a suitable unit.
pub fn millis(millis: f64) -> String {
    if millis < 0.9995 {
        format!("{:.0} µs", millis * 1000.0)
    } else if millis < 99.95 {
        format!("{millis:.2} ms")
    } else if millis < 9_999.5 {
        format!("{millis:.0} ms")
    } else {
        format!("{:.1} s", millis / 1000.0)
    }
}

/// Writes a number that may have decimals, with grouped thousands.
pub fn count(number: f64) -> String {
    if number < 99.95 {
        format!("{number:.1}")
    } else {
        whole(rounded(number))
    }
}

/// Rounds a float to a whole number. A negative one becomes 0.
#[allow(clippy::cast_sign_loss, reason = "a cast from a float saturates")]
pub(super) fn rounded(number: f64) -> u64 {
    number.round() as u64
}

/// Writes a number with grouped thousands.
pub fn whole(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Writes which share of the answers came from a cache, and how many these are. `None`: no answer says anything about
/// it.
pub(super) fn cached(cache: &Cache) -> Option<String> {
    let (hits, stale) = (cache.hits_percent?, cache.stale_percent?);
    let said = whole(cache.said());
    let others = match cache.unsaid {
        0 => String::new(),
        unsaid => format!("; {} others said nothing of it", whole(unsaid)),
    };
    Some(format!(
        "{hits:.1} %, stale {stale:.1} % of {said} answers{others}"
    ))
}

/// Writes a number of bytes with a suitable unit.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    #[allow(
        clippy::cast_precision_loss,
        reason = "what is lost is below a tenth of the unit"
    )]
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or_default();
    if unit == 0 {
        format!("{number} B")
    } else {
        format!("{value:.1} {name}")
    }
}

/// Writes a percentile, marked if it rests on too few answers.
pub(super) fn percentile(latency: &Latency, name: &str) -> Option<String> {
    let value = latency.percentiles.get(name)?;
    let mark = if latency.doubtful.contains(&name) {
        "?"
    } else {
        ""
    };
    Some(format!("{}{mark}", millis(*value)))
}

/// Says what the mark means, if there is one.
pub(super) fn doubt(latency: &Latency) -> Option<String> {
    let first = latency.doubtful.first()?;
    Some(format!(
        "? fewer than ten of {} lie beyond {first}: chance rather than a measure",
        whole(latency.count)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units() {
        assert_eq!(whole(1_234_567), "1 234 567");
        assert_eq!(whole(999), "999");
        assert_eq!(count(12.34), "12.3");
        assert_eq!(count(12_345.6), "12 346");
        assert_eq!(millis(0.0514), "51 µs");
        assert_eq!(millis(1.0), "1.00 ms");
        assert_eq!(millis(123.4), "123 ms");
        assert_eq!(millis(12_340.0), "12.3 s");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024 * 1024), "1.0 MiB");
    }
}
