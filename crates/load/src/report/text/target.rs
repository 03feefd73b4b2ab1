//! The figures of one target, as lines.

use super::line;
use crate::{
    fault::Fault,
    figures::{Figures, Latency, Target, float},
    report::words::{bytes, cached, count, doubt, millis, percentile, rounded, whole},
    run::Ended,
};
use std::fmt::Write;

pub(super) fn one(text: &mut String, figures: &Figures, target: &Target) {
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
    // A class with only one code says nothing new.
    if target.statuses.classes.len() < answers.len() {
        let classes = target.statuses.classes.iter();
        let classes = classes.map(|(class, count)| format!("{class}: {}", whole(*count)));
        line(text, "", &classes.collect::<Vec<_>>().join("  "));
    }
    line(text, "received", &received(target));
    line(text, "connections", &connections(target));
    if let Some(shares) = cached(&target.cache) {
        line(text, "from cache", &shares);
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
            if let (Fault::Tls, Some(why)) = (fault, &target.refused) {
                let _ = write!(text, " ({why})");
            }
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

fn received(target: &Target) -> String {
    let each = float(target.bytes.received) / target.seconds.max(f64::MIN_POSITIVE);
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
