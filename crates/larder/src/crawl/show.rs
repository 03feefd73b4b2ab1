//! How far it has come: a bar on a terminal, a line now and then elsewhere, nothing where nothing is wanted.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    cell::Cell,
    io::{self, IsTerminal, Write},
    time::Duration,
};
use tokio::time::Instant;

/// Time between two lines where there is no terminal.
const EVERY: Duration = Duration::from_secs(10);

/// Where a run has got to, on standard error.
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
    /// Shows, or where `quiet` shows problems only.
    pub fn new(quiet: bool) -> Self {
        let how = if quiet {
            How::Nothing
        } else if io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            // A template that cannot be read leaves the library's own.
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

    /// `done` of `known` are done, `last` was the last of them.
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

    /// The run is over, or rests until the next round: the terminal is free for what it came to.
    pub fn rest(&self) {
        if let How::Bar(bar) = &self.how {
            bar.finish_and_clear();
        }
    }

    /// Says something went wrong; always.
    pub fn problem(&self, what: &str) {
        self.above(&format!("larder: {what}"));
    }

    /// Says something that is not wrong.
    pub fn note(&self, what: &str) {
        if !matches!(self.how, How::Nothing) {
            self.above(&format!("larder: {what}"));
        }
    }

    fn above(&self, line: &str) {
        // What sites write must not steer the terminal.
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
