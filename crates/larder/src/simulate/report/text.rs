//! The report as text, for a terminal or a file.

use super::{
    Load, Outcome, Reason, Report,
    words::{count, counted, cut, memory, named, percent, printable, rate, size, time},
};
use crate::simulate::plan::Eviction;
use std::{
    fmt::{Display, Write as _},
    io::{self, Write},
};

/// The smallest width of tables.
const LEAST: usize = 40;

/// Writes the report, at most `width` characters wide if that is possible.
///
/// # Errors
/// Those of the output.
pub fn write(report: &Report, width: usize, out: &mut impl Write) -> io::Result<()> {
    let width = width.max(LEAST);
    log(report, width, out)?;
    if let Some(why) = report.nothing() {
        reasons("Refused", &report.refused, width, out)?;
        return writeln!(out, "\nNo request to simulate: {why}.");
    }
    summary(report, out)?;
    sizes(report, width, out)?;
    lifetimes(report, width, out)?;
    reasons("Not stored", &report.unstored, width, out)?;
    reasons("The store is bypassed", &report.bypassed, width, out)?;
    reasons("Refused", &report.refused, width, out)?;
    urls(report, width, out)?;
    writeln!(out, "\nTaken for granted")?;
    for sentence in &report.assumed {
        wrapped("-", sentence, width, out)?;
    }
    Ok(())
}

fn log(report: &Report, width: usize, out: &mut impl Write) -> io::Result<()> {
    let seen = &report.log;
    for file in &seen.files {
        writeln!(out, "{}", printable(&named(file)))?;
    }
    let from = std::time::UNIX_EPOCH + std::time::Duration::from_secs(report.from as u64);
    if report.requests > 0 {
        let from = humantime::format_rfc3339_seconds(from);
        writeln!(
            out,
            "{} in {} from {from}",
            counted(report.requests, "request", "requests"),
            time(report.seconds)
        )?;
    }
    if seen.own > 0 {
        writeln!(
            out,
            "{} left out",
            counted(
                seen.own,
                "answer that a cache gives itself is",
                "answers that a cache gives itself are"
            )
        )?;
    }
    if seen.out_of_order > 0 {
        writeln!(
            out,
            "{} more than a minute late: logs of several servers have to be merged by time",
            counted(seen.out_of_order, "line is", "lines are")
        )?;
    }
    for broken in &seen.broken {
        writeln!(out, "not read to its end: {}", printable(broken))?;
    }
    if seen.bad > 0 {
        let lines = counted(seen.bad, "line was", "lines were");
        writeln!(out, "{lines} not understood:")?;
        for bad in &seen.shown {
            let line = format!("  {}:{}: {}: {}", bad.file, bad.line, bad.why, bad.text);
            writeln!(out, "{}", cut(&printable(&line), width))?;
        }
    }
    Ok(())
}

fn summary(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let base = &report.base;
    writeln!(
        out,
        "\nWith {} and a lifetime of {}:",
        memory(base.memory),
        base.lifetime
    )?;
    writeln!(
        out,
        "  hit ratio       {} of requests, {} of bytes",
        percent(base.hit_ratio),
        percent(base.byte_hit_ratio)
    )?;
    if base.stale + base.collapsed > 0 {
        writeln!(
            out,
            "                  {}; {} that waited for another's fetch",
            counted(base.stale, "stale hit", "stale hits"),
            counted(base.collapsed, "miss", "misses")
        )?;
    }
    writeln!(out, "  origin, without {}", load(&report.without))?;
    writeln!(out, "  origin, with    {}", load(&base.origin))?;
    if base.too_large > 0 {
        writeln!(
            out,
            "  too large       {} for a store of this size",
            counted(base.too_large, "answer", "answers")
        )?;
    }
    Ok(())
}

fn load(load: &Load) -> String {
    let busy = load
        .busy
        .map_or_else(String::new, |busy| format!(", {} of work", time(busy)));
    format!(
        "{} requests ({}/s), {}{busy}",
        count(load.requests),
        rate(load.rate),
        size(load.bytes)
    )
}

/// Writes a row for each size, a column for each rule (in a narrow terminal only for the first ones), and a bar for the
/// first one.
fn sizes(report: &Report, width: usize, out: &mut impl Write) -> io::Result<()> {
    let mut rules = rules(report);
    rules.truncate((width.saturating_sub(24) / 9).max(1));
    let heads = columns_of(rules.iter().map(|rule| word(*rule)));
    writeln!(out, "\n{:<12}{heads}{:>12}", "Memory", "origin/s")?;
    let of = |eviction: Eviction| {
        let all = report.memory.iter();
        all.filter(move |outcome| outcome.eviction == eviction)
    };
    let first = rules.first().copied().unwrap_or(Eviction::Larder);
    for (index, outcome) in of(first).enumerate() {
        let columns: Vec<_> = rules
            .iter()
            .filter_map(|rule| of(*rule).nth(index))
            .collect();
        row(&memory(outcome.memory), outcome, &columns, width, out)?;
    }
    let peak = format!("({})", size(report.unlimited.peak));
    let columns = vec![&report.unlimited; rules.len()];
    row(&peak, &report.unlimited, &columns, width, out)?;
    wrapped(
        " ",
        "The last row never evicts: more memory than that is of no use.",
        width,
        out,
    )
}

fn row(
    name: &str,
    outcome: &Outcome,
    columns: &[&Outcome],
    width: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let ratios = columns_of(columns.iter().map(|column| percent(column.hit_ratio)));
    let line = format!("{name:<12}{ratios}{:>12}", rate(outcome.origin.rate));
    with_bar(&line, outcome.hit_ratio, width, out)
}

/// Writes columns of nine characters.
fn columns_of(texts: impl Iterator<Item = impl Display>) -> String {
    texts.fold(String::new(), |mut line, text| {
        // Writing to a string cannot fail.
        let _ = write!(line, "{text:>9}");
        line
    })
}

fn with_bar(line: &str, share: f64, width: usize, out: &mut impl Write) -> io::Result<()> {
    let bar = bar(share, width.saturating_sub(line.len() + 2));
    writeln!(out, "{}", format!("{line}{bar}").trim_end())
}

/// Draws a bar for a share in the remaining room; empty if there is hardly any.
fn bar(share: f64, room: usize) -> String {
    if room < 10 {
        return String::new();
    }
    let room = room.min(40);
    format!("  {}", "#".repeat((share * room as f64).round() as usize))
}

fn lifetimes(report: &Report, width: usize, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n{:<19}{:>9}{:>12}", "Lifetime", "hits", "origin/s")?;
    for outcome in &report.lifetimes {
        let line = format!(
            "{:<19}{:>9}{:>12}",
            outcome.lifetime,
            percent(outcome.hit_ratio),
            rate(outcome.origin.rate)
        );
        with_bar(&line, outcome.hit_ratio, width, out)?;
    }
    Ok(())
}

fn rules(report: &Report) -> Vec<Eviction> {
    let mut rules = Vec::new();
    for outcome in &report.memory {
        if !rules.contains(&outcome.eviction) {
            rules.push(outcome.eviction);
        }
    }
    rules
}

/// The name of a rule in a table.
pub(super) const fn word(rule: Eviction) -> &'static str {
    match rule {
        Eviction::Larder => "larder",
        Eviction::Lru => "LRU",
        Eviction::Fifo => "FIFO",
    }
}

fn reasons(title: &str, reasons: &[Reason], width: usize, out: &mut impl Write) -> io::Result<()> {
    if reasons.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title:<22}{:>12}  for example", "requests")?;
    for reason in reasons {
        let line = format!(
            "{:<22}{:>12}  {}",
            reason.reason,
            count(reason.requests),
            printable(&reason.example)
        );
        writeln!(out, "{}", cut(&line, width))?;
    }
    Ok(())
}

fn urls(report: &Report, width: usize, out: &mut impl Write) -> io::Result<()> {
    if report.urls.is_empty() {
        return Ok(());
    }
    let tells_time = report.base.origin.busy.is_some();
    writeln!(
        out,
        "\n{:>10}{:>10}{:>11}  URLs that cost most, with the cache",
        "fetches",
        "requests",
        if tells_time { "work" } else { "bytes" }
    )?;
    for url in &report.urls {
        let cost = if tells_time {
            time(url.busy)
        } else {
            size(url.bytes)
        };
        let why = url
            .reason
            .map_or_else(String::new, |reason| format!(" ({reason})"));
        let line = format!(
            "{:>10}{:>10}{cost:>11}  {}{why}",
            count(url.fetches),
            count(url.requests),
            printable(&url.url)
        );
        writeln!(out, "{}", cut(&line, width))?;
    }
    Ok(())
}

/// Writes a sentence after a mark, over as many lines as it needs.
fn wrapped(mark: &str, sentence: &str, width: usize, out: &mut impl Write) -> io::Result<()> {
    let mut line = mark.to_owned();
    for word in sentence.split_whitespace() {
        let is_full = line.chars().count() + 1 + word.chars().count() > width;
        if is_full && line.len() > mark.len() {
            writeln!(out, "{line}")?;
            " ".clone_into(&mut line);
        }
        line.push(' ');
        line.push_str(word);
    }
    writeln!(out, "{line}")
}
