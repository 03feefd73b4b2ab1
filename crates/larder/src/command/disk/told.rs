//! Tells of faults, a line each, and of those beyond a number in one file how many there are.

use std::{
    io::{self, Write},
    path::PathBuf,
};
use store::disk::Fault;

/// Faults of one file that have a line each.
const MOST: u64 = 20;

/// Writes what [`store::disk::verify`] finds, which is one file after the other.
pub(super) struct Told<'a, W> {
    on: &'a mut W,
    file: PathBuf,
    /// Faults of that file so far.
    faults: u64,
}

impl<'a, W: Write> Told<'a, W> {
    pub(super) fn on(on: &'a mut W) -> Self {
        Self {
            on,
            file: PathBuf::new(),
            faults: 0,
        }
    }

    pub(super) fn tell(&mut self, fault: &Fault) -> io::Result<()> {
        if self.file != fault.file {
            self.end()?;
            self.file.clone_from(&fault.file);
        }
        self.faults += 1;
        if self.faults <= MOST {
            writeln!(self.on, "{fault}")?;
        }
        Ok(())
    }

    /// Ends the file.
    pub(super) fn end(&mut self) -> io::Result<()> {
        let more = self.faults.saturating_sub(MOST);
        self.faults = 0;
        if more > 0 {
            writeln!(self.on, "{}: and {more} more", self.file.display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::disk::What;

    #[test]
    fn many_faults_of_a_file_are_counted() {
        let mut out = Vec::new();
        let mut told = Told::on(&mut out);
        for (file, faults) in [("a", MOST + 3), ("b", 1), ("c", MOST), ("d", MOST + 1)] {
            for number in 0..faults {
                let fault = Fault {
                    file: file.into(),
                    offset: number,
                    what: What::Body,
                };
                told.tell(&fault).expect("memory");
            }
        }
        told.end().expect("memory");
        let out = String::from_utf8(out).expect("text");
        let lines = out.lines().count() as u64;
        assert_eq!(lines, MOST + 1 + 1 + MOST + MOST + 1, "{out}");
        let more: Vec<_> = out.lines().filter(|line| line.contains("more")).collect();
        assert_eq!(more, ["a: and 3 more", "d: and 1 more"]);
        assert!(out.ends_with("d at 19: the body of a record is damaged\nd: and 1 more\n"));
    }
}
