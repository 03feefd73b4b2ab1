//! The course of a run: its spans and its rounds.

use super::number::{each, float, millis, per};
use crate::{run::Measured, timeline};
use serde::Serialize;

/// A span of the run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Point {
    /// Its beginning, in seconds since the beginning of the run.
    pub at: f64,
    /// Its length, in seconds.
    pub seconds: f64,
    /// Users that were there at its end.
    pub users: usize,
    /// Requests that were over.
    pub requests: u64,
    /// Errors among them.
    pub errors: u64,
    /// Good answers a second.
    pub rate: f64,
    /// Median latency of good answers, in milliseconds.
    pub p50_ms: Option<f64>,
    /// 90th percentile.
    pub p90_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
    /// Cores that the watched processes kept busy.
    pub process_cores: Option<f64>,
    /// Their resident memory at its end.
    pub process_memory_bytes: Option<u64>,
    /// Cores that this tool kept busy.
    pub tool_cores: f64,
}

/// One round of a comparison.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Round {
    /// How long it was.
    pub seconds: f64,
    /// Requests that were over.
    pub requests: u64,
    /// Errors among them.
    pub errors: u64,
    /// Good answers a second.
    pub rate: f64,
    /// Median latency, in milliseconds.
    pub p50_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// CPU time of the watched processes per request.
    pub cpu_us_per_request: Option<f64>,
}

impl Round {
    /// Makes the figures of a round.
    pub fn of(measured: &Measured) -> Self {
        let tally = &measured.tally;
        let at = |percent| tally.good.percentile(percent).map(millis);
        let seconds = measured.took.as_secs_f64();
        let requests = tally.requests();
        Self {
            seconds,
            requests,
            errors: tally.errors(),
            rate: per(float(tally.good.count()), seconds),
            p50_ms: at(50.0),
            p99_ms: at(99.0),
            cpu_us_per_request: measured
                .used
                .filter(|used| used.processes > 0)
                .and_then(|used| each(used.cpu, requests)),
        }
    }

    /// Returns the number of good answers.
    pub(crate) fn answers(&self) -> u64 {
        self.requests.saturating_sub(self.errors)
    }
}

impl Point {
    pub(super) fn of(point: &timeline::Point) -> Self {
        let seconds = point.seconds();
        let at = |percent| Some(millis(point.times.as_ref()?.percentile(percent)?));
        Self {
            at: point.from.as_secs_f64(),
            seconds,
            users: point.users,
            requests: point.requests,
            errors: point.errors,
            rate: per(float(point.good()), seconds),
            p50_ms: at(50.0),
            p90_ms: at(90.0),
            p99_ms: at(99.0),
            max_ms: at(100.0),
            process_cores: point.process_cpu.map(|cpu| per(cpu.as_secs_f64(), seconds)),
            process_memory_bytes: point.memory,
            tool_cores: per(point.tool_cpu.as_secs_f64(), seconds),
        }
    }
}
