//! `larder check`: reports everything that is wrong with a configuration. If nothing is, warns of what is hardly meant,
//! and explains what it means.

mod explain;
mod listens;

use crate::{
    cli::Ending,
    config::{
        Vacancy, load_probing,
        meant::{Admin, Config, Listener},
        plain,
        value::{ListenAddress, SharedUrl},
    },
};
use socket2::{Domain, Protocol, Socket, Type};
use std::{
    fs,
    io::{self, IsTerminal, Write},
    net::SocketAddr,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

/// Checks `file` and reports the result: faults or warnings on `err`, a summary on `out`.
pub fn run(
    file: PathBuf,
    explain: bool,
    out: &mut impl Write,
    err: &mut (impl Write + IsTerminal),
) -> io::Result<Ending> {
    let shown = file.display().to_string();
    match load_probing(file, try_listen) {
        Ok((config, text)) => {
            summary(&shown, &config, out)?;
            if explain {
                explain::write(&config, out)?;
                explain::presets(plain(&text).as_deref(), out)?;
            }
            if !config.warnings.list().is_empty() {
                err.write_all(config.warnings.render_for(err).as_bytes())?;
            }
            Ok(Ending::Done)
        }
        Err(faults) => {
            err.write_all(faults.render_for(err).as_bytes())?;
            Ok(Ending::Refused)
        }
    }
}

fn try_listen(address: &ListenAddress) -> io::Result<Vacancy> {
    match address {
        ListenAddress::Tcp(address) => try_bind(*address),
        ListenAddress::Unix(path) => try_name(path),
    }
}

/// Checks whether something is in the way of a socket. An existing socket may belong to a running Larder with this
/// configuration.
fn try_name(path: &Path) -> io::Result<Vacancy> {
    fs::metadata(path.parent().unwrap_or(path))?;
    match fs::symlink_metadata(path) {
        Ok(there) if !there.file_type().is_socket() => Err(io::ErrorKind::AlreadyExists.into()),
        Ok(_) => listens::on_name(path),
        Err(_) => Ok(Vacancy::Free),
    }
}

/// Binds without listening. Sets `SO_REUSEPORT`, so that a running Larder of the same user, perhaps with this
/// configuration, is not in the way.
fn try_bind(address: SocketAddr) -> io::Result<Vacancy> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    match socket.bind(&address.into()) {
        Ok(()) => Ok(Vacancy::Free),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => listens::on_port(address.port()),
        Err(error) => Err(error),
    }
}

fn summary(file: &str, config: &Config, out: &mut impl Write) -> io::Result<()> {
    let addresses: Vec<String> = config.listeners.iter().map(listener).collect();
    let origins: Vec<&str> = config.origins.iter().map(|origin| origin.name()).collect();
    writeln!(out, "{file} is in order")?;
    writeln!(out, "listens on {}", addresses.join(", "))?;
    match config.admin {
        Admin::At(address) => writeln!(out, "admin on {address}")?,
        Admin::Off => writeln!(out, "admin off")?,
    }
    writeln!(out, "origins: {}", origins.join(", "))?;
    writeln!(out, "routes: {}", config.site.routes.len())?;
    writeln!(
        out,
        "memory: {}",
        bytesize::ByteSize(config.memory).display().iec()
    )?;
    if let Some(disk) = &config.disk {
        let size = bytesize::ByteSize(disk.size).display().iec();
        writeln!(out, "disk: {size} in {}", disk.path.display())?;
    }
    if let Some(shared) = &config.shared {
        let url = SharedUrl(shared.url.clone());
        writeln!(out, "shared: {} as {}", url.shown(), shared.node)?;
    }
    Ok(())
}

fn listener(listener: &Listener) -> String {
    let address = &listener.address;
    match (&listener.tls, listener.redirect_https) {
        (Some(_), _) => format!("{address} (TLS)"),
        (None, Some(_)) => format!("{address} (redirects to https)"),
        (None, None) => address.to_string(),
    }
}
