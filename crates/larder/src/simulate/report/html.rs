//! The report as one page without external resources.

use super::{
    Load, Outcome, Reason, Report,
    svg::{Curve, chart, escaped},
    text::word,
    words::{count, counted, memory, named, percent, rate, size, time},
};
use std::io::{self, Write};

const STYLE: &str = include_str!("page.css");

/// Writes the page.
///
/// # Errors
/// Those of the output.
pub fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>larder simulate</title>\n<style>\n{STYLE}</style>\n<h1>What a cache would have done</h1>"
    )?;
    let files: Vec<_> = report.log.files.iter().map(named).collect();
    writeln!(out, "<p>{}</p>", escaped(&files.join(", ")))?;
    log(report, out)?;
    if let Some(why) = report.nothing() {
        reasons("What is refused", &report.refused, out)?;
        return writeln!(out, "<p>No request to simulate: {why}.</p>\n</html>");
    }
    figures(report, out)?;
    sizes(report, out)?;
    lifetimes(report, out)?;
    reasons(
        "What keeps answers from being stored",
        &report.unstored,
        out,
    )?;
    reasons("What bypasses the store", &report.bypassed, out)?;
    reasons("What is refused", &report.refused, out)?;
    urls(report, out)?;
    writeln!(out, "<h2>Taken for granted</h2>\n<ul>")?;
    for sentence in &report.assumed {
        writeln!(out, "<li>{}</li>", escaped(sentence))?;
    }
    writeln!(out, "</ul>\n</html>")
}

fn log(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let seen = &report.log;
    let mut told = vec![format!(
        "{} in {}",
        counted(report.requests, "request", "requests"),
        time(report.seconds)
    )];
    if seen.own > 0 {
        told.push(format!(
            "{} that a cache gives itself left out",
            counted(seen.own, "answer", "answers")
        ));
    }
    if seen.out_of_order > 0 {
        told.push(format!(
            "{} more than a minute late",
            counted(seen.out_of_order, "line", "lines")
        ));
    }
    told.extend(
        seen.broken
            .iter()
            .map(|broken| format!("not read to its end: {broken}")),
    );
    writeln!(out, "<p class=\"soft\">{}</p>", escaped(&told.join("; ")))?;
    if seen.bad == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "<p>{} not understood:</p>\n<ul>",
        counted(seen.bad, "line was", "lines were")
    )?;
    for bad in &seen.shown {
        let line = format!("{}:{}: {}: {}", bad.file, bad.line, bad.why, bad.text);
        writeln!(out, "<li>{}</li>", escaped(&line))?;
    }
    writeln!(out, "</ul>")
}

fn figures(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let base = &report.base;
    let title = format!(
        "With {} and a lifetime of {}",
        memory(base.memory),
        base.lifetime
    );
    writeln!(out, "<h2>{}</h2>\n<div class=\"figures\">", escaped(&title))?;
    let mut figure = |number: String, name: &str| writeln!(out, "<div><b>{number}</b>{name}</div>");
    figure(percent(base.hit_ratio), "of requests from the store")?;
    figure(percent(base.byte_hit_ratio), "of bytes from the store")?;
    figure(
        format!("{}/s", rate(base.origin.rate)),
        "requests left to the origin",
    )?;
    writeln!(
        out,
        "</div>\n<div class=\"wide\"><table><tr><th>Origin<th>requests<th>a second<th>bytes<th>a second<th>work</tr>"
    )?;
    for (name, load) in [
        ("without a cache", &report.without),
        ("with it", &base.origin),
    ] {
        writeln!(out, "<tr><td>{name}{}</tr>", cells(load))?;
    }
    writeln!(out, "</table></div>")?;
    let mut beside = vec![
        counted(base.stale, "stale hit", "stale hits"),
        format!(
            "{} that waited for another's fetch",
            counted(base.collapsed, "miss", "misses")
        ),
    ];
    if base.too_large > 0 {
        beside.push(format!(
            "{} too large for a store of this size",
            counted(base.too_large, "answer", "answers")
        ));
    }
    writeln!(out, "<p class=\"soft\">{}.</p>", beside.join("; "))
}

fn cells(load: &Load) -> String {
    let busy = load.busy.map_or_else(|| "–".to_owned(), time);
    format!(
        "<td>{}<td>{}<td>{}<td>{}<td>{busy}",
        count(load.requests),
        rate(load.rate),
        size(load.bytes),
        size(load.bandwidth as u64)
    )
}

fn sizes(report: &Report, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<h2>By memory and rule of eviction</h2>")?;
    let mut curves: Vec<Curve> = Vec::new();
    for outcome in &report.memory {
        let name = word(outcome.eviction);
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.shares.push(outcome.hit_ratio),
            None => curves.push(Curve {
                name: name.to_owned(),
                shares: vec![outcome.hit_ratio],
            }),
        }
    }
    let rules = curves.len().max(1);
    let places: Vec<_> = report
        .memory
        .iter()
        .take(report.memory.len() / rules)
        .map(|outcome| memory(outcome.memory))
        .collect();
    out.write_all(
        chart(
            "hit ratio by memory",
            &places,
            &curves,
            Some(report.unlimited.hit_ratio),
        )
        .as_bytes(),
    )?;
    writeln!(
        out,
        "<p class=\"soft\">Hit ratio by memory. The broken line is what never evicting would give, in {}.</p>",
        size(report.unlimited.peak)
    )?;
    writeln!(
        out,
        "<div class=\"wide\"><table><tr><th>Memory<th>rule{HEADS}<th>evictions</tr>"
    )?;
    for outcome in report.memory.iter().chain([&report.unlimited]) {
        let rule = if outcome.memory.is_some() {
            word(outcome.eviction)
        } else {
            "none"
        };
        writeln!(
            out,
            "<tr><td>{}<td>{rule}{}<td>{}</tr>",
            memory(outcome.memory),
            figures_of(outcome),
            count(outcome.evictions)
        )?;
    }
    writeln!(out, "</table></div>")
}

const HEADS: &str = "<th>requests<th>bytes<th>origin<th>a second<th>bytes<th>a second<th>work";

fn figures_of(outcome: &Outcome) -> String {
    format!(
        "<td>{}<td>{}{}",
        percent(outcome.hit_ratio),
        percent(outcome.byte_hit_ratio),
        cells(&outcome.origin)
    )
}

fn lifetimes(report: &Report, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<h2>By lifetime</h2>")?;
    let places: Vec<_> = report
        .lifetimes
        .iter()
        .map(|outcome| outcome.lifetime.clone())
        .collect();
    let shares = |share: fn(&Outcome) -> f64| report.lifetimes.iter().map(share).collect();
    let curves = [
        Curve {
            name: "requests".to_owned(),
            shares: shares(|outcome| outcome.hit_ratio),
        },
        Curve {
            name: "bytes".to_owned(),
            shares: shares(|outcome| outcome.byte_hit_ratio),
        },
    ];
    out.write_all(chart("hit ratio by lifetime", &places, &curves, None).as_bytes())?;
    writeln!(
        out,
        "<div class=\"wide\"><table><tr><th>Lifetime{HEADS}</tr>"
    )?;
    for outcome in &report.lifetimes {
        writeln!(
            out,
            "<tr><td>{}{}</tr>",
            escaped(&outcome.lifetime),
            figures_of(outcome)
        )?;
    }
    writeln!(out, "</table></div>")
}

fn reasons(title: &str, reasons: &[Reason], out: &mut impl Write) -> io::Result<()> {
    if reasons.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<h2>{title}</h2>\n<div class=\"wide\"><table><tr><th>Reason<th>requests<th>bytes<th>for example</tr>"
    )?;
    for reason in reasons {
        writeln!(
            out,
            "<tr><td>{}<td>{}<td>{}<td class=\"text\">{}</tr>",
            reason.reason,
            count(reason.requests),
            size(reason.bytes),
            escaped(&reason.example)
        )?;
    }
    writeln!(out, "</table></div>")
}

fn urls(report: &Report, out: &mut impl Write) -> io::Result<()> {
    if report.urls.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<h2>URLs that cost most, with the cache</h2>\n<div class=\"wide\"><table><tr><th>URL<th>fetches<th>requests<th>bytes<th>work<th>not stored</tr>"
    )?;
    let tells_time = report.base.origin.busy.is_some();
    for url in &report.urls {
        let busy = if tells_time {
            time(url.busy)
        } else {
            "–".to_owned()
        };
        writeln!(
            out,
            "<tr><td class=\"text\">{}<td>{}<td>{}<td>{}<td>{busy}<td>{}</tr>",
            escaped(&url.url),
            count(url.fetches),
            count(url.requests),
            size(url.bytes),
            url.reason.unwrap_or_default()
        )?;
    }
    writeln!(out, "</table></div>")
}
