//! `larder disk`: inspects the store on disk, without changing anything.

mod told;

use crate::{
    cli::Ending,
    config::{self, Flags},
};
use bytesize::ByteSize;
use clap::{Args, Subcommand};
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};
use store::disk::{self, OpenError, Stat, Verified};
use told::Told;

/// The flags of `larder disk`.
#[derive(Clone, Debug, Subcommand)]
pub enum Disk {
    /// Report what is stored; a running Larder may use the store meanwhile
    Stat(WhichStore),
    /// Read every byte and report what is not as it was written
    Verify(WhichStore),
}

/// Which store: one of these.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub struct WhichStore {
    /// Its directory
    path: Option<PathBuf>,
    /// The configuration file that names it
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Inspects the store, and reports its content on `out`. Damage goes to `err`, and so do reasons why nothing can be
/// seen.
///
/// # Errors
/// Those of the output.
pub fn run(disk: &Disk, out: &mut impl Write, err: &mut impl Write) -> io::Result<Ending> {
    let (Disk::Stat(which) | Disk::Verify(which)) = disk;
    let path = match directory(which) {
        Ok(path) => path,
        Err(what) => {
            write!(err, "{what}")?;
            return Ok(Ending::Refused);
        }
    };
    let looked = match disk {
        Disk::Stat(_) => stat(&path, out)?,
        Disk::Verify(_) => verify(&path, out, err)?,
    };
    looked.or_else(|error| {
        writeln!(err, "larder: {error}")?;
        Ok(Ending::Refused)
    })
}

/// The directory, or the message for the user.
fn directory(which: &WhichStore) -> Result<PathBuf, String> {
    if let Some(path) = &which.path {
        return Ok(path.clone());
    }
    let flags = Flags {
        config: which.config.clone(),
        ..Flags::default()
    };
    let config = config::load(&flags).map_err(|faults| faults.to_string())?;
    let disk = config.disk.map(|disk| disk.path);
    disk.ok_or_else(|| "larder: the configuration has no [disk]\n".to_owned())
}

fn stat(path: &Path, out: &mut impl Write) -> io::Result<Result<Ending, OpenError>> {
    let Stat {
        is_in_use,
        segments,
        unsealed,
        records,
        large_files,
        segment_bytes,
        large_bytes,
    } = match disk::stat(path) {
        Ok(stat) => stat,
        Err(error) => return Ok(Err(error)),
    };
    let used = if is_in_use { "in use" } else { "not in use" };
    writeln!(out, "{}: {used}", path.display())?;
    writeln!(
        out,
        "segments: {segments} ({unsealed} without an index), {}",
        size(segment_bytes)
    )?;
    writeln!(out, "records in segments with an index: {records}")?;
    writeln!(out, "large files: {large_files}, {}", size(large_bytes))?;
    Ok(Ok(Ending::Done))
}

fn verify(
    path: &Path,
    out: &mut impl Write,
    err: &mut impl Write,
) -> io::Result<Result<Ending, OpenError>> {
    let mut told = Told::on(err);
    let mut telling = Ok(());
    let verified = disk::verify(path, &mut |fault| {
        if telling.is_ok() {
            telling = told.tell(fault);
        }
    });
    telling.and_then(|()| told.end())?;
    let Verified {
        records,
        large_files,
        given_up,
        bytes,
        faults,
    } = match verified {
        Ok(verified) => verified,
        Err(error) => return Ok(Err(error)),
    };
    writeln!(
        out,
        "{}: {records} sound records, {large_files} sound large files, {} read",
        path.display(),
        size(bytes)
    )?;
    if given_up > 0 {
        writeln!(out, "large bodies that are no longer kept: {given_up}")?;
    }
    if faults == 0 {
        writeln!(out, "nothing is damaged")?;
        return Ok(Ok(Ending::Done));
    }
    writeln!(out, "damaged: {faults}; what is damaged is never sent")?;
    Ok(Ok(Ending::Refused))
}

fn size(bytes: u64) -> String {
    ByteSize(bytes).display().iec().to_string()
}
