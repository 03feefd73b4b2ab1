//! The result for a terminal or a log: plain lines, no colour.

use crate::{
    fault::Fault,
    figures::{Figures, Latency, Target},
    run::Ended,
};
use std::fmt::Write;

/// The result as text.
pub fn page(figures: &Figures) -> String {
    let mut text = String::new();
    for target in &figures.targets {
        one(&mut text, figures, target);
        text.push('\n');
    }
    if let Some(comparison) = &figures.comparison {
        compared(&mut text, comparison);
        text.push('\n');
    }
    for verdict in &figures.assertions {
        line(&mut text, "assert", &verdict.to_string());
    }
    for warning in &figures.warnings {
        let of = if figures.targets.len() > 1 {
            format!("{}: ", warning.target)
        } else {
            String::new()
        };
        line(&mut text, "warning", &format!("{of}{}", warning.text));
    }
    text
}

fn one(text: &mut String, figures: &Figures, target: &Target) {
    title(text, figures, target);
    let requests = format!("{}  {}/s", whole(target.requests), count(target.rate));
    line(text, "requests", &requests);
    line(text, "errors", &errors(target));
    latencies(text, "latency", target.latency_ms.as_ref());
    if target.error_latency_ms.is_some() {
        latencies(text, "of errors", target.error_latency_ms.as_ref());
    }
    let answers = target.statuses.codes.iter();
    let answers: Vec<_> = answers
        .map(|(code, count)| format!("{code}: {}", whole(*count)))
        .collect();
    if !answers.is_empty() {
        line(text, "status", &answers.join("  "));
    }
    // A class of one code says nothing new.
    if target.statuses.classes.len() < answers.len() {
        let classes = target.statuses.classes.iter();
        let classes = classes.map(|(class, count)| format!("{class}: {}", whole(*count)));
        line(text, "", &classes.collect::<Vec<_>>().join("  "));
    }
    line(text, "received", &received(target));
    line(text, "connections", &connections(target));
    if let Some(hits) = target.cache.hits_percent {
        let stale = target.cache.stale_percent.unwrap_or(0.0);
        line(
            text,
            "from cache",
            &format!("{hits:.1} %, stale {stale:.1} %"),
        );
    }
    if let Some(process) = &target.process {
        let each = process
            .cpu_us_per_request
            .map_or(String::new(), |each| format!("{each:.1} µs a request, "));
        let memory = bytes(process.memory_bytes);
        let cores = process.cores;
        line(
            text,
            &process.name,
            &format!("{each}{cores:.2} cores, at most {memory}"),
        );
    }
    line(text, "tool itself", &tool(target));
}

fn title(text: &mut String, figures: &Figures, target: &Target) {
    let way = format!("HTTP/{}", target.http);
    let tls = target
        .tls
        .as_ref()
        .map_or(String::new(), |tls| format!(", {tls}"));
    let urls = match target.urls {
        1 => String::new(),
        urls => format!(" and {} more", urls - 1),
    };
    let name = if target.url.starts_with(&target.name) {
        String::new()
    } else {
        format!("{}: ", target.name)
    };
    let kept = if target.keep_alive {
        ""
    } else {
        ", a connection for each request"
    };
    let _ = writeln!(text, "{name}{}{urls}", target.url);
    let _ = writeln!(
        text,
        "{way}{tls}{kept}, {}, {:.1} s{}",
        figures.shape.words(),
        target.seconds,
        ended(figures.ended)
    );
}

fn ended(ended: Ended) -> &'static str {
    match ended {
        Ended::Stopped => ", stopped",
        Ended::NoAddress => ", not run: the host's name has no address",
        Ended::Time | Ended::Requests => "",
    }
}

fn errors(target: &Target) -> String {
    if target.errors == 0 {
        return "0".to_owned();
    }
    let mut text = format!("{}  {:.2} %", whole(target.errors), target.errors_percent);
    for fault in Fault::ALL {
        if let Some(count) = target.faults.get(fault.name()) {
            let _ = write!(text, "\n{:14}{}: {}", "", fault.meaning(), whole(*count));
        }
    }
    text
}

fn latencies(text: &mut String, name: &str, latency: Option<&Latency>) {
    let Some(latency) = latency else {
        line(text, name, "–");
        return;
    };
    let at = |name: &str| percentile(latency, name).unwrap_or_default();
    let first = format!(
        "p50 {}  p90 {}  p99 {}  p99.9 {}  p99.99 {}",
        at("p50"),
        at("p90"),
        at("p99"),
        at("p99.9"),
        at("p99.99")
    );
    line(text, name, &first);
    if let Some(note) = doubt(latency) {
        line(text, "", &note);
    }
    let second = format!(
        "mean {} ± {}  from {} to {}",
        millis(latency.mean),
        millis(latency.stddev),
        millis(latency.min),
        millis(latency.max)
    );
    line(text, "", &second);
}

/// A percentile, marked where it rests on too few.
pub(super) fn percentile(latency: &Latency, name: &str) -> Option<String> {
    let value = latency.percentiles.get(name)?;
    let mark = if latency.doubtful.contains(&name) {
        "?"
    } else {
        ""
    };
    Some(format!("{}{mark}", millis(*value)))
}

/// What the mark means, where there is one.
pub(super) fn doubt(latency: &Latency) -> Option<String> {
    let first = latency.doubtful.first()?;
    Some(format!(
        "? fewer than ten of {} lie beyond {first}: chance rather than a measure",
        whole(latency.count)
    ))
}

fn received(target: &Target) -> String {
    // A run receives far less than a float holds exactly.
    #[allow(clippy::cast_precision_loss)]
    let each = target.bytes.received as f64 / target.seconds.max(f64::MIN_POSITIVE);
    format!(
        "{}  {}/s",
        bytes(target.bytes.received),
        bytes(rounded(each))
    )
}

fn connections(target: &Target) -> String {
    let opened = target.connections.opened;
    let time = target.connect_ms.as_ref();
    let time = time.and_then(|time| time.percentiles.get("p50"));
    let time = time.map_or(String::new(), |time| {
        format!(", each opened within {} (median)", millis(*time))
    });
    format!("{}{time}", whole(opened))
}

fn tool(target: &Target) -> String {
    let tool = &target.tool;
    let each = tool
        .cpu_us_per_request
        .map_or(String::new(), |each| format!("{each:.1} µs a request, "));
    let mut text = format!("{each}busiest worker {:.0} %", tool.busiest_worker_percent);
    // Less than this is chance.
    if tool.busiest_worker_waited_percent >= 1.0 {
        let _ = write!(
            text,
            ", {:.0} % without its core",
            tool.busiest_worker_waited_percent
        );
    }
    if let Some(lag) = tool
        .lag_ms
        .as_ref()
        .and_then(|lag| lag.percentiles.get("p99"))
    {
        let _ = write!(text, ", its clock late by {} (p99)", millis(*lag));
    }
    text
}

fn compared(text: &mut String, comparison: &crate::compare::Comparison) {
    let _ = writeln!(text, "against {}: {}", comparison.base, comparison.spread());
    for ratios in &comparison.ratios {
        let rows = [
            ("requests/s", ratios.rate),
            ("p50", ratios.p50),
            ("p99", ratios.p99),
            ("CPU/request", ratios.cpu_per_request),
        ];
        for (what, ratio) in rows {
            if let Some(ratio) = ratio {
                let spread = match comparison.rounds {
                    ..2 => String::new(),
                    _ => format!("  ({:.3} to {:.3})", ratio.min, ratio.max),
                };
                let (target, median) = (&ratios.target, ratio.median);
                let _ = writeln!(text, "  {target:24} {what:12} × {median:.3}{spread}");
            }
        }
    }
    for sentence in &comparison.sentences {
        let _ = writeln!(text, "{sentence}");
    }
}

fn line(text: &mut String, name: &str, value: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "  {name:11} {value}");
}

/// A latency with the unit that suits it; from milliseconds.
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

/// A number that may have decimals, with its thousands apart.
pub fn count(number: f64) -> String {
    if number < 99.95 {
        format!("{number:.1}")
    } else {
        whole(rounded(number))
    }
}

/// A float as a whole number; what is below 0 is 0.
#[allow(clippy::cast_sign_loss, reason = "a cast from a float saturates")]
fn rounded(number: f64) -> u64 {
    number.round() as u64
}

/// A number with its thousands apart.
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

/// A number of bytes with the unit that suits it.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    // What is lost is below a tenth of the unit.
    #[allow(clippy::cast_precision_loss)]
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
