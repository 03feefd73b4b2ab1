//! The laboratory (`lab/`) is in order without an experiment being run: its pages and pictures are made as they should be, its servers
//! end with it, and they and Larder accept the configurations that they are started with.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is how a test fails, in its helpers too"
)]

use larder::config::{Flags, parse};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

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
    let done = Command::new("python3")
        .arg(tests)
        .output()
        .expect("python3 runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
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
