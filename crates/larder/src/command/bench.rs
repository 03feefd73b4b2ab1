//! `larder bench`: puts load on a server and reports how it performed. The `load` crate makes the load; this module has
//! the flags, the files and the display during the run.

mod flags;
mod output;
mod plan;
mod result;
mod show;
mod sitemap;
mod target;

pub use flags::Bench;

use crate::cli::Ending;
use load::{
    Ended, Measured, Stop, report,
    tls::{Tls, Trust},
};
use output::Output;
use show::Show;
use std::{
    io::{self, Write},
    sync::Arc,
    thread,
};
use target::Target;
use tokio::signal::unix::{SignalKind, signal};

/// Why there is no run.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The command line is wrong.
    Use(String),
    /// The request cannot be done, or is not allowed.
    Refused(String),
}

/// Makes the load, shows the progress, and prints the result on `out`. The run is refused if there was no good answer,
/// or if an assertion does not hold; `err` says why.
///
/// # Errors
/// Those of the output, or a machine that cannot run the workers.
pub fn run(bench: &Bench, out: &mut impl Write, err: &mut impl Write) -> io::Result<Ending> {
    let prepared = match prepare(bench) {
        Ok(prepared) => prepared,
        Err(Refusal::Refused(what)) => {
            writeln!(err, "larder: {what}")?;
            return Ok(Ending::Refused);
        }
        Err(Refusal::Use(what)) => {
            writeln!(err, "larder: {what}; see larder bench --help")?;
            return Ok(Ending::WrongUse);
        }
    };
    // Each connection takes a descriptor. If the limit cannot be raised, the current one stays in force.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let stop = Stop::default();
    obey_signals(&stop)?;
    let began = load::run::date();
    let run = measure(bench, &prepared, &stop)?;
    let figures = result::figures(bench, &prepared, run, began);
    // The files come first, so that they are written even if the reader closes the output.
    let written = prepared.outputs.into_iter();
    let mut wrong: Vec<_> = written
        .filter_map(|output| output.write(&figures).err())
        .collect();
    wrong.extend(result::failures(&figures, &prepared.targets));
    let printed = if bench.result.json {
        writeln!(out, "{}", report::json(&figures))
    } else {
        write!(out, "{}", report::text::page(&figures))
    };
    for what in &wrong {
        writeln!(err, "larder: {what}")?;
    }
    printed?;
    Ok(if wrong.is_empty() {
        Ending::Done
    } else {
        Ending::Refused
    })
}

/// Everything that a run needs. Once it is prepared, only the servers can fail.
struct Prepared {
    targets: Vec<Target>,
    bounds: plan::Bounds,
    tls: Arc<Tls>,
    outputs: Vec<Output>,
}

fn prepare(bench: &Bench) -> Result<Prepared, Refusal> {
    let outputs = Output::open_all(&bench.result.outputs)?;
    let wire = &bench.wire;
    let trust = match &wire.ca {
        Some(path) => Trust::File(path.clone()),
        None if wire.insecure => Trust::Anybody,
        None => Trust::System,
    };
    let tls = Tls::new(&trust, wire.http2).map_err(Refusal::Refused)?;
    let targets = target::targets(bench, &tls)?;
    if bench.compare && targets.len() < 2 {
        let what = "--compare needs two URLs or more".to_owned();
        return Err(Refusal::Use(what));
    }
    let watched = bench.result.processes.len();
    if watched > 1 && watched != targets.len() {
        let what = format!("{watched} --process for {} targets", targets.len());
        return Err(Refusal::Use(what));
    }
    let needing = bench.result.assertions.iter();
    let mut needing = needing.filter(|one| one.needs_process() && watched == 0);
    if let Some(assertion) = needing.next() {
        let what = format!("--assert '{}' needs --process", assertion.text);
        return Err(Refusal::Use(what));
    }
    let bounds = plan::bounds(bench, &targets)?;
    Ok(Prepared {
        targets,
        bounds,
        tls: Arc::new(tls),
        outputs,
    })
}

/// The results of all rounds.
struct Run {
    /// The rounds of each target.
    measured: Vec<Vec<Measured>>,
    /// The number of warm-up requests of each target.
    warm_up: Vec<u64>,
    ended: Ended,
}

/// Runs the targets in turn, round by round.
fn measure(bench: &Bench, prepared: &Prepared, stop: &Stop) -> io::Result<Run> {
    let targets = &prepared.targets;
    let rounds = plan::rounds(bench);
    let (length, warm_up) = (
        prepared.bounds.end.after,
        bench.shape.warm_up.unwrap_or_default(),
    );
    let whole = plan::whole(length, warm_up, rounds, targets.len());
    let mut show = Show::new(bench.result.quiet, whole);
    let mut ended = Ended::default();
    let mut measured: Vec<Vec<Measured>> = targets.iter().map(|_| Vec::new()).collect();
    let mut warmed_up = vec![0; targets.len()];
    'rounds: for round in 0..rounds {
        for (index, target) in targets.iter().enumerate() {
            let plan = |turn| plan::plan(bench, prepared, target, index, turn);
            if round == 0 && !warm_up.is_zero() {
                show.begin(format!("{}: warming up", target.name));
                let run = load::run(&plan(plan::RunPhase::WarmUp), stop, &mut |live| {
                    show.live(&live);
                })?;
                if let Some(requests) = warmed_up.get_mut(index) {
                    *requests = run.tally.requests();
                }
                show.end(warm_up);
            }
            // A round that was stopped before it began would be empty.
            if stop.asked() && round + index > 0 {
                ended = Ended::Stopped;
                break 'rounds;
            }
            show.begin(title(bench, target, round, rounds));
            let run = load::run(&plan(plan::RunPhase::Measured), stop, &mut |live| {
                show.live(&live);
            })?;
            show.end(length);
            ended = run.ended;
            if let Some(rounds) = measured.get_mut(index) {
                rounds.push(run);
            }
        }
    }
    show.finish();
    Ok(Run {
        measured,
        warm_up: warmed_up,
        ended,
    })
}

fn title(bench: &Bench, target: &Target, round: usize, rounds: usize) -> String {
    if bench.compare {
        format!("{} ({}/{rounds})", target.name, round + 1)
    } else {
        target.name.clone()
    }
}

/// The first signal ends the run, which still reports; the second ends the program.
fn obey_signals(stop: &Stop) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        )
    };
    let stop = stop.clone();
    let obey = async move {
        loop {
            tokio::select! { _ = interrupt.recv() => (), _ = terminate.recv() => () }
            if stop.asked() {
                std::process::exit(130);
            }
            stop.stop();
        }
    };
    let thread = thread::Builder::new().name("bench-signals".to_owned());
    thread.spawn(move || runtime.block_on(obey)).map(drop)
}
