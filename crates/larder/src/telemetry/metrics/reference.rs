//! The reference page of metrics, generated from the table in `names`.

use super::names::{ALL, Kind, Metric};
use proxy::outcome::{FORWARDS, HIT_KINDS};
use std::fmt::Write;

const HEAD: &str = "\
# Metrics

`GET /metrics` on the admin address (127.0.0.1:9180 unless `--admin` or `admin` says otherwise) returns OpenMetrics text, which
Prometheus and compatible tools read. The figures are sums over all workers. The samples of counters end in `_total`. Counters
begin at zero when the program starts. A reload keeps them, except those of origins whose configuration it changes.

This page is generated from the program's own table: `larder/src/telemetry/metrics/names.rs`.

| metric | kind | labels | meaning |
|---|---|---|---|
";

/// Returns the page as Markdown.
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    for metric in ALL {
        // Writing to a string does not fail.
        let _ = writeln!(page, "{}", row(metric));
    }
    let reasons: Vec<&str> = FORWARDS.iter().map(|forward| forward.token()).collect();
    let _ = writeln!(page, "\nThe `kind` of hits is one of {}.", list(&HIT_KINDS));
    let _ = writeln!(page, "The `reason` is one of {}.", list(&reasons));
    page
}

fn row(metric: &Metric) -> String {
    let (name, help) = (metric.name, metric.help);
    let (kind, suffix) = match metric.kind {
        Kind::Counter => ("counter", "_total"),
        Kind::Gauge => ("gauge", ""),
        Kind::Histogram => ("histogram", ""),
    };
    let labels = match metric.labels {
        [] => String::new(),
        labels => list(labels),
    };
    format!("| `{name}{suffix}` | {kind} | {labels} | {help} |")
}

fn list(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}
