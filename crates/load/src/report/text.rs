//! The result for a terminal or a log: plain lines, no colour.

mod target;

use crate::{compare::Comparison, figures::Figures};
use std::fmt::Write;
use target::one;

/// Writes the result as text.
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

fn compared(text: &mut String, comparison: &Comparison) {
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
