//! Reads the figure and the bound of an assertion.

use super::{
    Wrong,
    figure::{Figure, Share},
};
use crate::figures::PERCENTILES;

const NAMES: &str = "p50, p75, p90, p95, p99, p99.9, p99.99, mean, max, errors, hits, stale, rate, requests, cpu, memory";

/// Reads the name of a figure and a value that fits it, and returns that in the figure's own unit.
pub(super) fn bound(name: &str, value: &str) -> Result<(Figure, f64), Wrong> {
    let share = |figure: fn(Share) -> Figure| match value.strip_suffix('%') {
        Some(percent) => Ok((figure(Share::Percent), number(percent, value)?)),
        None => Ok((figure(Share::Count), number(value, value)?)),
    };
    let name = name.to_ascii_lowercase();
    if let Some((name, _)) = PERCENTILES.iter().find(|(one, _)| *one == name) {
        return Ok((Figure::Percentile(name), millis(value)?));
    }
    match name.as_str() {
        "mean" => Ok((Figure::Mean, millis(value)?)),
        "max" => Ok((Figure::Max, millis(value)?)),
        "errors" => share(Figure::Errors),
        "hits" => share(Figure::Hits),
        "stale" => share(Figure::Stale),
        "rate" => {
            let plain = value.strip_suffix("/s").unwrap_or(value);
            Ok((Figure::Rate, number(plain, value)?))
        }
        "requests" => Ok((Figure::Requests, number(value, value)?)),
        "cpu" => Ok((Figure::Cpu, millis(value)? * 1000.0)),
        "memory" => Ok((Figure::Memory, bytes(value)?)),
        _ => Err(Wrong(format!("no figure '{name}': there are {NAMES}"))),
    }
}

fn number(text: &str, whole: &str) -> Result<f64, Wrong> {
    let digits = text.trim();
    let plain = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let parsed = digits.parse().ok().filter(|_| plain);
    parsed.ok_or_else(|| Wrong(format!("'{whole}' is not a value for it")))
}

fn with_unit(value: &str, units: &[(&str, f64)], such: &str) -> Result<f64, Wrong> {
    let end = value.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (digits, unit) = value.split_at(end.unwrap_or(value.len()));
    let unit = unit.trim();
    let factor = units
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit));
    match factor {
        Some((_, factor)) => Ok(number(digits, value)? * factor),
        None => Err(Wrong(format!("'{value}' needs a unit, such as {such}"))),
    }
}

/// Reads a time, in milliseconds.
fn millis(value: &str) -> Result<f64, Wrong> {
    let units = [("us", 0.001), ("µs", 0.001), ("ms", 1.0), ("s", 1000.0)];
    with_unit(value, &units, "50ms")
}

fn bytes(value: &str) -> Result<f64, Wrong> {
    const KIB: f64 = 1024.0;
    let units = [
        ("b", 1.0),
        ("kib", KIB),
        ("mib", KIB * KIB),
        ("gib", KIB * KIB * KIB),
        ("kb", 1e3),
        ("mb", 1e6),
        ("gb", 1e9),
    ];
    with_unit(value, &units, "200MiB")
}
