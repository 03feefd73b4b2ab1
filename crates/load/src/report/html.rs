//! One page that works offline: no script, no external resources, light and dark.

mod axis;
mod chart;
mod charts;
mod table;

use super::words::{bytes, count, doubt, millis, percentile, whole};
use crate::{
    compare::{Comparison, Ratio},
    figures::{Figures, Target},
};
use std::fmt::Write;

const STYLE: &str = include_str!("html/style.css");

/// The result as a page of HTML.
// Writing to a string does not fail, here and below.
pub fn page(figures: &Figures) -> String {
    let names: Vec<_> = figures
        .targets
        .iter()
        .map(|target| target.name.as_str())
        .collect();
    let title = escape(&names.join(" · "));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    head(&mut page, figures, &title);
    for (index, target) in figures.targets.iter().enumerate() {
        tiles(&mut page, figures, index, target);
    }
    if let Some(comparison) = &figures.comparison {
        side_by_side(&mut page, figures, comparison);
    }
    let _ = write!(
        page,
        "<h2>Over time, by percentile, by load</h2>\n<div class=\"charts\">\n{}</div>\n",
        charts::all(figures)
    );
    page.push_str(&table::all(figures));
    foot(&mut page, figures);
    page.push_str("</body>\n</html>\n");
    page
}

fn head(page: &mut String, figures: &Figures, title: &str) {
    let seconds = figures.targets.first().map_or(0.0, |target| target.seconds);
    let stopped = match figures.ended {
        crate::Ended::Stopped => ", stopped before its end",
        _ => "",
    };
    let _ = writeln!(
        page,
        "<h1>{title}</h1>\n<p class=\"soft\">{}, {seconds:.1} s{}{stopped} · {}</p>",
        escape(&figures.shape.words()),
        if figures.targets.len() > 1 {
            " each"
        } else {
            ""
        },
        escape(&figures.began)
    );
    if !figures.assertions.is_empty() {
        page.push_str("<ul class=\"verdicts\">\n");
        for verdict in &figures.assertions {
            let class = if verdict.holds { "holds" } else { "broken" };
            let _ = writeln!(
                page,
                "<li class=\"{class}\">{}</li>",
                escape(&verdict.to_string())
            );
        }
        page.push_str("</ul>\n");
    }
    if !figures.warnings.is_empty() {
        page.push_str("<ul class=\"warnings\">\n");
        for warning in &figures.warnings {
            let of = if figures.targets.len() > 1 {
                format!("{}: ", warning.target)
            } else {
                String::new()
            };
            let _ = writeln!(page, "<li>{}{}</li>", escape(&of), escape(&warning.text));
        }
        page.push_str("</ul>\n");
    }
}

fn tiles(page: &mut String, figures: &Figures, index: usize, target: &Target) {
    if figures.targets.len() > 1 {
        let _ = writeln!(
            page,
            "<p class=\"named {}\"><span class=\"dot\"></span>{}</p>",
            charts::colour(index),
            escape(&target.name)
        );
    }
    let at = |name| {
        let latency = target.latency_ms.as_ref();
        let at = latency.and_then(|latency| percentile(latency, name));
        at.unwrap_or("–".to_owned())
    };
    let cache = &target.cache;
    let from_a_cache = match (whole(cache.said()), whole(cache.all())) {
        (said, all) if said != all => format!("from a cache, of {said} of {all} answers"),
        _ => "from a cache".to_owned(),
    };
    let mut tiles = vec![
        (format!("{}/s", count(target.rate)), "good answers", false),
        (at("p50"), "median latency", false),
        (at("p99"), "99th percentile", false),
        (at("p99.9"), "99.9th percentile", false),
        (
            format!("{} %", short(target.errors_percent)),
            "errors",
            target.errors > 0,
        ),
    ];
    if let Some(hits) = target.cache.hits_percent {
        tiles.push((format!("{} %", short(hits)), &from_a_cache, false));
    }
    if let Some(each) = target
        .process
        .as_ref()
        .and_then(|process| process.cpu_us_per_request)
    {
        tiles.push((format!("{each:.1} µs"), "server's CPU a request", false));
    }
    page.push_str("<div class=\"tiles\">\n");
    for (value, name, wrong) in tiles {
        let class = if wrong { " wrong" } else { "" };
        let _ = writeln!(
            page,
            "<div class=\"card tile{class}\"><b>{value}</b><span>{name}</span></div>"
        );
    }
    page.push_str("</div>\n");
    if let Some(note) = target.latency_ms.as_ref().and_then(doubt) {
        let _ = writeln!(page, "<p class=\"soft\">{}.</p>", escape(&note));
    }
}

fn short(percent: f64) -> String {
    if percent == 0.0 || percent >= 99.995 {
        format!("{percent:.0}")
    } else if percent < 0.01 {
        "&lt; 0.01".to_owned()
    } else if percent < 10.0 {
        format!("{percent:.2}")
    } else {
        format!("{percent:.1}")
    }
}

/// A figure of the targets: its title, how it is written, and its ratio.
struct Row {
    title: &'static str,
    of: fn(&Target) -> Option<f64>,
    words: fn(f64) -> String,
    ratio: fn(&crate::compare::Ratios) -> Option<Ratio>,
}

const ROWS: [Row; 4] = [
    Row {
        title: "Requests a second",
        of: |target| Some(target.rate),
        words: |value| format!("{}/s", count(value)),
        ratio: |ratios| ratios.rate,
    },
    Row {
        title: "Median latency",
        of: |target| target.percentile("p50"),
        words: millis,
        ratio: |ratios| ratios.p50,
    },
    Row {
        title: "99th percentile",
        of: |target| target.percentile("p99"),
        words: millis,
        ratio: |ratios| ratios.p99,
    },
    Row {
        title: "CPU for each request",
        of: |target| target.process.as_ref()?.cpu_us_per_request,
        words: |value| format!("{value:.1} µs"),
        ratio: |ratios| ratios.cpu_per_request,
    },
];

fn side_by_side(page: &mut String, figures: &Figures, comparison: &Comparison) {
    page.push_str("<h2>Side by side</h2>\n");
    for sentence in &comparison.sentences {
        let _ = writeln!(page, "<p>{}.</p>", escape(sentence));
    }
    let _ = writeln!(
        page,
        "<p class=\"soft\">Ratios to {}: {}.</p>\n<div class=\"charts\">",
        escape(&comparison.base),
        comparison.spread()
    );
    for row in &ROWS {
        let values: Vec<_> = figures.targets.iter().map(row.of).collect();
        let most = values.iter().flatten().copied().fold(0.0, f64::max);
        if most <= 0.0 {
            continue;
        }
        let _ = write!(
            page,
            "<figure class=\"card\"><figcaption>{}</figcaption><div class=\"bars\">",
            row.title
        );
        for (index, (target, value)) in figures.targets.iter().zip(&values).enumerate() {
            let ratios = index
                .checked_sub(1)
                .and_then(|other| comparison.ratios.get(other));
            let ratio = ratios.and_then(row.ratio).map_or(String::new(), |ratio| {
                let spread = match comparison.rounds {
                    ..2 => String::new(),
                    _ => format!(" ({:.2}–{:.2})", ratio.min, ratio.max),
                };
                format!(" <span class=\"soft\">× {:.2}{spread}</span>", ratio.median)
            });
            let width = value.unwrap_or(0.0) / most * 100.0;
            let words = value.map_or("–".to_owned(), row.words);
            let name = escape(&target.name);
            let _ = write!(
                page,
                "<span class=\"name\" title=\"{name}\">{name}</span><span class=\"{}\"><span class=\"bar\" style=\"width:{width:.1}%\"></span></span><span class=\"value\">{words}{ratio}</span>",
                charts::colour(index)
            );
        }
        page.push_str("</div></figure>\n");
    }
    page.push_str("</div>\n");
}

fn foot(page: &mut String, figures: &Figures) {
    let machine = &figures.machine;
    let _ = writeln!(
        page,
        "<p class=\"soft\" style=\"margin-top:28px\">Latency counts from when a request was to be sent until its answer was whole; \
         errors are in no latency and no rate but their own.</p>\n\
         <p class=\"soft\">{} · {} cores, {}, Linux {}, {}</p>\n<p class=\"soft\"><code>{}</code></p>",
        escape(&figures.program),
        machine.cores,
        escape(&machine.processor),
        escape(&machine.kernel),
        bytes(machine.memory_bytes),
        escape(&figures.command.join(" "))
    );
}

/// Escapes text for HTML, in content and in quoted attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
