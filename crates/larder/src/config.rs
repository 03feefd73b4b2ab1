//! The configuration in stages. Presets are expanded in the document (`presets`). What the file then says ([`written`],
//! with places) becomes what it means ([`meant`], which cannot be built wrong). `torn` tells which tables were only
//! partly read, so that `meant` does not report as missing what may be written there. Flags take precedence over the file.
//! Nothing here has an effect outside, except that certificates are read.

mod bare;
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
pub use flags::{Flags, word};
pub use presets::plain;
pub use reference::reference;
pub use schema::schema;

use origin::Origin;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};
use value::ListenAddress;

/// Tests whether an address can be listened on. `AddrInUse` means that another program listens there. For a Unix
/// socket, the error `NotFound` means that its folder does not exist, and `AlreadyExists` that something else has its
/// name.
pub type Probe = fn(&ListenAddress) -> io::Result<Vacancy>;

/// What a probe finds at an address where it is no fault to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vacancy {
    /// Nobody listens there, or only Larder does.
    Free,
    /// Somebody listens there, and it cannot be seen whether that is Larder, or systemd for it.
    Unsure,
}

/// Reads the file named in `flags`, if there is one, together with the flags.
///
/// # Errors
/// Every fault at once, each with its place.
pub fn load(flags: &Flags) -> Result<meant::Config, Faults> {
    load_with(flags, meant::Beside::default())
}

/// As [`load()`], but keeps those origins of `running` whose configuration has not changed. No body may be larger than
/// `largest_body`, which is that of the store that runs: another one needs a restart.
///
/// # Errors
/// Every fault at once, each with its place.
pub fn load_again(
    flags: &Flags,
    running: &[Arc<Origin>],
    largest_body: u64,
) -> Result<meant::Config, Faults> {
    let beside = meant::Beside {
        running,
        largest_body_in_force: Some(largest_body),
        ..meant::Beside::default()
    };
    load_with(flags, beside)
}

/// Reads the file at `path` once, since it may be a pipe, and returns its text beside what it means. Also reports what
/// is not available on this machine now: addresses that `probe` refuses or that cannot be listened on together, and
/// files and folders that have no place. If sockets are inherited, the addresses mean little.
///
/// # Errors
/// Every fault at once, each with its place.
pub fn load_probing(path: PathBuf, probe: Probe) -> Result<(meant::Config, String), Faults> {
    let text = read_file(&path)?;
    let file = path.display().to_string();
    let flags = Flags {
        config: Some(path),
        ..Flags::default()
    };
    let beside = meant::Beside {
        probe: Some(probe),
        ..meant::Beside::default()
    };
    let config = parse_with(&text, &file, &flags, beside)?;
    Ok((config, text))
}

fn load_with(flags: &Flags, beside: meant::Beside<'_>) -> Result<meant::Config, Faults> {
    let Some(path) = &flags.config else {
        return parse_with("", "the command line", flags, beside);
    };
    let text = read_file(path)?;
    let file = path.display().to_string();
    parse_with(&text, &file, flags, beside)
}

/// Reads `text` together with the flags. Messages call the text `file`.
///
/// # Errors
/// Every fault at once, each with its place.
pub fn parse(text: &str, file: &str, flags: &Flags) -> Result<meant::Config, Faults> {
    parse_with(text, file, flags, meant::Beside::default())
}

fn parse_with(
    text: &str,
    file: &str,
    flags: &Flags,
    beside: meant::Beside<'_>,
) -> Result<meant::Config, Faults> {
    let mut faults = Vec::new();
    let (written, torn) = read::read(text, &mut faults);
    let beside = meant::Beside {
        source: (file, text),
        ..beside
    };
    let meant = meant::build(&written, flags, beside, meant::Sink::new(&mut faults, torn));
    match meant {
        Some(config) if faults.is_empty() => Ok(config),
        _ => Err(Faults::new(file.to_owned(), text.to_owned(), faults)),
    }
}

fn read_file(path: &Path) -> Result<String, Faults> {
    let read = fs::read(path).map_err(|error| error.to_string());
    let text = read.and_then(|bytes| {
        String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned())
    });
    text.map_err(|error| {
        let file = path.display().to_string();
        let fault = Fault::anywhere(format!("cannot read {file}: {error}"));
        Faults::new(file, String::new(), vec![fault])
    })
}
