//! `larder simulate`: calculates what a cache would have done with the requests in an access log.

use crate::{
    cli::Ending,
    config::{value::MemorySize, word},
    simulate::{
        Assumptions, Eviction, Failed, Plan, Report, Wanted,
        log::{
            Format, Parser,
            source::{Source, in_order},
        },
        report, simulate,
    },
};
use clap::Args;
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    fs::{self, File},
    io::{self, BufWriter, IsTerminal, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

/// The flags of `larder simulate`.
#[derive(Args, Clone, Debug)]
pub struct Simulate {
    /// Access logs, gzip or plain, in any order; "-" is standard input
    #[arg(value_name = "LOG", required = true)]
    logs: Vec<PathBuf>,
    /// Format of the logs: combined, json, w3c, or a format string of nginx or varnishncsa [default: detected]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    format: Option<Format>,
    /// The configuration to simulate
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Sizes of the store in memory; lifetimes are compared at the first one
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', value_parser = word::<MemorySize>)]
    memory: Vec<MemorySize>,
    /// Lifetimes for answers whose lifetime is not in the log; sizes are compared at the first one
    #[arg(long, value_name = "DURATION,…", value_delimiter = ',', value_parser = word::<Duration>)]
    ttl: Vec<Duration>,
    /// Rules of eviction; lifetimes are compared under the first one
    #[arg(long, value_name = "RULE,…", value_delimiter = ',')]
    eviction: Vec<Eviction>,
    /// The host of requests, if the log does not have it
    #[arg(long, default_value = "localhost")]
    host: String,
    /// Write the report as a page to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// No progress bar
    #[arg(long, short)]
    quiet: bool,
}

fn format(text: &str) -> Result<Format, String> {
    Format::named(text).map_err(|why| why.to_string())
}

/// Simulates, and reports the result on `out`. Obstacles are reported on `err` before the logs are read.
///
/// # Errors
/// Those of the output.
pub fn run(
    told: &Simulate,
    out: &mut impl Write,
    err: &mut (impl Write + IsTerminal),
) -> io::Result<Ending> {
    let wanted = Wanted {
        config: told.config.clone(),
        memory: told.memory.clone(),
        ttl: told.ttl.clone(),
        eviction: told.eviction.clone(),
    };
    let plan = match Plan::new(&wanted) {
        Ok(plan) => plan,
        Err(faults) => {
            write!(err, "{}", faults.render_for(err))?;
            return Ok(Ending::Refused);
        }
    };
    let (sources, page) = match open(told) {
        Ok(both) => both,
        Err(what) => {
            writeln!(err, "larder: {what}")?;
            return Ok(Ending::Refused);
        }
    };
    let parser = Parser::new(told.format.clone().unwrap_or(Format::Auto), plan.heed());
    let sources = in_order(sources, &parser);
    let assumptions = Assumptions {
        host: told.host.clone(),
    };
    match watched(told, &plan, &parser, sources, &assumptions) {
        Ok(report) => tell(told, &report, page, out, err),
        Err(failed) => {
            writeln!(err, "larder: {failed}")?;
            Ok(Ending::Refused)
        }
    }
}

/// Opens the inputs and outputs, so that what can fail now does not fail after minutes.
fn open(told: &Simulate) -> Result<(Vec<Source>, Option<File>), String> {
    let sources = told.logs.iter().map(|path| {
        let read = |error| format!("cannot read {}: {error}", path.display());
        Source::open(path).map_err(read)
    });
    let sources = sources.collect::<Result<_, _>>()?;
    let Some(path) = &told.html else {
        return Ok((sources, None));
    };
    if told.logs.iter().any(|log| is_same(log, path)) {
        return Err(format!("{} is one of the logs", path.display()));
    }
    // The existing content stays until there is a report to replace it.
    let page = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    let page = page.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok((sources, Some(page)))
}

/// Whether two paths lead to one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| {
        fs::metadata(path)
            .map(|about| (about.dev(), about.ino()))
            .ok()
    };
    file(one).is_some_and(|one| Some(one) == file(other))
}

/// Writes the page in place of the file's content. A pipe or a device has no length.
fn write_page(report: &Report, file: File) -> io::Result<()> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    let mut file = BufWriter::new(file);
    report::html::write(report, &mut file)?;
    file.flush()
}

/// Simulates, with a progress bar.
fn watched(
    told: &Simulate,
    plan: &Plan,
    parser: &Parser,
    sources: Vec<Source>,
    assumptions: &Assumptions,
) -> Result<Report, Failed> {
    let read = Arc::new(AtomicU64::new(0));
    let sizes: Option<Vec<_>> = sources.iter().map(|source| source.size).collect();
    let bar = bar(told.quiet, sizes.map(|sizes| sizes.iter().sum()));
    bar.tick();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let look = || {
            while !done.load(Relaxed) {
                bar.set_position(read.load(Relaxed));
                thread::park_timeout(Duration::from_millis(200));
            }
        };
        let looking = (!bar.is_hidden()).then(|| scope.spawn(look));
        let report = simulate(plan, parser, sources, assumptions, read.clone());
        done.store(true, Relaxed);
        if let Some(looking) = looking {
            looking.thread().unpark();
        }
        bar.finish_and_clear();
        report
    })
}

/// Drawn only on a terminal.
fn bar(quiet: bool, size: Option<u64>) -> ProgressBar {
    let target = if quiet {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(size, target);
    let style = match size {
        Some(_) => "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        None => "{spinner} {bytes}, {bytes_per_sec}",
    };
    match ProgressStyle::with_template(style) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

fn tell(
    told: &Simulate,
    report: &Report,
    page: Option<File>,
    out: &mut impl Write,
    err: &mut impl Write,
) -> io::Result<Ending> {
    if let (Some(file), Some(path)) = (page, &told.html)
        && let Err(error) = write_page(report, file)
    {
        writeln!(err, "larder: cannot write {}: {error}", path.display())?;
        return Ok(Ending::Refused);
    }
    if told.json {
        serde_json::to_writer_pretty(&mut *out, report)?;
        writeln!(out)?;
    } else {
        report::text::write(report, width(), out)?;
    }
    // A log in which no line could be simulated is a failure.
    let is_empty = report.requests == 0 && report.log.bad > 0;
    Ok(if is_empty {
        Ending::Refused
    } else {
        Ending::Done
    })
}

/// The width of the terminal, or that of a page if there is none.
fn width() -> usize {
    const PAGE: usize = 100;
    let size = Term::stdout().size_checked();
    size.map_or(PAGE, |(_, columns)| usize::from(columns))
}
