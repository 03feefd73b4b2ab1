//! Draws a chart of shares: lines over a row of named places.

use std::fmt::Write as _;

/// A line with one share for each place.
pub(super) struct Curve {
    pub name: String,
    pub shares: Vec<f64>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 312.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 56.0;

/// Draws the chart: shares from 0 to 100 %, and a level, if there is one (the limit that cannot be exceeded).
pub(super) fn chart(
    title: &str,
    places: &[String],
    curves: &[Curve],
    level: Option<f64>,
) -> String {
    let title = escaped(title);
    let mut svg =
        format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\n");
    frame(places, &mut svg);
    if let Some(level) = level {
        across_at("level", level, &mut svg);
    }
    for (number, curve) in curves.iter().enumerate() {
        draw(number, curve, places.len(), &mut svg);
    }
    svg.push_str("</svg>\n");
    svg
}

fn across(index: usize, places: usize) -> f64 {
    let steps = places.saturating_sub(1).max(1) as f64;
    LEFT + (WIDTH - LEFT - RIGHT) * index as f64 / steps
}

fn up(share: f64) -> f64 {
    TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - share.clamp(0.0, 1.0))
}

// Writing to a string cannot fail.

/// Draws a line from side to side.
fn across_at(class: &str, share: f64, svg: &mut String) {
    let (y, right) = (up(share), WIDTH - RIGHT);
    let _ = writeln!(
        svg,
        "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
    );
}

fn frame(places: &[String], svg: &mut String) {
    for percent in (0..=100).step_by(20) {
        let share = f64::from(percent) / 100.0;
        across_at("grid", share, svg);
        let (x, y) = (LEFT - 6.0, up(share) + 4.0);
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{percent} %</text>"
        );
    }
    for (index, place) in places.iter().enumerate() {
        let anchor = match index {
            0 => "start",
            last if last + 1 == places.len() => "end",
            _ => "middle",
        };
        // Every other label is one line lower, since some are long.
        let row = if index.is_multiple_of(2) { 16.0 } else { 31.0 };
        let (x, y) = (across(index, places.len()), HEIGHT - BOTTOM + row);
        let place = escaped(place);
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"{anchor}\">{place}</text>"
        );
    }
}

/// Draws a curve, and its name below the chart.
fn draw(number: usize, curve: &Curve, places: usize, svg: &mut String) {
    let class = number % 4;
    let mut points = String::new();
    let mut dots = String::new();
    for (index, share) in curve.shares.iter().enumerate() {
        let (x, y) = (across(index, places), up(*share));
        let _ = write!(points, "{x:.1},{y:.1} ");
        let _ = writeln!(
            dots,
            "<circle class=\"c{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>"
        );
    }
    let _ = writeln!(
        svg,
        "<polyline class=\"c{class}\" points=\"{}\"/>",
        points.trim_end()
    );
    svg.push_str(&dots);
    let (x, y) = (LEFT + 110.0 * number as f64, HEIGHT - 8.0);
    let (end, text, base, name) = (x + 18.0, x + 24.0, y + 4.0, escaped(&curve.name));
    let _ = writeln!(
        svg,
        "<line class=\"c{class}\" x1=\"{x}\" x2=\"{end}\" y1=\"{y}\" y2=\"{y}\"/>"
    );
    let _ = writeln!(svg, "<text x=\"{text}\" y=\"{base}\">{name}</text>");
}

/// Escapes text for a page, whatever a log contains.
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
