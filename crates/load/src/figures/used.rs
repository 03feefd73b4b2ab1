//! What a run used: the server's processes, the tool itself, the machine.

use super::{
    Latency,
    number::{each, float, per},
};
use crate::{
    process::{self, Used},
    run::Measured,
};
use serde::Serialize;

/// What the watched processes used.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    /// As it was asked for.
    pub name: String,
    /// The most processes at once.
    pub processes: usize,
    /// CPU time.
    pub cpu_seconds: f64,
    /// Whether some of it is known only in ticks of 10 ms, because a process's own clock could not be read.
    pub cpu_in_ticks: bool,
    /// CPU time per request that was over.
    pub cpu_us_per_request: Option<f64>,
    /// CPU time divided by elapsed time: how many cores were busy.
    pub cores: f64,
    /// The most resident memory.
    pub memory_bytes: u64,
}

/// What the tool itself used, and how late its own clock was.
#[derive(Clone, Debug, Serialize)]
pub struct Tool {
    /// CPU time.
    pub cpu_seconds: f64,
    /// CPU time per request that was over.
    pub cpu_us_per_request: Option<f64>,
    /// The share of its core that the busiest worker used, in percent.
    pub busiest_worker_percent: f64,
    /// The share of the time in which the same worker was ready to run and had no core, in percent.
    pub busiest_worker_waited_percent: f64,
    /// The share of the time in which a worker used all of its core, in percent. In the middle of a ramp the tool may
    /// be full although it is not on average.
    pub worker_full_percent: f64,
    /// How late its own loops ran. The tool may add this to a latency.
    pub lag_ms: Option<Latency>,
    /// In an open loop: how late requests were sent although a connection was free.
    pub late_ms: Option<Latency>,
    /// In an open loop: requests that were due while every connection was busy.
    pub queued: u64,
}

/// The machine's cores.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MachineCpu {
    /// How many there are.
    pub cores: f64,
    /// How busy they were, in percent of all.
    pub busy_percent: f64,
    /// What this tool took, in percent of all.
    pub tool_percent: f64,
}

impl Process {
    pub(super) fn of(name: String, used: Used, seconds: f64, requests: u64) -> Self {
        Self {
            name,
            processes: used.processes,
            cpu_seconds: used.cpu.as_secs_f64(),
            cpu_in_ticks: used.in_ticks,
            cpu_us_per_request: each(used.cpu, requests),
            cores: per(used.cpu.as_secs_f64(), seconds),
            memory_bytes: used.memory,
        }
    }
}

impl Tool {
    pub(super) fn of(measured: &Measured) -> Self {
        let tally = &measured.tally;
        Self {
            cpu_seconds: measured.tool_cpu.as_secs_f64(),
            cpu_us_per_request: each(measured.tool_cpu, tally.requests()),
            busiest_worker_percent: measured.busiest * 100.0,
            busiest_worker_waited_percent: measured.busiest_waited * 100.0,
            worker_full_percent: measured.full * 100.0,
            lag_ms: Latency::of(&tally.lag),
            late_ms: Latency::of(&tally.late),
            queued: tally.queued,
        }
    }
}

impl MachineCpu {
    pub(super) fn of(measured: &Measured) -> Option<Self> {
        let cores = float(process::machine_cores() as u64);
        let all = measured.took.as_secs_f64() * cores;
        Some(Self {
            cores,
            busy_percent: measured.machine? * 100.0,
            tool_percent: per(measured.tool_cpu.as_secs_f64(), all) * 100.0,
        })
    }
}
