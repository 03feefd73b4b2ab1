//! The page of a result in Chromium: nothing in its console, and every chart where it can be seen.

use crate::bench;
use std::fs;
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
if (document.documentElement.scrollWidth > innerWidth + 1) wrong.push("the page is wider than its window");
console.log("looked");
document.title = "wrong: " + wrong.join("; ") + ".";
</script></body>"#;

#[test]
fn the_page_shows_its_charts_and_says_nothing_in_the_console() {
    let origin = Origin::start();
    origin.otherwise(|request| {
        Reply::status(if request.nth % 50 == 0 { 503 } else { 200 }).body("hello")
    });
    let folder = scratch_dir();
    let page = folder.join("result.html");
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
    let finished = bench(&flags).args(targets).run();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);

    let seen = Seen::of(&page, 1300);
    assert!(!seen.log.contains("CONSOLE"), "{}", seen.log);
    let charts = seen.document.matches("svg class=\"chart\"").count();
    assert_eq!(charts, 5, "latency, throughput, percentiles, users, CPU");
    assert_eq!(
        seen.document.matches("class=\"bars\"").count(),
        4,
        "side by side"
    );

    // The same page with a script in it, which the page itself would not allow.
    let html = fs::read_to_string(&page).expect("a page");
    let html = html.replace(
        "http-equiv=\"Content-Security-Policy\"",
        "name=\"was-a-policy\"",
    );
    let looked_at = folder.join("looked-at.html");
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
