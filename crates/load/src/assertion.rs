//! Assertions on a result, such as `p99<50ms`, for pipelines.

use crate::figures::{PERCENTILES, Target};
use serde::Serialize;
use std::fmt;

#[cfg(test)]
mod tests;

/// An assertion about a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Assertion {
    /// As it was written.
    pub text: String,
    figure: Figure,
    relation: Relation,
    /// The bound, in the figure's own unit.
    bound: f64,
}

/// Whether an assertion holds for a target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// As it was written.
    pub text: String,
    /// The target's name.
    pub target: String,
    /// Whether it holds. An assertion about something that was not measured does not hold.
    pub holds: bool,
    /// The value that was found, in words.
    pub found: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Less,
    AtMost,
    More,
    AtLeast,
}

/// The figures that can be asserted, with their units.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
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
enum Share {
    Percent,
    Count,
}

/// What is wrong with an assertion. The message is for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Wrong(String);

const NAMES: &str = "p50, p75, p90, p95, p99, p99.9, p99.99, mean, max, errors, hits, stale, rate, requests, cpu, memory";

impl Assertion {
    /// Reads `FIGURE RELATION VALUE`, with or without spaces. Relations are `<`, `<=`, `>`, `>=`.
    ///
    /// # Errors
    /// There is no such figure, or the value does not fit it.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        let at = text
            .find(['<', '>'])
            .ok_or_else(|| Wrong(format!("'{text}' lacks one of < <= > >=, as in 'p99<50ms'")))?;
        let (name, rest) = text.split_at(at);
        let relations = [
            ("<=", Relation::AtMost),
            (">=", Relation::AtLeast),
            ("<", Relation::Less),
            (">", Relation::More),
        ];
        let (relation, value) = relations
            .iter()
            .find_map(|(sign, relation)| Some((*relation, rest.strip_prefix(sign)?.trim())))
            .ok_or_else(|| Wrong(format!("'{text}' lacks one of < <= > >=")))?;
        let (figure, bound) = read(name.trim(), value)?;
        let text = text.to_owned();
        Ok(Self {
            text,
            figure,
            relation,
            bound,
        })
    }

    /// Returns the percentile that it relies on, in percent.
    pub fn percentile(&self) -> Option<f64> {
        let Figure::Percentile(wanted) = self.figure else {
            return None;
        };
        let mut named = PERCENTILES.iter();
        named
            .find(|(name, _)| *name == wanted)
            .map(|(_, percent)| *percent)
    }

    /// Whether it needs a process to be watched.
    pub fn needs_process(&self) -> bool {
        matches!(self.figure, Figure::Cpu | Figure::Memory)
    }

    /// Whether it holds.
    pub fn judge(&self, target: &Target) -> Verdict {
        let at_most = matches!(self.relation, Relation::Less | Relation::AtMost);
        let is_of_waiting = at_most && self.figure.is_of_waiting();
        let found = match self.figure.of(target) {
            _ if is_of_waiting && target.hung => None,
            // An answer that says nothing may have come from anywhere. Whoever wants many hits gains nothing from it.
            Some(_) if !at_most && self.figure.is_of_caches() => self.figure.of_all(target),
            found if is_of_waiting => match (found, self.figure.at_least(target)) {
                (Some(found), Some(least)) => Some(found.max(least)),
                (found, _) => found,
            },
            found => found,
        };
        let holds = found.is_some_and(|found| match self.relation {
            Relation::Less => found < self.bound,
            Relation::AtMost => found <= self.bound,
            Relation::More => found > self.bound,
            Relation::AtLeast => found >= self.bound,
        });
        let unknown = || match target.unanswered {
            left if is_of_waiting && target.hung => format!(
                "not known: {} requests had no answer at the end, the oldest after {:.0} ms",
                left.requests, left.oldest_ms
            ),
            _ => "not measured".to_owned(),
        };
        let base = self.figure.base(target, at_most);
        let found = found.map_or_else(unknown, |found| self.figure.words(found) + &base);
        Verdict {
            text: self.text.clone(),
            target: target.name.clone(),
            holds,
            found,
        }
    }
}

fn read(name: &str, value: &str) -> Result<(Figure, f64), Wrong> {
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

impl Figure {
    /// Whether requests that are still waiting could make it worse.
    fn is_of_waiting(self) -> bool {
        matches!(
            self,
            Self::Percentile(_) | Self::Mean | Self::Max | Self::Errors(_)
        )
    }

    /// Whether it is a share of the answers about which caches say something.
    fn is_of_caches(self) -> bool {
        matches!(
            self,
            Self::Hits(Share::Percent) | Self::Stale(Share::Percent)
        )
    }

    /// Returns the same share of all answers. `None`: no answer says anything.
    fn of_all(self, target: &Target) -> Option<f64> {
        let cache = &target.cache;
        let count = match self {
            Self::Hits(_) => cache.hit + cache.stale,
            _ => cache.stale,
        };
        #[allow(
            clippy::cast_precision_loss,
            reason = "counts of a run are far below what a float holds exactly"
        )]
        let percent = count as f64 * 100.0 / cache.all().max(1) as f64;
        (cache.said() > 0).then_some(percent)
    }

    /// Says of which answers it is a share, if not all say something about caches.
    fn base(self, target: &Target, at_most: bool) -> String {
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
    fn at_least(self, target: &Target) -> Option<f64> {
        let latency = target.latency_at_least_ms.as_ref()?;
        match self {
            Self::Percentile(name) => latency.percentiles.get(name).copied(),
            Self::Mean => Some(latency.mean),
            Self::Max => Some(latency.max),
            _ => None,
        }
    }

    fn of(self, target: &Target) -> Option<f64> {
        let latency = target.latency_ms.as_ref();
        #[allow(
            clippy::cast_precision_loss,
            reason = "counts of a run are far below what a float holds exactly"
        )]
        let float = |count: u64| count as f64;
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

    fn words(self, found: f64) -> String {
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

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            text,
            target,
            found,
            ..
        } = self;
        let holds = if self.holds { "holds" } else { "does not hold" };
        write!(f, "{text} {holds} for {target}: {found}")
    }
}
