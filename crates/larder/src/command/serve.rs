//! `larder serve`: runs until it is told to stop.

mod reload;

use crate::config::written::Level;
use crate::{
    cli::Ending,
    config::{self, Faults, Flags, meant},
    systemd::{State, notify},
    telemetry::log::Log,
    wire::{self, Running, threads},
};
use reload::{Reload, take};
use std::{
    io::{self, Write},
    pin::pin,
    time::Duration,
};
use tokio::{
    runtime,
    signal::unix::{Signal, SignalKind, signal},
    task::spawn_blocking,
};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::{filter::Targets, layer::SubscriberExt};

/// Starts, prints the addresses, and obeys signals: `SIGTERM`, `SIGINT` and `SIGQUIT` drain and stop, `SIGHUP` reloads
/// the configuration, `SIGUSR1` opens the access log again. A second signal to stop cuts the drain short.
///
/// # Errors
/// Signals cannot be caught, or the system has no thread to give.
pub fn run(flags: &Flags, out: &mut impl Write, err: &mut impl Write) -> io::Result<Ending> {
    let mut handed = listenfd::ListenFd::from_env();
    let flags = &Flags {
        handed: handed.len(),
        ..flags.clone()
    };
    let config = match config::load(flags) {
        Ok(config) => config,
        Err(faults) => {
            write!(err, "{faults}")?;
            let is_flags = flags.config.is_none();
            let is_wrong = faults.list().iter().any(|fault| !fault.is_of_machine);
            return Ok(if is_flags && is_wrong {
                Ending::WrongUse
            } else {
                Ending::Refused
            });
        }
    };
    let log = Log::begin();
    log_to(&log, &config.log);
    warn(&config.warnings);
    let ending = run_with(config, &mut handed, flags, out, err);
    log.finish();
    ending
}

fn run_with(
    config: meant::Config,
    handed: &mut listenfd::ListenFd,
    flags: &Flags,
    out: &mut impl Write,
    err: &mut impl Write,
) -> io::Result<Ending> {
    // Each connection takes a descriptor. If the limit cannot be raised, the current one stays in force.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let drain_time = config.limits.drain_time;
    let mut builder = runtime::Builder::new_current_thread();
    let runtime = threads::stay(builder.enable_all()).build()?;
    // The stop needs a thread.
    threads::begin(runtime.handle())?;
    // Signals are caught before anybody can know that the program runs: one that comes early is obeyed once it is
    // ready.
    let signals = runtime.block_on(async { Signals::catch() })?;
    let running = match wire::start_with(config, handed) {
        Ok(running) => running,
        Err(error) => {
            writeln!(err, "larder: {error}")?;
            return Ok(Ending::Refused);
        }
    };
    announce(&running, out);
    runtime.block_on(obey(running, signals, flags, drain_time));
    Ok(Ending::Done)
}

/// Says what is allowed but hardly meant, as `larder check` does.
fn warn(warnings: &Faults) {
    for warning in warnings.lines() {
        tracing::warn!("{warning}");
    }
}

/// The signals that the program obeys.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    quit: Signal,
    hang_up: Signal,
    user: Signal,
}

impl Signals {
    fn catch() -> io::Result<Self> {
        // The system ends a process with this signal if it writes beyond the longest file allowed (`ulimit -f`,
        // systemd's `LimitFSIZE`). If the signal is caught, the write fails instead, as on a full disk. Tokio catches
        // it from now on, even if nobody listens.
        let too_long = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        drop(signal(too_long)?);
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            // nginx and php-fpm stop gracefully with this one, and container images built for them send it.
            quit: signal(SignalKind::quit())?,
            hang_up: signal(SignalKind::hangup())?,
            user: signal(SignalKind::user_defined1())?,
        })
    }
}

/// Says that it is ready. Who started it may have closed standard output, and that it serves is what matters.
fn announce(running: &Running, out: &mut impl Write) {
    if let Err(error) = print(running, out) {
        tracing::warn!(%error, "cannot write the addresses to standard output");
    }
    if let Some(admin) = running.admin().filter(|admin| !admin.ip().is_loopback()) {
        tracing::warn!(
            "the admin API on {admin} has no password: every client that can reach it can purge"
        );
    }
    notify(State::Ready);
}

fn print(running: &Running, out: &mut impl Write) -> io::Result<()> {
    for place in running.places() {
        writeln!(out, "listening on {place}")?;
    }
    if let Some(admin) = running.admin() {
        writeln!(out, "admin on http://{admin}")?;
    }
    writeln!(out, "ready")?;
    out.flush()
}

/// The crates whose messages go into the log. A client or an application could cause messages of libraries as often as
/// it likes; Larder itself reports what matters of them, and counts it.
const OURS: [&str; 6] = ["larder", "proxy", "origin", "store", "kv", "esi"];

/// Writes the program's own messages into `log`.
fn log_to(log: &Log, wanted: &meant::Log) {
    let level = filter(wanted.level);
    let ours = Targets::new().with_targets(OURS.map(|name| (name, level)));
    let subscriber = tracing_subscriber::fmt()
        .with_writer(log.clone())
        // It would report them on standard error too, and panic if that cannot be written.
        .log_internal_errors(false)
        .finish()
        .with(ours);
    // Another part of the same process may have set a subscriber already; then that one stays.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

fn filter(level: Level) -> LevelFilter {
    match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
    }
}

async fn obey(mut running: Running, signals: Signals, flags: &Flags, mut drain_time: Duration) {
    let Signals {
        mut terminate,
        mut interrupt,
        mut quit,
        mut hang_up,
        mut user,
    } = signals;
    let mut reload = Reload::new();
    loop {
        tokio::select! {
            () = received(&mut terminate) => break,
            () = received(&mut interrupt) => break,
            () = received(&mut quit) => break,
            () = received(&mut hang_up) => reload.ask(&running),
            read = reload.read(&running, flags) => take(&mut running, read, &mut drain_time),
            () = received(&mut user) => running.reopen_log(),
        }
    }
    notify(State::Stopping);
    tracing::info!(
        within = ?drain_time,
        "stopping; a second signal (Ctrl-C again) ends requests in progress at once"
    );
    running.drain(drain_time);
    let cut = running.cut();
    let mut finished = pin!(spawn_blocking(move || running.finish()));
    let told_again = async {
        loop {
            tokio::select! {
                () = received(&mut terminate) => break,
                () = received(&mut interrupt) => break,
                () = received(&mut quit) => break,
                () = received(&mut user) => cut.reopen_log(),
                // Only its log can still be opened again.
                () = received(&mut hang_up) => cut.reopen_log(),
            }
        }
    };
    tokio::select! {
        _ = &mut finished => return,
        () = told_again => {}
    }
    tracing::warn!("second signal to stop: requests in progress are cut off");
    cut.now();
    // A thread that panicked has reported that itself.
    let _ = finished.await;
}

async fn received(signal: &mut Signal) {
    signal.recv().await;
}
