//! `larder bench` before scripted origins, as a person runs it.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a panic is how a test fails, in its helpers too"
)]

mod browser;
mod compare;
mod faults;
mod honest;
mod independent;
mod requests;
mod results;
mod shapes;
mod wires;

use std::path::PathBuf;
use testkit::{Command, Finished, scratch_dir};

/// `larder bench` with these arguments, quiet.
fn bench(arguments: &[&str]) -> Command {
    Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["bench", "--quiet", "--workers", "2"])
        .args(arguments.iter().copied())
}

/// Its result as JSON, which must be there.
fn figures(arguments: &[&str]) -> serde_json::Value {
    let finished = bench(arguments).args(["--json"]).run();
    json(&finished)
}

fn json(finished: &Finished) -> serde_json::Value {
    serde_json::from_str(&finished.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", finished.stdout, finished.stderr))
}

/// A file of this test's own.
fn file(name: &str, text: &str) -> PathBuf {
    let path = scratch_dir().join(name);
    std::fs::write(&path, text).expect("a file");
    path
}
