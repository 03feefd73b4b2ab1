//! The configuration in two stages: what a file says ([`written`], with places) becomes what it means ([`meant`], which
//! cannot be built wrong). Flags go before the file. Nothing here has an effect outside, except that certificates are read.

mod fault;
mod flags;
mod keys;
pub mod meant;
mod presets;
mod read;
mod reference;
mod schema;
mod syntax;
mod torn;
pub mod value;
pub mod written;

#[cfg(test)]
mod tests;

pub use fault::{Fault, Faults};
pub use flags::Flags;
pub use presets::plain;
pub use reference::reference;
pub use schema::schema;

use origin::Origin;
use std::{fs, io, path::Path, sync::Arc};
use value::ListenAddress;

/// Tries whether an address can be listened on. Of a Unix socket, `NotFound` says that its folder is not there, and `AlreadyExists`
/// that something else has its name.
pub type Probe = fn(&ListenAddress) -> io::Result<()>;

/// Reads the file named in `flags`, if one is, and what the flags say beside it.
///
/// # Errors
/// Every fault at once, each with its place.
pub fn load(flags: &Flags) -> Result<meant::Config, Faults> {
    load_with(flags, None, &[])
}

/// As [`load()`], and of the origins that are `running` those stay whose configuration has not changed.
///
/// # Errors
/// Every fault at once, each with its place.
pub fn load_again(flags: &Flags, running: &[Arc<Origin>]) -> Result<meant::Config, Faults> {
    load_with(flags, None, running)
}

/// As [`load()`], and what cannot be had here and now is a fault like any other: addresses that `probe` refuses, or that cannot be
/// listened on together, and files and folders without a place. Where sockets are inherited, addresses say little.
///
/// # Errors
/// Every fault at once, each with its place.
pub fn load_probing(flags: &Flags, probe: Probe) -> Result<meant::Config, Faults> {
    load_with(flags, Some(probe), &[])
}

fn load_with(
    flags: &Flags,
    probe: Option<Probe>,
    running: &[Arc<Origin>],
) -> Result<meant::Config, Faults> {
    let Some(path) = &flags.config else {
        return parse_with("", "the command line", flags, (probe, running));
    };
    let file = path.display().to_string();
    let text = read_file(path).map_err(|error| {
        let fault = Fault::anywhere(format!("cannot read {file}: {error}"));
        Faults::new(file.clone(), String::new(), vec![fault])
    })?;
    parse_with(&text, &file, flags, (probe, running))
}

/// Reads `text`, which `file` names in messages, and what the flags say beside it.
///
/// # Errors
/// Every fault at once, each with its place.
pub fn parse(text: &str, file: &str, flags: &Flags) -> Result<meant::Config, Faults> {
    parse_with(text, file, flags, (None, &[]))
}

fn parse_with(
    text: &str,
    file: &str,
    flags: &Flags,
    beside: (Option<Probe>, &[Arc<Origin>]),
) -> Result<meant::Config, Faults> {
    let mut faults = Vec::new();
    let (written, torn) = read::read(text, &mut faults);
    let meant = meant::build(&written, flags, beside, meant::Sink::new(&mut faults, torn));
    match meant {
        Some(config) if faults.is_empty() => Ok(config),
        _ => Err(Faults::new(file.to_owned(), text.to_owned(), faults)),
    }
}

fn read_file(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned())
}
