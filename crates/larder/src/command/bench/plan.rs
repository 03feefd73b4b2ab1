//! From flags to a run: its shape, its end, and the bounds on both.

use super::{Prepared, Refusal, Target, flags::Bench};
use load::{
    Plan, Version,
    process::Watched,
    shape::{End, Shape},
};
use std::{num::NonZeroUsize, sync::Arc, thread, time::Duration};

/// How long a run takes that nobody bounded.
const USUAL: Duration = Duration::from_secs(10);

/// How long a run takes at most that ends with a number of requests, where nobody said.
const PATIENCE: Duration = Duration::from_mins(10);

/// The longest run.
const LONGEST: Duration = Duration::from_hours(1);

/// The most requests.
const MOST_REQUESTS: u64 = 100_000_000;

/// The most requests a second that are due.
const MOST_RATE: f64 = 100_000.0;

/// The most users or connections.
const MOST_USERS: usize = 20_000;

/// The most requests a second towards another machine, unless something else is said.
const REMOTE_RATE: f64 = 1_000.0;

/// What all runs of a command have in common.
pub(super) struct Bounds {
    pub(super) shape: Shape,
    pub(super) end: End,
    pub(super) workers: NonZeroUsize,
    pub(super) most_rate: Option<f64>,
}

/// Finds the shape and holds it against the bounds.
///
/// # Errors
/// It is beyond one of them.
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
    let streams = bench.wire.streams.get();
    let due = flags.rate.map_or(0.0, |rate| rate.from.max(rate.to));
    let beyond = |what: String| Err(Refusal::Refused(format!("{what}; --unbounded allows it")));
    if !flags.unbounded {
        if after > LONGEST {
            return beyond(format!(
                "longer than {}",
                humantime::format_duration(LONGEST)
            ));
        }
        if shape.most().saturating_mul(streams) > MOST_USERS {
            return beyond(format!(
                "more than {MOST_USERS} users, connections or streams"
            ));
        }
        if due > MOST_RATE {
            return beyond(format!("more than {MOST_RATE} requests a second"));
        }
        if flags
            .requests
            .is_some_and(|requests| requests > MOST_REQUESTS)
        {
            return beyond(format!("more than {MOST_REQUESTS} requests"));
        }
    }
    let usual_most = (!flags.unbounded).then_some(MOST_REQUESTS);
    let mut origins = targets.iter().flat_map(|target| &target.site.origins);
    let remote = origins.any(|origin| !origin.is_here());
    let remote_rate = remote.then_some(REMOTE_RATE);
    if flags.max_rate.is_none() && remote_rate.is_some_and(|most| due > most) {
        return Err(Refusal::Refused(format!(
            "more than {REMOTE_RATE} requests a second towards another machine; --max-rate allows it"
        )));
    }
    let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Ok(Bounds {
        shape,
        end: End {
            after,
            requests: flags.requests.or(usual_most),
        },
        workers: flags.workers.and_then(NonZeroUsize::new).unwrap_or(cores),
        most_rate: flags.max_rate.or(remote_rate),
    })
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

/// A run of a target that ends `after` this time.
pub(super) fn plan(
    bench: &Bench,
    prepared: &Prepared,
    target: &Target,
    index: usize,
    after: Duration,
) -> Arc<Plan> {
    let Prepared { bounds, tls, .. } = prepared;
    let warming_up = after != bounds.end.after;
    Arc::new(Plan {
        site: target.site.clone(),
        shape: bounds.shape,
        end: End {
            after,
            // A warm-up has its own length.
            requests: bounds.end.requests.filter(|_| !warming_up),
        },
        most_rate: bounds.most_rate,
        version: if bench.wire.http2 {
            Version::Two
        } else {
            Version::One
        },
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
