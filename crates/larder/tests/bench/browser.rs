//! The page of a result in Chromium: nothing in its console, and every chart where it can be seen.

use crate::bench;
use serde_json::Value;
use std::{fs, path::Path};
use testkit::{Origin, Reply, Seen, scratch_dir};

/// Says what cannot be seen: lines without an extent, text outside its chart, a page wider than its window.
const LOOK: &str = r#"<script>
const wrong = [];
const inside = (one, frame) => one.left >= frame.left - 1 && one.right <= frame.right + 1 && one.top >= frame.top - 1 && one.bottom <= frame.bottom + 1;
for (const chart of document.querySelectorAll("svg.chart")) {
  const name = chart.getAttribute("aria-label"), frame = chart.getBoundingClientRect();
  if (frame.width < 250) wrong.push(name + ": narrow");
  if (!chart.querySelector("path.series, circle.alone")) wrong.push(name + ": empty");
  for (const line of chart.querySelectorAll("path.series")) {
    const box = line.getBoundingClientRect();
    if (box.width < 20) wrong.push(name + ": a line of no length");
    if (!inside(box, frame)) wrong.push(name + ": a line outside");
    if (getComputedStyle(line).stroke === "none") wrong.push(name + ": a line of no colour");
  }
  for (const text of chart.querySelectorAll("text")) {
    if (text.textContent === "" || text.textContent.includes("NaN")) wrong.push(name + ": a bad label");
    if (!inside(text.getBoundingClientRect(), frame)) wrong.push(name + ": '" + text.textContent + "' outside");
  }
}
for (const bar of document.querySelectorAll(".bars .bar")) {
  const box = bar.getBoundingClientRect(), row = bar.parentElement.getBoundingClientRect();
  if (box.width < 1 || box.height < 4 || !inside(box, row)) wrong.push("a bar that cannot be seen");
  if (row.width < 100) wrong.push("no room for bars");
  if (Math.abs(box.width - row.width * parseFloat(bar.style.width) / 100) > 2) wrong.push("a bar of another length");
  if (getComputedStyle(bar).backgroundColor === "rgba(0, 0, 0, 0)") wrong.push("a bar of no colour");
}
if (document.documentElement.scrollWidth > innerWidth + 1) wrong.push("the page is wider than its window");
console.log("looked");
document.title = "wrong: " + wrong.join("; ") + ".";
</script></body>"#;

/// The charts of a ramp of users, in their order.
const TITLES: [&str; 5] = [
    "Latency over time",
    "Throughput over time",
    "Latency by percentile",
    "Latency against users",
    "CPU over time",
];

/// Where the axis of a chart lies, in its own coordinates.
const BOTTOM: f64 = 230.0;

#[test]
fn the_page_shows_its_charts_and_says_nothing_in_the_console() {
    let origin = Origin::start();
    origin.otherwise(|request| {
        Reply::status(if request.nth % 50 == 0 { 503 } else { 200 }).body("hello")
    });
    let folder = scratch_dir();
    let page = folder.join("result.html");
    let result = folder.join("result.json");
    let output = page.display().to_string();
    let id = std::process::id().to_string();
    let url = origin.url();
    let targets = [
        format!("first={url}"),
        format!("a rather long name of a target={url}"),
    ];
    let flags = [
        "--compare",
        "--rounds",
        "2",
        "--users",
        "20",
        "--ramp",
        "1s",
        "--process",
        &id,
        "-o",
        &output,
    ];
    let finished = bench(&flags)
        .args(["-o", &result.display().to_string()])
        .args(targets)
        .run();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);

    let seen = Seen::of(&page, 1300);
    assert!(!seen.log.contains("CONSOLE"), "{}", seen.log);
    let titles = between(&seen.document, "role=\"img\" aria-label=\"", "\"");
    assert_eq!(titles, TITLES);
    let result: Value =
        serde_json::from_slice(&fs::read(&result).expect("a result")).expect("JSON");
    bars_are_as_long_as_the_figures_are_large(&seen.document, &result);
    lines_are_as_high_as_the_figures_are_large(&seen.document, &result);
    is_seen(&page);
}

/// What stands between these, each time.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    let parts = text.split(before).skip(1);
    parts
        .map(|part| part.split(after).next().unwrap_or_default())
        .collect()
}

fn bars_are_as_long_as_the_figures_are_large(page: &str, result: &Value) {
    let widths = between(page, "class=\"bar\" style=\"width:", "%");
    let widths: Vec<f64> = widths
        .iter()
        .map(|width| width.parse().expect("a width"))
        .collect();
    let figures = [
        "/rate",
        "/latency_ms/p50",
        "/latency_ms/p99",
        "/process/cpu_us_per_request",
    ];
    assert_eq!(widths.len(), 2 * figures.len(), "side by side");
    for (figure, drawn) in figures.iter().zip(widths.chunks(2)) {
        let of = |target: usize| {
            let value = result["targets"][target].pointer(figure);
            value.and_then(Value::as_f64).expect(figure)
        };
        let most = of(0).max(of(1));
        for (target, width) in drawn.iter().enumerate() {
            let meant = of(target) / most * 100.0;
            assert!((width - meant).abs() < 0.5, "{figure}: {width}, {meant}");
        }
    }
}

fn lines_are_as_high_as_the_figures_are_large(page: &str, result: &Value) {
    let chart = between(page, "aria-label=\"Throughput over time\"", "</svg>")[0];
    let lines = between(chart, "<path class=\"series", "/>");
    let mut scale = None;
    for (target, line) in lines.iter().take(2).enumerate() {
        let points = result["targets"][target]["points"]
            .as_array()
            .expect("points");
        let path = between(line, " d=\"", "\"")[0];
        let heights: Vec<f64> = path
            .split(['M', 'L'])
            .filter_map(|at| at.trim().split([' ', ',']).nth(1)?.parse().ok())
            .map(|y: f64| BOTTOM - y)
            .collect();
        assert_eq!(heights.len(), points.len(), "{path}");
        for (height, point) in heights.iter().zip(points) {
            let rate = point["rate"].as_f64().expect("a rate");
            // The scale is whatever the first point says, and the same for all.
            let scale: f64 = *scale.get_or_insert(height / rate);
            assert!((height - rate * scale).abs() < 1.5, "{rate} at {height}");
        }
    }
}

/// Nothing in the console, and all of it where it can be seen.
fn is_seen(page: &Path) {
    // The same page with a script in it, which the page itself would not allow.
    let html = fs::read_to_string(page).expect("a page");
    let html = html.replace(
        "http-equiv=\"Content-Security-Policy\"",
        "name=\"was-a-policy\"",
    );
    let looked_at = page.with_file_name("looked-at.html");
    fs::write(&looked_at, html.replace("</body>", LOOK)).expect("a file");
    for width in [1300, 500] {
        let seen = Seen::of(&looked_at, width);
        assert!(
            seen.log.contains("CONSOLE"),
            "what is said would be seen: {}",
            seen.log
        );
        assert_eq!(seen.title(), "wrong: .", "at {width} pixels");
    }
}
