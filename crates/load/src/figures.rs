//! The result as figures, from which JSON, tables and charts are made.
//!
//! Names and meanings do not change. A change that would break a reader raises [`FORMAT`]. `docs/bench.md` explains
//! each figure.

mod counts;
mod course;
mod latency;
mod number;
mod target;
mod used;

pub use counts::{Bytes, Cache, Connections, Statuses, Unanswered};
pub use course::{Point, Round};
pub use latency::Latency;
pub(crate) use latency::{BEYOND, beyond};
pub(crate) use number::{float, percent};
pub use target::{About, Target};
pub use used::{MachineCpu, Process, Tool};

use crate::{
    assertion::Verdict, compare::Comparison, process, run::Ended, shape::Shape, warning::Warning,
};
use serde::Serialize;

/// The version of the result's format.
pub const FORMAT: u32 = 1;

/// The percentiles that results name.
pub const PERCENTILES: [(&str, f64); 7] = [
    ("p50", 50.0),
    ("p75", 75.0),
    ("p90", 90.0),
    ("p95", 95.0),
    ("p99", 99.0),
    ("p99.9", 99.9),
    ("p99.99", 99.99),
];

/// A complete result.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// The version of this format.
    pub format: u32,
    /// The program that measured.
    pub program: String,
    /// When the measurement began, as an HTTP date.
    pub began: String,
    /// The command, word by word.
    pub command: Vec<String>,
    /// The machine.
    pub machine: Machine,
    /// How many asked, and when.
    pub shape: Shape,
    /// How many threads generated load.
    pub workers: usize,
    /// Why it ended.
    pub ended: Ended,
    /// The targets, in the order in which they were named.
    pub targets: Vec<Target>,
    /// How they compare with the first, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// What was asserted, and whether it holds.
    pub assertions: Vec<Verdict>,
    /// What makes the figures doubtful.
    pub warnings: Vec<Warning>,
}

/// The machine that measured.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Its cores.
    pub cores: usize,
    /// Its processor, by its own name.
    pub processor: String,
    /// Its kernel.
    pub kernel: String,
    /// Its memory, in bytes.
    pub memory_bytes: u64,
}

impl Machine {
    /// Returns this machine.
    pub fn this() -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let after = |text: &str, key: &str| {
            let line = text.lines().find(|line| line.starts_with(key))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let kilobytes = after(&read("/proc/meminfo"), "MemTotal")
            .and_then(|text| text.strip_suffix(" kB")?.parse::<u64>().ok());
        Self {
            cores: process::machine_cores(),
            processor: after(&read("/proc/cpuinfo"), "model name").unwrap_or_default(),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            memory_bytes: kilobytes.unwrap_or(0) * 1024,
        }
    }
}
