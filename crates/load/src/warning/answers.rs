//! Doubts because of the answers: those that count are too few, or not those that were due.

use crate::figures::{BEYOND, Round, Target, beyond, float, percent};

/// Least requests at the end that are no mere chance, and how many times the usual number they must be.
const HEAP: u64 = 10;
const HEAPED: f64 = 2.5;

pub(super) fn backlog(target: &Target) -> Option<String> {
    let tool = &target.tool;
    // Each request that was due either found a connection free, and is in `late_ms`, or had to wait.
    let free = tool.late_ms.as_ref().map_or(0, |late| late.count);
    let share = percent(tool.queued, free + tool.queued)?;
    (share >= 1.0).then(|| {
        format!(
            "{share:.0} % of the requests were due while every connection was busy; the wait of those that were answered is in \
             the latency. More --connections would show the server's own queue"
        )
    })
}

pub(super) fn fast_errors(target: &Target) -> Option<String> {
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

pub(super) fn only_errors(target: &Target) -> Option<String> {
    (target.good == 0 && target.requests > 0)
        .then(|| format!("none of {} requests had a good answer", target.requests))
}

pub(super) fn unanswered(target: &Target) -> Option<String> {
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
    let is_much = |part| percent(part, due).is_some_and(|share| share >= 1.0);
    is_much(left.unsent) || (heaped && is_much(left.requests))
}

pub(super) fn too_short(target: &Target, asked: &[f64]) -> Option<String> {
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
