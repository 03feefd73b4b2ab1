//! The result as CSV (RFC 4180): a row for each target as a whole, and one for each span of its run.

use crate::figures::{Figures, Point, Target};
use std::fmt::Write;

/// The columns. A whole target has `all` for its span; what a span does not have is empty.
const COLUMNS: &str = "target,at_s,seconds,users,requests,errors,rate,p50_ms,p75_ms,p90_ms,p95_ms,p99_ms,p99.9_ms,p99.99_ms,\
max_ms,bytes_received,hits,stale,process_cores,process_memory_bytes,tool_cores";

/// The result as CSV.
pub fn rows(figures: &Figures) -> String {
    let mut text = format!("{COLUMNS}\r\n");
    for target in &figures.targets {
        let name = quoted(&target.name);
        // Writing to a string does not fail.
        let _ = write!(text, "{name},all,{}\r\n", whole(target));
        for point in &target.points {
            let _ = write!(text, "{name},{}\r\n", span(point));
        }
    }
    text
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

/// A name that a spreadsheet takes for neither several cells nor a formula.
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
