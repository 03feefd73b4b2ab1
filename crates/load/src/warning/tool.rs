//! Doubts because of the tool and its machine: what is measured may be theirs, and not the server's.

use crate::{
    figures::{Latency, MachineCpu, PERCENTILES, Target, float},
    process::TICK,
    run::FULL,
};

/// Share of its core from which a worker has no time left, in percent. What others used of the core counts too.
const FULL_WORKER: f64 = FULL * 100.0;

/// Share of the time for which a worker may have none left before the run gets a warning, in percent.
const FULL_TIME: f64 = 10.0;

/// Share of all cores from which the machine has no time left, in percent.
const FULL_MACHINE: f64 = 95.0;

/// How late a loop or a request may be, in milliseconds, unless that is little compared to the latency.
const LATE_MS: f64 = 5.0;

/// How many ticks of CPU time are few: one more or less is a twentieth.
const FEW_TICKS: u32 = 20;

pub(super) fn rate_bound(target: &Target) -> Option<String> {
    let most = target.held_back()?;
    Some(format!(
        "the rate is the tool's own limit of {most} requests a second, not what the server can do: --max-rate raises it"
    ))
}

pub(super) fn tool_at_limit(target: &Target) -> Option<String> {
    let (busy, waited) = (
        target.tool.busiest_worker_percent,
        target.tool.busiest_worker_waited_percent,
    );
    if busy >= FULL_WORKER {
        return Some(format!(
            "the tool was the slower side: a worker used {busy:.0} % of its core; \
             the server may do more than this, and latencies include waiting for the tool"
        ));
    }
    let full_time = target.tool.worker_full_percent;
    if full_time >= FULL_TIME {
        return Some(format!(
            "the tool was the slower side for {full_time:.0} % of the time: a worker used all of its core then; \
             the server may do more than this, and latencies include waiting for the tool"
        ));
    }
    // On a full machine the tool had to wait like everything else. The warning about the machine says so.
    let kept = busy + waited >= FULL_WORKER && full(target).is_none();
    kept.then(|| {
        format!(
            "the tool had too little of its core: a worker used {busy:.0} % of it and waited {waited:.0} % of the time for it; \
             the server may do more than this, and latencies include waiting for the tool"
        )
    })
}

pub(super) fn machine_at_limit(target: &Target) -> Option<String> {
    let cpu = full(target)?;
    // The tool's time is known to the nanosecond and the machine's in ticks, so its share may come out above the whole.
    let share = |percent: f64| (percent * 100.0 / cpu.busy_percent).min(100.0);
    // The server's use is known if its process is watched.
    let rest = target.process.as_ref().map(|process| {
        share(cpu.busy_percent - cpu.tool_percent - process.cores * 100.0 / cpu.cores)
    });
    let rest = rest.filter(|rest| *rest >= 10.0);
    let rest = rest.map_or(String::new(), |rest| {
        format!(" and {rest:.0} % with neither it nor the server")
    });
    Some(format!(
        "this machine was {:.0} % busy, {:.0} % of it with the tool{rest}: a server alone on it would do more",
        cpu.busy_percent,
        share(cpu.tool_percent)
    ))
}

/// Returns the machine's cores, if none of them has time left and the tool has a share in that. Nobody can say so of a
/// run of few ticks.
fn full(target: &Target) -> Option<MachineCpu> {
    let is_full = |cpu: &MachineCpu| cpu.busy_percent >= FULL_MACHINE && cpu.tool_percent >= 5.0;
    let is_long = target.seconds >= (TICK * FEW_TICKS).as_secs_f64();
    target.machine_cpu.filter(|cpu| is_long && is_full(cpu))
}

pub(super) fn lag(target: &Target, asked: &[f64]) -> Option<String> {
    let lag = target.tool.lag_ms.as_ref()?;
    let name = highest(asked).0;
    let late = *lag.percentiles.get(name)?;
    let p50 = target.percentile("p50")?;
    // In a closed loop, a full loop is late by nature. This matters only if it is more than what is measured.
    if late > LATE_MS && late > p50 {
        return Some(format!(
            "the tool was up to {late:.1} ms late by its own clock ({name}): answers may have waited as long in the tool"
        ));
    }
    let (longest, late) = (longest(target, lag)?, lag.max);
    Some(format!(
        "the tool was {late:.1} ms late by its own clock at worst: most of the longest answer, {longest:.1} ms, may be its own delay"
    ))
}

pub(super) fn late_sends(target: &Target, asked: &[f64]) -> Option<String> {
    let late = target.tool.late_ms.as_ref()?;
    let (name, percent) = highest(asked);
    let beyond = *late.percentiles.get(name)?;
    if beyond > LATE_MS {
        // Two decimals suffice for every percentile that has a name.
        let share = ((100.0 - percent) * 100.0).round() / 100.0;
        return Some(format!(
            "the tool sent late: {share} % of the requests more than {beyond:.1} ms after they were due, with a connection free"
        ));
    }
    let (longest, late) = (longest(target, late)?, late.max);
    Some(format!(
        "the tool sent {late:.1} ms late at worst, with a connection free: most of the longest answer, {longest:.1} ms, may be its own delay"
    ))
}

/// Returns the highest percentile that somebody relies on, by name and in percent. Everybody looks at the 99th.
fn highest(asked: &[f64]) -> (&'static str, f64) {
    let mut relied = PERCENTILES.into_iter().filter(|(_, percent)| {
        *percent >= 99.0 && asked.iter().any(|one| (one - percent).abs() < f64::EPSILON)
    });
    relied.next_back().unwrap_or(("p99", 99.0))
}

/// Returns the longest answer, in milliseconds, if the tool was at its worst so late that most of it may be the tool's
/// own.
fn longest(target: &Target, late: &Latency) -> Option<f64> {
    let longest = target.latency_ms.as_ref()?.max;
    (late.max > LATE_MS && late.max * 2.0 > longest).then_some(longest)
}

pub(super) fn local(target: &Target) -> Option<String> {
    let count = target.faults.get("local")?;
    Some(format!(
        "{count} connections failed since this machine had no descriptor or port left: this is not the server's fault"
    ))
}

pub(super) fn coarse_cpu(target: &Target) -> Option<String> {
    let process = target.process.as_ref().filter(|one| one.cpu_in_ticks)?;
    let rounds = target.rounds.len().max(1);
    let used = process.cpu_seconds / float(rounds as u64);
    (used < (TICK * FEW_TICKS).as_secs_f64()).then(|| {
        let (used, tick) = (used * 1000.0, TICK.as_millis());
        let place = if rounds > 1 { " in a round" } else { "" };
        format!(
            "the server used {used:.0} ms of CPU{place}, and this is counted only in steps of {tick} ms for each process: \
             CPU for each request is as rough as that"
        )
    })
}

pub(super) fn no_process(target: &Target) -> Option<String> {
    let missing = target.missing.as_ref()?;
    Some(format!(
        "no process '{missing}' on this machine: its CPU and memory are not measured"
    ))
}
