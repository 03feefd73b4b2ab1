//! `larder completions`: prints the script with which a shell completes the command line.

use crate::cli::{Cli, Ending};
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use std::io::{self, Write};

/// Prints the script for `shell`.
pub fn run(shell: Shell, out: &mut impl Write) -> io::Result<Ending> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "larder", &mut script);
    out.write_all(&script)?;
    Ok(Ending::Done)
}
