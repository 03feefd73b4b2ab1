//! `larder schema`: prints what a configuration may contain.

use crate::{cli::Ending, config};
use std::io::{self, Write};

/// Prints the JSON schema, or the reference page made from it.
pub fn run(markdown: bool, out: &mut impl Write) -> io::Result<Ending> {
    if markdown {
        out.write_all(config::reference().as_bytes())?;
    } else {
        writeln!(out, "{:#}", config::schema())?;
    }
    Ok(Ending::Done)
}
