//! The table of all figures.

use super::{
    super::words::{bytes, cached, count, millis, percentile, whole},
    escape,
};
use crate::figures::{Figures, Latency, PERCENTILES, Target};
use std::fmt::Write;

/// Rows with a column for each target.
struct Table<'a> {
    targets: &'a [Target],
    html: String,
}

/// Writes the table.
pub(super) fn all(figures: &Figures) -> String {
    let mut table = Table {
        targets: &figures.targets,
        html: "<h2>All figures</h2>\n<div class=\"card wide\"><table>\n<tr><th></th>".to_owned(),
    };
    // Writing to a string does not fail, here and below.
    for target in &figures.targets {
        let _ = write!(table.html, "<th>{}</th>", escape(&target.name));
    }
    table.html.push_str("</tr>\n");
    answers(&mut table);
    wire(&mut table);
    machines(&mut table);
    table.html.push_str("</table></div>\n");
    table.html
}

impl Table<'_> {
    /// Adds a row, unless no target has anything for it.
    fn row(&mut self, name: &str, of: impl Fn(&Target) -> Option<String>) {
        let cells: Vec<_> = self.targets.iter().map(of).collect();
        if cells.iter().all(Option::is_none) {
            return;
        }
        let _ = write!(self.html, "<tr><td>{name}</td>");
        for cell in cells {
            let _ = write!(
                self.html,
                "<td>{}</td>",
                escape(&cell.unwrap_or("–".to_owned()))
            );
        }
        self.html.push_str("</tr>\n");
    }
}

fn answers(table: &mut Table<'_>) {
    table.row("Requests", |target| Some(whole(target.requests)));
    table.row("Errors", |target| Some(whole(target.errors)));
    table.row("Good answers a second", |target| Some(count(target.rate)));
    for (name, _) in PERCENTILES {
        table.row(name, |target| percentile(target.latency_ms.as_ref()?, name));
    }
    table.row("Longest", |target| {
        target.latency_ms.as_ref().map(|one| millis(one.max))
    });
    table.row("Mean ± standard deviation", |target| {
        let one = target.latency_ms.as_ref()?;
        Some(format!("{} ± {}", millis(one.mean), millis(one.stddev)))
    });
    table.row("Median of errors", |target| {
        at(target.error_latency_ms.as_ref(), "p50")
    });
    table.row("Statuses", |target| pairs(target.statuses.codes.iter()));
    table.row("Classes of statuses", |target| {
        pairs(target.statuses.classes.iter())
    });
    table.row("No whole answer", |target| pairs(target.faults.iter()));
    table.row("From a cache", |target| cached(&target.cache));
}

fn wire(table: &mut Table<'_>) {
    table.row("Protocol", |target| {
        let tls = target.tls.as_ref();
        let tls = tls.map_or(String::new(), |tls| format!(", {tls}"));
        Some(format!("HTTP/{}{tls}", target.http))
    });
    table.row("Connections opened", |target| {
        Some(whole(target.connections.opened))
    });
    table.row("Opening one, median", |target| {
        at(target.connect_ms.as_ref(), "p50")
    });
    table.row("Received", |target| Some(bytes(target.bytes.received)));
}

fn machines(table: &mut Table<'_>) {
    table.row("Server: CPU", |target| {
        let process = target.process.as_ref()?;
        Some(format!(
            "{:.2} s, {:.2} cores",
            process.cpu_seconds, process.cores
        ))
    });
    table.row("Server: CPU a request", |target| {
        micros(target.process.as_ref()?.cpu_us_per_request)
    });
    table.row("Server: most memory", |target| {
        Some(bytes(target.process.as_ref()?.memory_bytes))
    });
    table.row("This tool: CPU a request", |target| {
        micros(target.tool.cpu_us_per_request)
    });
    table.row("This tool: busiest worker", |target| {
        Some(format!("{:.0} %", target.tool.busiest_worker_percent))
    });
    table.row("This tool: that worker without its core", |target| {
        let waited = target.tool.busiest_worker_waited_percent;
        Some(format!("{waited:.0} % of the time"))
    });
    table.row("This tool: late to its clock, p99", |target| {
        at(target.tool.lag_ms.as_ref(), "p99")
    });
}

fn at(latency: Option<&Latency>, name: &str) -> Option<String> {
    latency?.percentiles.get(name).copied().map(millis)
}

fn micros(micros: Option<f64>) -> Option<String> {
    micros.map(|micros| format!("{micros:.1} µs"))
}

fn pairs<K: ToString, V: ToString>(pairs: impl Iterator<Item = (K, V)>) -> Option<String> {
    let pairs = pairs.map(|(key, value)| format!("{}: {}", key.to_string(), value.to_string()));
    let all: Vec<_> = pairs.collect();
    (!all.is_empty()).then(|| all.join(", "))
}
