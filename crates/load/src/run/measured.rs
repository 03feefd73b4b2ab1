//! The result of a run.

use crate::{process::Used, tally::Tally, timeline::Timeline};
use serde::Serialize;
use std::time::Duration;

/// Why a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Its time was over.
    #[default]
    Time,
    /// All requests were done.
    Requests,
    /// It was stopped.
    Stopped,
    /// There was nowhere to send a request.
    NoAddress,
}

/// The result of a run, or of several against one target.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Counts.
    pub tally: Tally,
    /// How long it took: to its end, or to its last request if their number was limited.
    pub took: Duration,
    /// Why it ended.
    pub ended: Ended,
    /// The course of the run.
    pub timeline: Timeline,
    /// Requests that had no answer at the end.
    pub unanswered: u64,
    /// In an open loop: those of them that were due and not even sent.
    pub unsent: u64,
    /// How long the oldest of them had waited.
    pub oldest: Duration,
    /// Whether requests hung until the end of an earlier run of the target.
    pub hung_before: bool,
    /// The largest number of users at the same time; in an open loop, of requests under way.
    pub peak: usize,
    /// What the watched processes used.
    pub used: Option<Used>,
    /// CPU time of this tool.
    pub tool_cpu: Duration,
    /// The share of its core that the busiest worker used.
    pub busiest: f64,
    /// The share of the time in which that worker was ready to run and had no core.
    pub busiest_waited: f64,
    /// The share of the time in which a worker used all of its core.
    pub full: f64,
    /// The share of this machine's cores that was in use.
    pub machine: Option<f64>,
    /// TLS protocol and cipher suite.
    pub agreed: Option<String>,
    /// Why the first TLS handshake that failed did, in words.
    pub refused: Option<String>,
}

impl Measured {
    /// Whether requests hung until the end: for most of a run, and far longer than any answer took. It is then unknown
    /// how many more there would have been, and how late.
    pub fn hung(&self) -> bool {
        let longest = self.tally.good.max().unwrap_or_default();
        let hung = self.unanswered > 0 && self.oldest > (self.took / 2).max(longest * 2);
        hung || self.hung_before
    }

    /// Adds a later run of the same target.
    pub fn add(&mut self, later: &Self) {
        self.hung_before = (self.took > Duration::ZERO && self.hung()) || later.hung();
        let share = |ours: f64, theirs: f64| {
            let (one, other) = (self.took.as_secs_f64(), later.took.as_secs_f64());
            (ours * one + theirs * other) / (one + other).max(f64::MIN_POSITIVE)
        };
        self.machine = match (self.machine, later.machine) {
            (Some(ours), Some(theirs)) => Some(share(ours, theirs)),
            (ours, theirs) => ours.or(theirs),
        };
        self.full = share(self.full, later.full);
        if self.busiest + self.busiest_waited < later.busiest + later.busiest_waited {
            (self.busiest, self.busiest_waited) = (later.busiest, later.busiest_waited);
        }
        self.tally.add(&later.tally);
        self.took += later.took;
        self.ended = later.ended;
        self.timeline.append(&later.timeline);
        self.unanswered += later.unanswered;
        self.unsent += later.unsent;
        self.oldest = self.oldest.max(later.oldest);
        self.peak = self.peak.max(later.peak);
        self.tool_cpu += later.tool_cpu;
        self.agreed = self.agreed.take().or_else(|| later.agreed.clone());
        self.refused = self.refused.take().or_else(|| later.refused.clone());
        self.used = match (self.used, later.used) {
            (Some(ours), Some(theirs)) => Some(Used {
                cpu: ours.cpu + theirs.cpu,
                in_ticks: ours.in_ticks || theirs.in_ticks,
                memory: ours.memory.max(theirs.memory),
                processes: ours.processes.max(theirs.processes),
            }),
            (ours, theirs) => ours.or(theirs),
        };
    }
}
