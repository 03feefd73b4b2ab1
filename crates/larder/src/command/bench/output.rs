//! The files that the result is written to. A file that cannot be written is reported before the run, not after it.

use super::Refusal;
use load::{figures::Figures, report};
use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// A file that waits for the result. An existing file of that name stays until the new one is complete.
#[derive(Debug)]
pub(super) struct Output {
    path: PathBuf,
    form: Form,
    file: File,
    /// The file that is written first; `None` if the name is a device or a pipe.
    beside: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Html,
    Json,
    Csv,
    Text,
}

impl Output {
    /// Makes sure that all of these files can be written.
    ///
    /// # Errors
    /// A file cannot be written, its name does not tell the format, or two are the same.
    pub(super) fn open_all(paths: &[PathBuf]) -> Result<Vec<Self>, Refusal> {
        let mut all: Vec<Self> = Vec::new();
        for path in paths {
            let one = Self::open(path)?;
            if all.iter().any(|other| other.is_same(&one)) {
                return Err(Refusal::Use(format!("{}: named twice", path.display())));
            }
            all.push(one);
        }
        Ok(all)
    }

    /// Whether both are written to one file that is not a device.
    fn is_same(&self, other: &Self) -> bool {
        let place = |one: &Self| {
            let found = one.file.metadata().ok().filter(fs::Metadata::is_file);
            found.map(|found| (found.dev(), found.ino()))
        };
        place(self).is_some_and(|ours| place(other) == Some(ours))
    }

    fn open(path: &Path) -> Result<Self, Refusal> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        let form = match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("html" | "htm") => Form::Html,
            Some("json") => Form::Json,
            Some("csv") => Form::Csv,
            Some("txt") => Form::Text,
            _ => {
                let what = format!(
                    "{}: the name ends in none of .html, .json, .csv, .txt",
                    path.display()
                );
                return Err(Refusal::Use(what));
            }
        };
        let failed = |error: io::Error| {
            Refusal::Refused(format!("cannot write {}: {error}", path.display()))
        };
        let special = fs::metadata(path).is_ok_and(|found| !found.is_file());
        let (file, beside) = if special {
            (
                OpenOptions::new().write(true).open(path).map_err(failed)?,
                None,
            )
        } else {
            let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
            name.push(format!(".{}", std::process::id()));
            let beside = path.with_file_name(name);
            (File::create(&beside).map_err(failed)?, Some(beside))
        };
        Ok(Self {
            path: path.to_owned(),
            form,
            file,
            beside,
        })
    }

    /// Writes the result and gives the file its name.
    ///
    /// # Errors
    /// Those of the disk.
    pub(super) fn write(mut self, figures: &Figures) -> Result<(), String> {
        let text = match self.form {
            Form::Html => report::html::page(figures),
            Form::Json => report::json(figures),
            Form::Csv => report::csv::rows(figures),
            Form::Text => report::text::page(figures),
        };
        let written = self.file.write_all(text.as_bytes()).and_then(|()| {
            let beside = self.beside.take();
            beside.map_or(Ok(()), |beside| fs::rename(beside, &self.path))
        });
        written.map_err(|error| format!("cannot write {}: {error}", self.path.display()))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            // A run that was refused leaves no file behind.
            let _ = fs::remove_file(beside);
        }
    }
}
