//! `larder bench`: makes load on a server and reports how it did. The load is made by the `load` crate; here are the flags, the
//! files and what is seen meanwhile.

mod flags;
mod output;
mod plan;
mod show;
mod target;

pub use flags::Bench;

use crate::cli::Ending;
use load::{
    Measured, Stop,
    compare::compare,
    figures::{About, FORMAT, Figures, Machine, Round, Target as Targeted},
    report,
    tls::{Tls, Trust},
    warning::warnings,
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
    /// What was asked cannot be done, or may not be.
    Refused(String),
}

/// Makes the load, shows how it goes, and prints the result on `out`. It is refused where nothing good was answered, or what was
/// asserted does not hold; `err` says why.
///
/// # Errors
/// The output's, or a machine without room for the workers.
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
    // A connection is a descriptor; where the limit cannot be raised, the one in force holds.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let stop = Stop::default();
    obey_signals(&stop)?;
    let began = load::run::date();
    let rounds = measure(bench, &prepared, &stop)?;
    let figures = figures(bench, &prepared, rounds, began);
    if bench.result.json {
        writeln!(out, "{}", report::json(&figures))?;
    } else {
        write!(out, "{}", report::text::page(&figures))?;
    }
    let mut ending = Ending::Done;
    for output in prepared.outputs {
        if let Err(what) = output.write(&figures) {
            writeln!(err, "larder: {what}")?;
            ending = Ending::Refused;
        }
    }
    for what in failures(&figures) {
        writeln!(err, "larder: {what}")?;
        ending = Ending::Refused;
    }
    Ok(ending)
}

/// Everything that a run needs; from here on only the servers can fail.
struct Prepared {
    targets: Vec<Target>,
    bounds: plan::Bounds,
    tls: Arc<Tls>,
    outputs: Vec<Output>,
}

fn prepare(bench: &Bench) -> Result<Prepared, Refusal> {
    let outputs = bench.result.outputs.iter();
    let outputs = outputs
        .map(|path| Output::open(path))
        .collect::<Result<_, _>>()?;
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
    let bounds = plan::bounds(bench, &targets)?;
    Ok(Prepared {
        targets,
        bounds,
        tls: Arc::new(tls),
        outputs,
    })
}

/// Runs the targets in turn, round by round; for each, what its rounds came to.
fn measure(bench: &Bench, prepared: &Prepared, stop: &Stop) -> io::Result<Vec<Vec<Measured>>> {
    let targets = &prepared.targets;
    let rounds = if bench.compare {
        bench.rounds.unwrap_or(3)
    } else {
        1
    };
    let (length, warm_up) = (
        prepared.bounds.end.after,
        bench.shape.warm_up.unwrap_or_default(),
    );
    let count = targets.len() as u32;
    let whole = length * count * rounds as u32 + warm_up * count;
    let mut show = Show::new(bench.result.quiet, whole);
    let mut measured: Vec<Vec<Measured>> = targets.iter().map(|_| Vec::new()).collect();
    'rounds: for round in 0..rounds {
        for (index, target) in targets.iter().enumerate() {
            let plan = |after| plan::plan(bench, prepared, target, index, after);
            if round == 0 && !warm_up.is_zero() {
                show.begin(format!("{}: warming up", target.name));
                load::run(&plan(warm_up), stop, &mut |live| show.live(&live))?;
                show.end(warm_up);
            }
            // What was stopped before it began would be an empty round.
            if stop.asked() && round + index > 0 {
                break 'rounds;
            }
            show.begin(title(bench, target, round, rounds));
            let run = load::run(&plan(length), stop, &mut |live| show.live(&live))?;
            show.end(length);
            if let Some(rounds) = measured.get_mut(index) {
                rounds.push(run);
            }
        }
    }
    show.finish();
    Ok(measured)
}

fn title(bench: &Bench, target: &Target, round: usize, rounds: usize) -> String {
    if bench.compare {
        format!("{} ({}/{rounds})", target.name, round + 1)
    } else {
        target.name.clone()
    }
}

fn figures(
    bench: &Bench,
    prepared: &Prepared,
    measured: Vec<Vec<Measured>>,
    began: String,
) -> Figures {
    let mut targets = Vec::new();
    let mut ended = load::Ended::default();
    for (index, (target, rounds)) in prepared.targets.iter().zip(measured).enumerate() {
        let each = rounds.iter().map(Round::of).collect();
        let sum = rounds.into_iter().reduce(|mut sum, round| {
            sum.add(&round);
            sum
        });
        let sum = sum.unwrap_or_default();
        ended = sum.ended;
        let about = About {
            name: target.name.clone(),
            url: target.url.clone(),
            urls: target.site.requests.len(),
            http: if bench.wire.http2 { "2" } else { "1.1" },
            keep_alive: !bench.wire.no_keep_alive,
            watched: plan::watched(bench, index).map(|watched| watched.asked.clone()),
        };
        targets.push(Targeted::new(about, &sum, each));
    }
    let asserted = &bench.result.assertions;
    let judge = |target| asserted.iter().map(move |one| one.judge(target));
    let relied = relied(bench);
    Figures {
        format: FORMAT,
        program: concat!("larder ", env!("CARGO_PKG_VERSION")).to_owned(),
        began,
        command: std::env::args().collect(),
        machine: Machine::this(),
        shape: prepared.bounds.shape,
        workers: prepared
            .bounds
            .workers
            .get()
            .min(prepared.bounds.shape.most()),
        ended,
        comparison: compare(&targets),
        // Of a comparison, what is asserted is asserted of the last: the one that is to be better.
        assertions: targets.last().into_iter().flat_map(judge).collect(),
        warnings: targets
            .iter()
            .flat_map(|one| warnings(one, &relied))
            .collect(),
        targets,
    }
}

/// The percentiles that somebody relies on: those that are asserted, or the 99th, which everybody looks at.
fn relied(bench: &Bench) -> Vec<f64> {
    let asserted: Vec<_> = bench
        .result
        .assertions
        .iter()
        .filter_map(load::assertion::Assertion::percentile)
        .collect();
    if asserted.is_empty() {
        vec![99.0]
    } else {
        asserted
    }
}

/// Why the result is a refusal.
fn failures(figures: &Figures) -> Vec<String> {
    let silent = figures.targets.iter().filter(|target| target.good == 0);
    let silent = silent.map(|target| {
        let kinds = target
            .faults
            .iter()
            .map(|(kind, count)| format!("{kind} {count}"));
        let codes = target
            .statuses
            .codes
            .iter()
            .map(|(code, count)| format!("status {code} {count}"));
        let seen: Vec<_> = kinds.chain(codes).collect();
        format!(
            "no good answer from {}: {}",
            target.name,
            if seen.is_empty() {
                "none came".to_owned()
            } else {
                seen.join(", ")
            }
        )
    });
    let broken = figures.assertions.iter().filter(|verdict| !verdict.holds);
    silent.chain(broken.map(ToString::to_string)).collect()
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
