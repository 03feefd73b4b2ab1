//! Reports what makes figures doubtful, rather than hiding it.

use crate::{
    figures::{BEYOND, Latency, MachineCpu, PERCENTILES, Round, Target, beyond},
    process::TICK,
    run::FULL,
};
use serde::Serialize;

#[cfg(test)]
mod tests;

/// What makes figures doubtful.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Warning {
    /// Its name, which does not change.
    pub kind: Kind,
    /// The target that it concerns.
    pub target: String,
    /// Its text, with the figures.
    pub text: String,
}

/// The kind of a doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A worker had no CPU time left: the tool was the slower side, or others used its core.
    ToolAtLimit,
    /// The machine had no CPU time left, and the tool took a share of it.
    MachineAtLimit,
    /// The tool was late by its own clock.
    Lag,
    /// Requests were sent later than due although a connection was free.
    LateSends,
    /// Requests were due while every connection was busy.
    Backlog,
    /// Errors came faster than answers.
    FastErrors,
    /// All requests that were over were errors.
    OnlyErrors,
    /// Too few requests for a percentile.
    TooShort,
    /// Requests had no answer at the end and had waited longer than the percentiles show.
    Unanswered,
    /// This machine ran out of descriptors or ports.
    Local,
    /// The processes to watch did not exist.
    NoProcess,
    /// The tool's own limit on the rate held it back.
    RateBound,
    /// CPU time was counted in ticks, and there were few of them.
    CoarseCpu,
}

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

/// Least requests at the end that are no mere chance, and how many times the usual number they must be.
const HEAP: u64 = 10;
const HEAPED: f64 = 2.5;

/// A doubt, and the function that finds it.
type Check = (Kind, fn(&Target) -> Option<String>);

/// Returns the warnings about a target. `asked` are the percentiles that somebody relies on, in percent.
pub fn warnings(target: &Target, asked: &[f64]) -> Vec<Warning> {
    let checks: [Check; 9] = [
        (Kind::RateBound, rate_bound),
        (Kind::ToolAtLimit, tool_at_limit),
        (Kind::MachineAtLimit, machine_at_limit),
        (Kind::Backlog, backlog),
        (Kind::FastErrors, fast_errors),
        (Kind::OnlyErrors, only_errors),
        (Kind::Unanswered, unanswered),
        (Kind::Local, local),
        (Kind::CoarseCpu, coarse_cpu),
    ];
    let mut found: Vec<_> = checks
        .into_iter()
        .filter_map(|(kind, check)| Some((kind, check(target)?)))
        .collect();
    found.extend(lag(target, asked).map(|text| (Kind::Lag, text)));
    found.extend(late_sends(target, asked).map(|text| (Kind::LateSends, text)));
    found.extend(too_short(target, asked).map(|text| (Kind::TooShort, text)));
    found.extend(no_process(target).map(|text| (Kind::NoProcess, text)));
    let warning = |(kind, text)| Warning {
        kind,
        target: target.name.clone(),
        text,
    };
    found.into_iter().map(warning).collect()
}

fn tool_at_limit(target: &Target) -> Option<String> {
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

/// Returns the machine's cores, if none of them has time left and the tool has a share in that.
fn full(target: &Target) -> Option<MachineCpu> {
    let is_full = |cpu: &MachineCpu| cpu.busy_percent >= FULL_MACHINE && cpu.tool_percent >= 5.0;
    target.machine_cpu.filter(is_full)
}

fn machine_at_limit(target: &Target) -> Option<String> {
    let cpu = full(target)?;
    let share = |percent: f64| percent * 100.0 / cpu.busy_percent;
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

fn lag(target: &Target, asked: &[f64]) -> Option<String> {
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

fn late_sends(target: &Target, asked: &[f64]) -> Option<String> {
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

fn rate_bound(target: &Target) -> Option<String> {
    let most = target.held_back()?;
    Some(format!(
        "the rate is the tool's own limit of {most} requests a second, not what the server can do: --max-rate raises it"
    ))
}

fn backlog(target: &Target) -> Option<String> {
    let tool = &target.tool;
    // Each request that was due either found a connection free, and is in `late_ms`, or had to wait.
    let free = tool.late_ms.as_ref().map_or(0, |late| late.count);
    let share = percent(tool.queued, free + tool.queued);
    (share >= 1.0).then(|| {
        format!(
            "{share:.0} % of the requests were due while every connection was busy; the wait of those that were answered is in \
             the latency. More --connections would show the server's own queue"
        )
    })
}

fn fast_errors(target: &Target) -> Option<String> {
    let errors = target.error_latency_ms.as_ref()?;
    let (bad, good) = (*errors.percentiles.get("p50")?, target.percentile("p50")?);
    (target.errors_percent >= 1.0 && bad < good).then(|| {
        format!(
            "{:.1} % errors, answered in {bad:.2} ms where good answers take {good:.2} ms (medians): \
             rate and latency are without the errors, but errors relieve the server",
            target.errors_percent
        )
    })
}

fn only_errors(target: &Target) -> Option<String> {
    (target.good == 0 && target.requests > 0)
        .then(|| format!("none of {} requests had a good answer", target.requests))
}

fn unanswered(target: &Target) -> Option<String> {
    let left = target.unanswered;
    let p99 = target.percentile("p99").unwrap_or(0.0);
    let waited = left.requests > 0 && left.oldest_ms > (p99 * 2.0).max(1.0);
    (waited || is_behind(target)).then(|| {
        let unsent = match left.unsent {
            0 => String::new(),
            unsent => format!(" ({unsent} were not even sent)"),
        };
        format!(
            "{} requests had no answer at the end{unsent}, the oldest after {:.0} ms: the percentiles do not have them, \
             and would be higher with them",
            left.requests, left.oldest_ms
        )
    })
}

/// Whether a share of what was due in an open loop is in no percentile because the server fell behind.
///
/// That is: requests that were not even sent, or far more under way at the end than on average (Little's law: answers a
/// second times their latency). In a closed loop nobody is ever behind by more than the request that is under way.
fn is_behind(target: &Target) -> bool {
    let left = target.unanswered;
    let due = target.requests + left.requests;
    let mean = target.latency_ms.as_ref().map_or(0.0, |one| one.mean);
    let usual = float(target.requests) / target.seconds.max(f64::MIN_POSITIVE) * mean / 1000.0;
    let is_open = target.tool.late_ms.is_some() || target.tool.queued > 0;
    let heaped = is_open && left.requests >= HEAP && float(left.requests) > usual * HEAPED;
    percent(left.unsent, due) >= 1.0 || (heaped && percent(left.requests, due) >= 1.0)
}

fn percent(part: u64, of: u64) -> f64 {
    float(part) * 100.0 / float(of.max(1))
}

#[allow(
    clippy::cast_precision_loss,
    reason = "counts of a run are far below what a float holds exactly"
)]
fn float(count: u64) -> f64 {
    count as f64
}

fn local(target: &Target) -> Option<String> {
    let count = target.faults.get("local")?;
    Some(format!(
        "{count} connections failed since this machine had no descriptor or port left: this is not the server's fault"
    ))
}

fn coarse_cpu(target: &Target) -> Option<String> {
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

fn too_short(target: &Target, asked: &[f64]) -> Option<String> {
    let count = target.latency_ms.as_ref()?.count;
    // Each round is compared separately, so the shortest decides how much that means.
    let rounds = target.rounds.iter().map(Round::answers);
    let least = rounds.min().filter(|_| target.rounds.len() > 1);
    let answers = least.unwrap_or(count);
    let worst = asked.iter().copied();
    let worst = worst.filter(|one| beyond(answers, *one) < BEYOND);
    let worst = worst.fold(None, |worst: Option<f64>, one| {
        Some(worst.map_or(one, |worst| worst.min(one)))
    })?;
    let place = if least.is_some() { " in a round" } else { "" };
    Some(format!(
        "p{worst} of {answers} answers{place} rests on {:.0} of them: measure longer for it to mean something",
        beyond(answers, worst).max(1.0).floor()
    ))
}

fn no_process(target: &Target) -> Option<String> {
    let missing = target.missing.as_ref()?;
    Some(format!(
        "no process '{missing}' on this machine: its CPU and memory are not measured"
    ))
}
