//! `larder serve`: runs until it is told to stop.

mod reload;

use crate::config::written::Level;
use crate::{
    cli::Ending,
    config::{self, Flags, meant},
    systemd::{State, notify},
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

/// Starts, says where, and obeys signals: `SIGTERM` and `SIGINT` drain and stop, `SIGHUP` reloads the configuration,
/// `SIGUSR1` opens the access log again. A second signal to stop cuts the drain short.
///
/// # Errors
/// Standard output that cannot be written, or signals that cannot be caught.
pub fn run(flags: &Flags, out: &mut impl Write, err: &mut impl Write) -> io::Result<Ending> {
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
    log_to_stderr(&config.log);
    // A connection is a descriptor; where the limit cannot be raised, the one in force holds.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let drain_time = config.limits.drain_time;
    let mut builder = runtime::Builder::new_current_thread();
    let runtime = threads::stay(builder.enable_all()).build()?;
    // The stop needs one.
    threads::begin(runtime.handle())?;
    // Caught before anybody can know that we run: a signal that comes early is obeyed as soon as we are ready.
    let signals = runtime.block_on(async { Signals::catch() })?;
    let running = match wire::start_with(config, &mut listenfd::ListenFd::from_env()) {
        Ok(running) => running,
        Err(error) => {
            writeln!(err, "larder: {error}")?;
            return Ok(Ending::Refused);
        }
    };
    announce(&running, out)?;
    runtime.block_on(obey(running, signals, flags, drain_time));
    Ok(Ending::Done)
}

/// The signals we obey.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    user: Signal,
}

impl Signals {
    fn catch() -> io::Result<Self> {
        // Who writes beyond the longest file that is allowed (`ulimit -f`, systemd's `LimitFSIZE`) would be ended by it. Caught, it has
        // writing fail, as a disk does that is full; tokio catches it from now on, whoever listens.
        let too_long = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        drop(signal(too_long)?);
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            user: signal(SignalKind::user_defined1())?,
        })
    }
}

fn announce(running: &Running, out: &mut impl Write) -> io::Result<()> {
    for place in running.places() {
        writeln!(out, "listening on {place}")?;
    }
    if let Some(admin) = running.admin() {
        writeln!(out, "admin on http://{admin}")?;
    }
    writeln!(out, "ready")?;
    out.flush()?;
    if let Some(admin) = running.admin().filter(|admin| !admin.ip().is_loopback()) {
        tracing::warn!("the admin API on {admin} has no password: whoever can reach it can purge");
    }
    notify(State::Ready);
    Ok(())
}

/// Whose words go into the log. What libraries say, a client or an application may bring about as often as it likes; what of it matters is
/// said by us, and counted.
const OURS: [&str; 6] = ["larder", "proxy", "origin", "store", "kv", "esi"];

/// What the program tells of itself, on standard error.
fn log_to_stderr(log: &meant::Log) {
    let level = filter(log.level);
    let ours = Targets::new().with_targets(OURS.map(|name| (name, level)));
    let subscriber = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        // It would say so on standard error too, and panic where that takes nothing.
        .log_internal_errors(false)
        .finish()
        .with(ours);
    // Set already where another part of the same process did so; then that one holds.
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
        mut hang_up,
        mut user,
    } = signals;
    let mut reload = Reload::new();
    loop {
        tokio::select! {
            () = received(&mut terminate) => break,
            () = received(&mut interrupt) => break,
            () = received(&mut hang_up) => reload.ask(&running),
            read = reload.read(&running, flags) => take(&mut running, read, &mut drain_time),
            () = received(&mut user) => running.reopen_log(),
        }
    }
    notify(State::Stopping);
    tracing::info!(within = ?drain_time, "stopping");
    running.drain(drain_time);
    let cut = running.cut();
    let mut finished = pin!(spawn_blocking(move || running.finish()));
    let told_again = async {
        tokio::select! {
            () = received(&mut terminate) => {}
            () = received(&mut interrupt) => {}
        }
    };
    tokio::select! {
        _ = &mut finished => return,
        () = told_again => {}
    }
    tracing::warn!("told to stop again: requests under way are ended");
    cut.now();
    // A thread that panicked has said so itself.
    let _ = finished.await;
}

async fn received(signal: &mut Signal) {
    signal.recv().await;
}
