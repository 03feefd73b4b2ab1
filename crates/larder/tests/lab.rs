//! The laboratory (`lab/`) is in order: its pages and pictures are made as they should be, its servers end with it,
//! they and Larder accept the configurations that they are started with, and each experiment can be run.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails, in its helpers too"
)]

use larder::config::{Flags, parse};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};
use testkit::{Seen, scratch_dir};

fn lab() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab")
}

#[test]
fn pages_and_pictures_are_made_from_raw_data() {
    succeeds("tests.py");
}

#[test]
fn servers_are_started_and_ended_and_their_configurations_are_right() {
    succeeds("stage_tests.py");
}

fn succeeds(tests: &str) {
    let tests = lab().join("laboratory").join(tests);
    finishes(
        Command::new("python3")
            .arg(tests)
            .env("LARDER", env!("CARGO_BIN_EXE_larder")),
    );
}

fn finishes(command: &mut Command) {
    let done = command.output().expect("python3 runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
}

/// Says what cannot be seen of a picture: nothing drawn, a line outside, a text outside or without words.
const LOOK: &str = r#"<script>
const wrong = [];
const inside = (one, frame) => one.left >= frame.left - 1 && one.right <= frame.right + 1 && one.top >= frame.top - 1 && one.bottom <= frame.bottom + 1;
for (const picture of document.querySelectorAll("svg")) {
  const name = picture.getAttribute("aria-label"), frame = picture.getBoundingClientRect();
  if (frame.width < 500) wrong.push(name + ": small");
  for (const panel of picture.querySelectorAll("g")) {
    const drawn = [...panel.querySelectorAll("polyline, rect:not(:first-child)")].filter(one => one.getBoundingClientRect().width > 0);
    if (drawn.length === 0) wrong.push(name + ": an empty panel");
  }
  for (const line of picture.querySelectorAll("polyline")) {
    if (!inside(line.getBoundingClientRect(), frame)) wrong.push(name + ": a line outside");
  }
  for (const text of picture.querySelectorAll("text")) {
    if (text.textContent === "" || /NaN|None/.test(text.textContent)) wrong.push(name + ": a bad label");
    if (!inside(text.getBoundingClientRect(), frame)) wrong.push(name + ": '" + text.textContent + "' outside");
  }
}
console.log("looked");
document.title = "wrong: " + wrong.join("; ") + ".";
</script>"#;

/// Shows the pictures in these files in Chromium.
fn show(files: &[PathBuf]) {
    let pictures: Vec<_> = files
        .iter()
        .map(|file| fs::read_to_string(file).expect("a picture"))
        .collect();
    let page = scratch_dir().join("pictures.html");
    fs::write(&page, format!("<title></title>{}{LOOK}", pictures.concat())).expect("a file");
    let seen = Seen::of(&page, 1300);
    assert!(seen.log.contains("looked"), "{}", seen.log);
    assert_eq!(seen.document.matches("<svg").count(), files.len());
    assert_eq!(seen.title(), "wrong: .");
}

#[test]
fn the_pictures_of_all_articles_can_be_seen() {
    let days = fs::read_dir(lab().join("results"))
        .expect("results")
        .flatten();
    let files = days.flat_map(|day| fs::read_dir(day.path()).expect("a day").flatten());
    let pictures: Vec<_> = files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "svg"))
        .collect();
    assert!(pictures.len() >= 5, "one for each article");
    show(&pictures);
}

/// The shortest of the experiments, as short as it can be: its servers and loads are real, and what is written can be
/// seen. Who is ahead is not looked at: so short a run says nothing of it.
#[test]
fn an_experiment_is_measured_written_and_shown() {
    let out = scratch_dir();
    finishes(
        Command::new("python3")
            .arg(lab().join("run"))
            .args(["cdn_api", "--quick", "--out"])
            .arg(&out)
            .env("LARDER", env!("CARGO_BIN_EXE_larder")),
    );
    let read = |name: &str| fs::read_to_string(out.join(name)).expect(name);
    let raw: serde_json::Value = serde_json::from_str(&read("3-cdn-api.json")).expect("JSON");
    let cases = raw["cases"].as_array().expect("cases").iter();
    let rows: Vec<_> = cases
        .flat_map(|case| case["rows"].as_array().expect("rows"))
        .collect();
    for role in ["application", "peer", "larder"] {
        assert!(rows.iter().any(|row| row["role"] == role), "no {role}");
    }
    for row in rows {
        assert!(row["requests"].as_u64() > Some(0), "{row}");
    }
    // All servers have the same congestion control, which the page tells.
    let control = raw["run"]["machine"]["tcp"].as_str().expect("a name");
    let (table, page) = (read("3-cdn-api.md"), read("lab.md"));
    // The page has its details after those of other articles; how the servers were started is in the table alone.
    let mut parts = table.split("\n## ").map(str::trim);
    assert!(
        table.starts_with("## 3. ")
            && parts.all(|part| page.contains(part) || part.starts_with("How the servers")),
        "{page}"
    );
    let told = format!("Article 3: congestion control is {control}");
    assert!(page.contains(&told), "{page}");
    let said = fs::read_dir(out.join("raw/cdn_api")).expect("what the tools said");
    assert!(said.count() > 0);
    show(&[out.join("3-cdn-api.svg")]);
}

#[test]
fn each_configuration_of_larder_is_accepted() {
    let mut seen = 0;
    let mut wrong = Vec::new();
    for experiment in fs::read_dir(lab()).expect("the laboratory").flatten() {
        let Ok(files) = fs::read_dir(experiment.path()) else {
            continue;
        };
        for path in files.flatten().map(|file| file.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let ours = name.starts_with("larder") && name.ends_with(".toml");
            if ours {
                seen += 1;
                let text = fs::read_to_string(&path).expect("a file");
                if let Err(faults) = parse(&filled(&text), "larder.toml", &Flags::default()) {
                    wrong.push(format!("{}: {faults}", path.display()));
                }
            }
        }
    }
    assert!(seen > 5, "the configurations are where they were");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the laboratory fills in: ports, folders, a socket; a certificate is not looked for here.
fn filled(text: &str) -> String {
    let folder = env::temp_dir().display().to_string();
    let text = text
        .replace("@ROOT@", &folder)
        .replace("@FILES_ON_DISK@", &folder);
    let text = text.replace("@SOCKET@", "/run/php.sock");
    let lines = text.lines().filter(|line| !line.starts_with("tls = "));
    let pieces: Vec<_> = lines.flat_map(|line| [line, "\n"]).collect();
    let text = pieces.concat();
    let parts = text.split('@').enumerate();
    parts
        .map(|(at, part)| if at % 2 == 1 { "8000" } else { part })
        .collect()
}
