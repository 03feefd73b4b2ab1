//! A picture of shares: lines over a row of named places.

use std::fmt::Write as _;

/// A line, a share for each place.
pub(super) struct Curve {
    pub name: String,
    pub shares: Vec<f64>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 44.0;

/// The picture: shares from 0 to 100 %, and a level where there is one (what cannot be surpassed).
pub(super) fn chart(
    title: &str,
    places: &[String],
    curves: &[Curve],
    level: Option<f64>,
) -> String {
    let across = |index: usize| {
        let steps = places.len().saturating_sub(1).max(1) as f64;
        LEFT + (WIDTH - LEFT - RIGHT) * index as f64 / steps
    };
    let up = |share: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - share.clamp(0.0, 1.0));
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
        escaped(title)
    );
    // Writing to a string does not fail.
    for tenth in (0..=100).step_by(20) {
        let y = up(f64::from(tenth) / 100.0);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tenth} %</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y + 4.0
        );
    }
    for (index, place) in places.iter().enumerate() {
        let anchor = if index + 1 == places.len() && index > 0 {
            "end"
        } else {
            "middle"
        };
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            across(index),
            HEIGHT - BOTTOM + 18.0,
            escaped(place)
        );
    }
    if let Some(level) = level {
        let y = up(level);
        let _ = writeln!(
            svg,
            "<line class=\"level\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>",
            WIDTH - RIGHT
        );
    }
    for (number, curve) in curves.iter().enumerate() {
        let points = curve.shares.iter().enumerate();
        let points: Vec<_> = points
            .map(|(index, share)| format!("{:.1},{:.1}", across(index), up(*share)))
            .collect();
        let class = number % 4;
        let _ = writeln!(
            svg,
            "<polyline class=\"c{class}\" points=\"{}\"/>",
            points.join(" ")
        );
        for point in &points {
            let (x, y) = point.split_once(',').unwrap_or_default();
            let _ = writeln!(
                svg,
                "<circle class=\"c{class}\" cx=\"{x}\" cy=\"{y}\" r=\"3\"/>"
            );
        }
        let x = LEFT + 110.0 * number as f64;
        let _ = writeln!(
            svg,
            "<line class=\"c{class}\" x1=\"{x}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\"/><text x=\"{}\" y=\"{}\">{}</text>",
            x + 18.0,
            x + 24.0,
            HEIGHT - 4.0,
            escaped(&curve.name),
            y = HEIGHT - 8.0,
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// Text as it may stand in a page, whatever a log holds.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter if letter.is_control() => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}
