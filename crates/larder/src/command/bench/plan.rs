//! Turns flags into a run: its shape, its end, and the bounds on both.

#[cfg(test)]
mod tests;

use super::{
    Prepared, Refusal, Target,
    flags::{Bench, Shape as Shaped},
};
use load::{
    Plan,
    process::Watched,
    shape::{End, Shape},
};
use std::{num::NonZeroUsize, sync::Arc, thread, time::Duration};

/// The length of a run without a bound.
const USUAL: Duration = Duration::from_secs(10);

/// The longest time for a run that ends after a number of requests, unless the flags give one.
const PATIENCE: Duration = Duration::from_mins(10);

/// The longest run, including all its rounds and warm-ups.
const LONGEST: Duration = Duration::from_hours(1);

/// The most rounds.
const MOST_ROUNDS: usize = 100;

/// The most requests.
const MOST_REQUESTS: u64 = 100_000_000;

/// The highest rate at which requests are due, per second.
const MOST_RATE: f64 = 100_000.0;

/// The most users or connections.
const MOST_USERS: usize = 20_000;

/// The most requests a second to another machine, unless the flags say otherwise.
const REMOTE_RATE: f64 = 1_000.0;

/// The values that all runs of a command share.
pub(super) struct Bounds {
    pub(super) shape: Shape,
    pub(super) end: End,
    pub(super) workers: NonZeroUsize,
    pub(super) most_rate: Option<f64>,
}

/// Finds the shape and checks it against the bounds.
///
/// # Errors
/// The shape exceeds one of them.
pub(super) fn bounds(bench: &Bench, targets: &[Target]) -> Result<Bounds, Refusal> {
    let flags = &bench.shape;
    let shape = shape(bench);
    let usual = match (flags.requests, flags.ramp) {
        (Some(_), _) => PATIENCE,
        (None, Some(ramp)) if !ramp.is_zero() => ramp,
        _ => USUAL,
    };
    let after = flags.duration.unwrap_or(usual);
    if after.is_zero() || flags.requests == Some(0) {
        return Err(Refusal::Use("a run of no length".to_owned()));
    }
    if !flags.unbounded {
        bounded(bench, shape, after, targets.len())?;
    }
    let usual_most = (!flags.unbounded).then_some(MOST_REQUESTS);
    let mut origins = targets.iter().flat_map(|target| &target.site.origins);
    let remote = origins.any(|origin| !origin.is_here());
    let most_rate = most_rate(flags, remote)?;
    let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Ok(Bounds {
        shape,
        end: End {
            after,
            requests: flags.requests.or(usual_most),
        },
        workers: flags.workers.and_then(NonZeroUsize::new).unwrap_or(cores),
        most_rate,
    })
}

/// Refuses what only `--unbounded` allows.
fn bounded(bench: &Bench, shape: Shape, after: Duration, targets: usize) -> Result<(), Refusal> {
    let flags = &bench.shape;
    let warm_up = flags.warm_up.unwrap_or_default();
    // The time for a number of requests is not known, so that the bound on it is only a limit of patience.
    let length = match (flags.duration, flags.requests) {
        (None, Some(_)) => Duration::ZERO,
        _ => after,
    };
    let most = shape.most().saturating_mul(bench.wire.streams.get());
    let due = flags.rate.map_or(0.0, |rate| rate.from.max(rate.to));
    let longest = humantime::format_duration(LONGEST);
    let beyond = if whole(length, warm_up, rounds(bench), targets) > LONGEST {
        format!("longer than {longest}, with all rounds and warm-ups")
    } else if rounds(bench) > MOST_ROUNDS {
        format!("more than {MOST_ROUNDS} rounds")
    } else if most > MOST_USERS {
        format!("more than {MOST_USERS} users, connections or streams")
    } else if due > MOST_RATE {
        format!("more than {MOST_RATE} requests a second")
    } else if flags.requests.is_some_and(|one| one > MOST_REQUESTS) {
        format!("more than {MOST_REQUESTS} requests")
    } else {
        return Ok(());
    };
    Err(Refusal::Refused(format!("{beyond}; --unbounded allows it")))
}

/// The limit on the rate. Requests that are due at fixed times are refused above it instead of held back, which would
/// falsify when they were due.
fn most_rate(flags: &Shaped, remote: bool) -> Result<Option<f64>, Refusal> {
    let due = flags.rate.map_or(0.0, |rate| rate.from.max(rate.to));
    match flags.max_rate {
        Some(most) if due > most => Err(Refusal::Use(format!(
            "--rate asks for {due} requests a second, more than --max-rate {most}"
        ))),
        None if remote && due > REMOTE_RATE => Err(Refusal::Refused(format!(
            "more than {REMOTE_RATE} requests a second towards another machine; --max-rate allows it"
        ))),
        Some(most) => Ok(Some(most)),
        None => Ok(remote.then_some(REMOTE_RATE)),
    }
}

/// The number of rounds.
pub(super) fn rounds(bench: &Bench) -> usize {
    if bench.compare {
        bench.rounds.unwrap_or(3)
    } else {
        1
    }
}

/// The length of everything: a warm-up and the rounds, for each target.
pub(super) fn whole(
    length: Duration,
    warm_up: Duration,
    rounds: usize,
    targets: usize,
) -> Duration {
    let times = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let one = length.saturating_mul(times(rounds)).saturating_add(warm_up);
    one.saturating_mul(times(targets))
}

fn shape(bench: &Bench) -> Shape {
    let flags = &bench.shape;
    if let Some(rate) = flags.rate {
        return Shape::Open {
            from: rate.from,
            to: rate.to,
            connections: flags.connections.unwrap_or(1000),
        };
    }
    match flags.users {
        Some(users) => Shape::Users {
            users,
            ramp: flags.ramp.unwrap_or_default(),
            pause: flags.pause.unwrap_or_default(),
        },
        None => Shape::Closed {
            connections: flags.connections.unwrap_or(50),
        },
    }
}

/// The processes that are watched while this target is measured.
pub(super) fn watched(bench: &Bench, target: usize) -> Option<&Watched> {
    let processes = &bench.result.processes;
    match processes.as_slice() {
        [one] => Some(one),
        several => several.get(target),
    }
}

/// The purpose of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunPhase {
    /// Nothing is counted.
    WarmUp,
    /// The run is measured.
    Measured,
}

/// The plan for a run of a target.
pub(super) fn plan(
    bench: &Bench,
    prepared: &Prepared,
    target: &Target,
    index: usize,
    phase: RunPhase,
) -> Arc<Plan> {
    let Prepared { bounds, tls, .. } = prepared;
    let end = match phase {
        RunPhase::Measured => bounds.end,
        // A warm-up has its own length, whatever the number of requests. The limit for all runs holds for it too.
        RunPhase::WarmUp => End {
            after: bench.shape.warm_up.unwrap_or_default(),
            requests: (!bench.shape.unbounded).then_some(MOST_REQUESTS),
        },
    };
    Arc::new(Plan {
        site: Arc::clone(&target.site),
        shape: bounds.shape,
        end,
        most_rate: bounds.most_rate,
        version: bench.wire.version(),
        keep_alive: !bench.wire.no_keep_alive,
        streams: bench.wire.streams,
        tls: Arc::clone(tls),
        timeout: bench.wire.timeout,
        cookies: bench.request.cookies,
        workers: bounds.workers,
        seed: bench.shape.seed,
        watched: watched(bench, index).cloned(),
    })
}
