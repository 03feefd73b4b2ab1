//! The result as CSV (RFC 4180): one row for each target as a whole, and one for each span of its run.

use crate::{
    fault::Fault,
    figures::{Figures, Point, Target},
};
use std::fmt::Write;

/// The columns that spans also have. A whole target has `all` for its span. What a span lacks is empty.
const COLUMNS: &str = "target,at_s,seconds,users,requests,errors,rate,p50_ms,p75_ms,p90_ms,p95_ms,p99_ms,p99.9_ms,p99.99_ms,\
max_ms,bytes_received,hits,stale,process_cores,process_memory_bytes,tool_cores";

/// The columns that only a whole target has. They are followed by one column for each [`Fault`].
const WHOLE: &str = "good,hits_percent,stale_percent,cache_said,cache_unsaid,connections_opened,process_cpu_seconds,process_cpu_us_per_request";

/// The classes of statuses, one column each.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Writes the result as CSV.
pub fn rows(figures: &Figures) -> String {
    let mut text = format!("{COLUMNS},{WHOLE}");
    // Writing to a string does not fail.
    for class in CLASSES {
        let _ = write!(text, ",status_{class}");
    }
    for fault in Fault::ALL {
        let _ = write!(text, ",fault_{}", fault.name());
    }
    text.push_str("\r\n");
    let none = ",".repeat(WHOLE.split(',').count() + CLASSES.len() + Fault::ALL.len());
    for target in &figures.targets {
        let name = quoted(&target.name);
        let _ = write!(text, "{name},all,{},{}\r\n", whole(target), apart(target));
        for point in &target.points {
            let _ = write!(text, "{name},{}{none}\r\n", span(point));
        }
    }
    text
}

/// Writes the columns that only a whole target has.
fn apart(target: &Target) -> String {
    let process = target.process.as_ref();
    let mut cells = vec![
        target.good.to_string(),
        number(target.cache.hits_percent),
        number(target.cache.stale_percent),
        target.cache.said().to_string(),
        target.cache.unsaid.to_string(),
        target.connections.opened.to_string(),
        number(process.map(|process| process.cpu_seconds)),
        number(process.and_then(|process| process.cpu_us_per_request)),
    ];
    let classes = CLASSES.map(|class| target.statuses.classes.get(class));
    let faults = Fault::ALL.map(|fault| target.faults.get(fault.name()));
    let counts = classes.into_iter().chain(faults);
    cells.extend(counts.map(|count| count.copied().unwrap_or(0).to_string()));
    cells.join(",")
}

fn whole(target: &Target) -> String {
    let at = |name| number(target.percentile(name));
    let process = target.process.as_ref();
    let cells = [
        target.seconds.to_string(),
        target.connections.peak.to_string(),
        target.requests.to_string(),
        target.errors.to_string(),
        target.rate.to_string(),
        at("p50"),
        at("p75"),
        at("p90"),
        at("p95"),
        at("p99"),
        at("p99.9"),
        at("p99.99"),
        number(target.latency_ms.as_ref().map(|latency| latency.max)),
        target.bytes.received.to_string(),
        (target.cache.hit + target.cache.stale).to_string(),
        target.cache.stale.to_string(),
        number(process.map(|process| process.cores)),
        number(process.map(|process| process.memory_bytes)),
        (target.tool.cpu_seconds / target.seconds.max(f64::MIN_POSITIVE)).to_string(),
    ];
    cells.join(",")
}

fn span(point: &Point) -> String {
    let none = String::new;
    let cells = [
        point.at.to_string(),
        point.seconds.to_string(),
        point.users.to_string(),
        point.requests.to_string(),
        point.errors.to_string(),
        point.rate.to_string(),
        number(point.p50_ms),
        none(),
        number(point.p90_ms),
        none(),
        number(point.p99_ms),
        none(),
        none(),
        number(point.max_ms),
        none(),
        none(),
        none(),
        number(point.process_cores),
        number(point.process_memory_bytes),
        point.tool_cores.to_string(),
    ];
    cells.join(",")
}

fn number(number: Option<impl ToString>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

/// Quotes a name so that a spreadsheet takes it neither for several cells nor for a formula.
fn quoted(name: &str) -> String {
    let formula = name.starts_with(['=', '+', '-', '@']);
    let guard = if formula { "'" } else { "" };
    if formula || name.contains([',', '"', '\r', '\n']) {
        format!("\"{guard}{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn names_stay_in_their_cell() {
        for (name, cell) in [
            ("http://a:1", "http://a:1"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("=1+1", "\"'=1+1\""),
        ] {
            assert_eq!(quoted(name), cell);
        }
    }
}
