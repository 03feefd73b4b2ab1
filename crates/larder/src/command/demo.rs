//! `larder demo`: runs a slow sample application with the cache in front of it, in one process.

use crate::{
    cli::Ending,
    config::{self, Flags, meant::Admin, value::ListenAddress},
    demo::{Application, Tour},
    wire::{self, Running},
};
use std::{
    io::{self, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    time::Duration,
};
use tokio::{
    runtime,
    signal::unix::{SignalKind, signal},
};

/// How long requests in progress may take at the end.
const DRAIN: Duration = Duration::from_secs(1);

/// Starts both, shows what the cache does, and runs until it is interrupted. `listen` is the address of the cache; the
/// default is 127.0.0.1:8080 or, if that is taken, any free port.
///
/// # Errors
/// Those of the output and of the system: no port, no thread, no signals.
pub fn run(
    listen: Option<SocketAddr>,
    out: &mut impl Write,
    err: &mut impl Write,
) -> io::Result<Ending> {
    let mut application = Application::start()?;
    writeln!(
        out,
        "Larder demo: a slow application, and the cache before it.\n"
    )?;
    let flags = Flags {
        listen: vec![ListenAddress::Tcp(match listen {
            Some(address) => address,
            None => free(8080, "cache", out)?,
        })],
        admin: Some(Admin::At(free(9180, "admin", out)?)),
        ..Flags::default()
    };
    let running = match start(application.address(), &flags) {
        Ok(running) => running,
        Err(error) => {
            writeln!(err, "larder: {error}")?;
            return Ok(Ending::Refused);
        }
    };
    let ending = show(&running, &mut application, out, err);
    running.stop(DRAIN);
    ending
}

/// Returns the usual port if it is free, any other port if it is not.
fn free(port: u16, what: &str, out: &mut impl Write) -> io::Result<SocketAddr> {
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    // Tried without `SO_REUSEPORT`: otherwise another Larder on this port would take half of the requests.
    if TcpListener::bind(usual).is_ok() {
        return Ok(usual);
    }
    writeln!(out, "  {usual} is taken; the {what} gets another port")?;
    Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
}

/// Starts the cache in front of `application`. A server that was away is asked again at once, and a reload in the
/// browser shows the store.
fn start(application: SocketAddr, flags: &Flags) -> Result<Running, String> {
    let text = format!(
        r#"
        [[origin]]
        name = "application"
        servers = ["http://{application}"]
        passive = {{ failures = 0 }}

        [defaults]
        client_may_force = false

        [memory]
        size = "64MiB"
        "#
    );
    let config = config::parse(&text, "demo", flags).map_err(|faults| faults.to_string())?;
    wire::start(config).map_err(|error| error.to_string())
}

/// Shows the tour, and then waits.
fn show(
    running: &Running,
    application: &mut Application,
    out: &mut impl Write,
    err: &mut impl Write,
) -> io::Result<Ending> {
    let places = running.places();
    let (Some(cache), Some(admin)) = (
        places.iter().find_map(|place| place.address),
        running.admin(),
    ) else {
        writeln!(err, "larder: the cache has no address")?;
        return Ok(Ending::Refused);
    };
    let origin = application.address();
    writeln!(
        out,
        "  the application  http://{origin}  takes 200 ms for every page"
    )?;
    writeln!(
        out,
        "  the cache        http://{cache}  keeps what the application lets it keep"
    )?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        if let Err(broken) = Tour::new(cache, application, out).run().await {
            out.flush()?;
            writeln!(err, "larder: {broken}")?;
            return Ok(Ending::Refused);
        }
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        invite(cache, admin, out)?;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        Ok(Ending::Done)
    })
}

fn invite(cache: SocketAddr, admin: SocketAddr, out: &mut impl Write) -> io::Result<()> {
    // The program as it was started: after `cargo run`, the shell has no command of its name.
    let larder = std::env::args().next();
    let larder = larder.as_deref().unwrap_or("larder");
    writeln!(
        out,
        "
Now you. Open http://{cache}/ and reload, or try these (more than once):
  curl -i http://{cache}/            a page, kept for 5 s
  curl -i http://{cache}/api/time    JSON, kept for 1 s
  curl -i http://{cache}/fresh       never stored
  curl -I http://{cache}/big         a megabyte, kept for a minute
  curl http://{admin}/metrics        what happened so far, in figures
  {larder} explain http://{cache}/ --admin {admin}

Ctrl-C ends it.

listening on http://{cache}
admin on http://{admin}
ready"
    )?;
    out.flush()
}
