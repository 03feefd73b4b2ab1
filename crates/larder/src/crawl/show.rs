//! Shows the progress: as a bar on a terminal, otherwise as a line now and then, or not at all.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    cell::Cell,
    io::{self, IsTerminal, Write},
    time::Duration,
};
use tokio::time::Instant;

/// The time between two lines without a terminal.
const EVERY: Duration = Duration::from_secs(10);

/// The progress of a run, on standard error.
#[derive(Debug)]
pub struct Show {
    how: How,
}

#[derive(Debug)]
enum How {
    Bar(ProgressBar),
    /// When the next line is due.
    Lines(Cell<Instant>),
    Nothing,
}

impl Show {
    /// Shows the progress, or with `quiet` only problems.
    pub fn new(quiet: bool) -> Self {
        let how = if quiet {
            How::Nothing
        } else if io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            // If the template cannot be read, the library's own is used.
            if let Ok(style) = ProgressStyle::with_template("{bar:32} {pos}/{len} {elapsed} {msg}")
            {
                bar.set_style(style);
            }
            How::Bar(bar)
        } else {
            How::Lines(Cell::new(Instant::now() + EVERY))
        };
        Self { how }
    }

    /// Shows that `done` of `known` are finished, and that `last` was the last of them.
    pub fn at(&self, done: usize, known: usize, last: &str) {
        match &self.how {
            How::Bar(bar) => {
                if bar.is_finished() {
                    bar.reset();
                }
                bar.set_length(known as u64);
                bar.set_position(done as u64);
                bar.set_message(
                    last.chars()
                        .filter(|letter| !letter.is_control())
                        .take(60)
                        .collect::<String>(),
                );
            }
            How::Lines(due) if Instant::now() >= due.get() => {
                due.set(Instant::now() + EVERY);
                let _ = writeln!(io::stderr(), "larder: {done} of {known} so far");
            }
            How::Lines(_) | How::Nothing => {}
        }
    }

    /// Frees the terminal for results, as the run is over or rests until the next round.
    pub fn rest(&self) {
        if let How::Bar(bar) = &self.how {
            bar.finish_and_clear();
        }
    }

    /// Reports a problem, even with `quiet`.
    pub fn problem(&self, what: &str) {
        self.above(&format!("larder: {what}"));
    }

    /// Reports something that is not a problem.
    pub fn note(&self, what: &str) {
        if !matches!(self.how, How::Nothing) {
            self.above(&format!("larder: {what}"));
        }
    }

    fn above(&self, line: &str) {
        // Text from a site must not control the terminal.
        let line = line.replace(char::is_control, "\u{fffd}");
        let write = || {
            let _ = writeln!(io::stderr(), "{line}");
        };
        match &self.how {
            How::Bar(bar) => bar.suspend(write),
            How::Lines(_) | How::Nothing => write(),
        }
    }
}

impl Drop for Show {
    fn drop(&mut self) {
        self.rest();
    }
}
