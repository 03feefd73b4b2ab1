//! The curves as pictures: what is drawn is what was found, and it can be seen.

use crate::{Asked, LARGE, LIFETIMES, REQUESTS, SIZES_AND_RULES, combined, file, simulate, text};
use std::fs;
use testkit::{Seen, scratch_dir};

/// The pictures of a page, in its order.
fn pictures(page: &str) -> Vec<&str> {
    let begins = page.match_indices("<svg").map(|(at, _)| &page[at..]);
    begins
        .map(|begin| begin.split_once("</svg>").expect("an end").0)
        .collect()
}

/// The texts of a picture.
fn labels(picture: &str) -> Vec<&str> {
    let texts = picture.split("<text").skip(1);
    texts
        .map(|rest| {
            let (_, rest) = rest.split_once('>').expect("a text");
            rest.split_once('<').expect("its end").0
        })
        .collect()
}

/// The lines of a picture: their points.
fn lines(picture: &str) -> Vec<&str> {
    let found = picture.split("<polyline").skip(1);
    found
        .map(|rest| {
            let (_, rest) = rest.split_once("points=\"").expect("points");
            rest.split_once('"').expect("their end").0
        })
        .collect()
}

/// The page of these requests.
fn page(requests: &[Asked], flags: &[&str]) -> String {
    let page = scratch_dir().join("page.html");
    let log = file("access.log", combined(requests));
    let finished = simulate(&[&[text(&log), "--html", text(&page)], flags].concat());
    assert_eq!((finished.code, &*finished.stderr), (Some(0), ""));
    fs::read_to_string(&page).expect("a page")
}

/// A share of all at the height that it has between the lines of 0 and of 100 %.
fn up(share: f64) -> String {
    format!("{:.1}", 14.0 + 242.0 * (1.0 - share))
}

#[test]
fn sizes_and_rules_are_drawn_as_they_were_found() {
    let page = page(&LARGE, &SIZES_AND_RULES);
    let pictures = pictures(&page);
    let two = up(2.0 / 7.0);
    let wanted = [
        format!("52.0,{two} 704.0,{two}"),
        format!("52.0,{} 704.0,{two}", up(1.0 / 7.0)),
    ];
    assert_eq!(lines(pictures[0]), wanted);
    assert_eq!(pictures[0].matches("<circle").count(), 4);
    let level = format!("class=\"level\" x1=\"52\" x2=\"704\" y1=\"{two}\" y2=\"{two}\"");
    assert!(pictures[0].contains(&level), "{}", pictures[0]);
    assert_eq!(
        labels(pictures[0]),
        [
            "0 %", "20 %", "40 %", "60 %", "80 %", "100 %", "1 MiB", "64 MiB", "LRU", "FIFO"
        ]
    );
}

#[test]
fn lifetimes_are_drawn_as_they_were_found() {
    let page = page(&REQUESTS, &LIFETIMES);
    let pictures = pictures(&page);
    let line = |shares: [f64; 4]| {
        let places = ["52.0", "269.3", "486.7", "704.0"];
        let points = places.iter().zip(shares);
        let points: Vec<_> = points
            .map(|(across, share)| format!("{across},{}", up(share)))
            .collect();
        points.join(" ")
    };
    // Of seven requests with 2407 bytes.
    let requests = [2.0, 2.0, 4.0, 0.0].map(|hits| hits / 7.0);
    let bytes = [200.0, 200.0, 1300.0, 0.0].map(|hits| hits / 2407.0);
    assert_eq!(lines(pictures[1]), [line(requests), line(bytes)]);
    assert!(!pictures[1].contains("class=\"level\""));
    assert_eq!(
        labels(pictures[1])[6..],
        ["2s", "1m", "10m", "1s", "requests", "bytes"]
    );
}

/// Says what cannot be seen: lines without an extent or a colour, a text outside its picture or over another, a page
/// wider than its window.
const LOOK: &str = r#"<script>
const wrong = [];
const inside = (one, frame) => one.left >= frame.left - 1 && one.right <= frame.right + 1 && one.top >= frame.top - 1 && one.bottom <= frame.bottom + 1;
const apart = (one, other) => one.right <= other.left || other.right <= one.left || one.bottom <= other.top || other.bottom <= one.top;
for (const picture of document.querySelectorAll("svg")) {
  const name = picture.getAttribute("aria-label"), frame = picture.getBoundingClientRect();
  if (frame.width < 250 || frame.height < 100) wrong.push(name + ": small");
  const lines = picture.querySelectorAll("polyline");
  if (lines.length === 0) wrong.push(name + ": empty");
  for (const line of [...lines, ...picture.querySelectorAll("line.level")]) {
    const box = line.getBoundingClientRect();
    if (box.width < 200) wrong.push(name + ": a line of no length");
    if (!inside(box, frame)) wrong.push(name + ": a line outside");
    if (getComputedStyle(line).stroke === "none") wrong.push(name + ": a line of no colour");
  }
  for (const dot of picture.querySelectorAll("circle")) {
    if (!inside(dot.getBoundingClientRect(), frame)) wrong.push(name + ": a dot outside");
    if (getComputedStyle(dot).fill === "none") wrong.push(name + ": a dot of no colour");
  }
  const texts = [...picture.querySelectorAll("text")];
  for (const [place, text] of texts.entries()) {
    const box = text.getBoundingClientRect();
    if (text.textContent === "" || text.textContent.includes("NaN")) wrong.push(name + ": a bad label");
    if (!inside(box, frame)) wrong.push(name + ": '" + text.textContent + "' outside");
    for (const other of texts.slice(place + 1))
      if (!apart(box, other.getBoundingClientRect())) wrong.push(name + ": '" + text.textContent + "' over '" + other.textContent + "'");
  }
}
if (document.documentElement.scrollWidth > innerWidth + 1) wrong.push("the page is wider than its window");
console.log("looked");
document.title = "wrong: " + wrong.join("; ") + ".";
</script></html>"#;

#[test]
fn the_page_shows_its_pictures_and_says_nothing_in_the_console() {
    let html = page(&REQUESTS, &["--eviction", "larder,lru,fifo"]);
    let folder = scratch_dir();
    let own = folder.join("page.html");
    fs::write(&own, &html).expect("a file");
    let seen = Seen::of(&own, 1300);
    assert!(!seen.log.contains("CONSOLE"), "{}", seen.log);
    assert_eq!(seen.document.matches("<svg").count(), 2);
    // The same page with a script in it, which the page itself would not allow.
    let html = html.replace(
        "http-equiv=\"Content-Security-Policy\"",
        "name=\"was-a-policy\"",
    );
    let looked_at = folder.join("looked-at.html");
    fs::write(&looked_at, html.replace("</html>", LOOK)).expect("a file");
    for width in [1300, 500] {
        let seen = Seen::of(&looked_at, width);
        assert!(seen.log.contains("CONSOLE"), "what is said would be seen");
        assert_eq!(seen.title(), "wrong: .", "at {width} pixels");
    }
}
