//! The display during a run: a bar and live figures on a terminal, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use load::Live;
use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

/// The shortest time between two lines without a terminal.
const LINES: Duration = Duration::from_secs(2);

/// The display of the progress.
pub(super) struct Show {
    way: Way,
    /// The length of everything, and how much of it is over.
    whole: Duration,
    over: Duration,
    title: String,
}

enum Way {
    Quiet,
    Lines { next: Instant, step: Duration },
    Bar(ProgressBar),
}

impl Show {
    /// A display for runs that take `whole` together.
    pub(super) fn new(quiet: bool, whole: Duration) -> Self {
        let way = if quiet {
            Way::Quiet
        } else if io::stderr().is_terminal() {
            Way::Bar(bar(whole))
        } else {
            // Ten lines for a long run, one every two seconds for a short one.
            let step = (whole / 10).max(LINES);
            let next = Instant::now() + step;
            Way::Lines { next, step }
        };
        Self {
            way,
            whole,
            over: Duration::ZERO,
            title: String::new(),
        }
    }

    /// Announces the next run.
    pub(super) fn begin(&mut self, title: String) {
        if let Way::Lines { .. } = self.way {
            // A run need not end because nobody reads its progress.
            let _ = writeln!(io::stderr(), "{title}");
        }
        self.title = title;
    }

    /// Shows the progress.
    pub(super) fn live(&mut self, live: &Live<'_>) {
        let elapsed = self.over + live.elapsed;
        match &mut self.way {
            Way::Quiet => (),
            Way::Bar(bar) => {
                bar.set_position(elapsed.min(self.whole).as_millis() as u64);
                bar.set_message(format!("{} · {}", self.title, words(live)));
            }
            Way::Lines { next, step } => {
                if Instant::now() >= *next {
                    *next += *step;
                    let seconds = live.elapsed.as_secs_f64();
                    let _ = writeln!(io::stderr(), "{seconds:>6.1} s  {}", words(live));
                }
            }
        }
    }

    /// Ends a run that was planned to take this long.
    pub(super) fn end(&mut self, took: Duration) {
        self.over += took;
    }

    /// Ends the display.
    pub(super) fn finish(&self) {
        if let Way::Bar(bar) = &self.way {
            bar.finish_and_clear();
        }
    }
}

fn bar(whole: Duration) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(
        Some(whole.as_millis() as u64),
        ProgressDrawTarget::stderr_with_hz(4),
    );
    // The message is cut on a narrow terminal.
    if let Ok(style) = ProgressStyle::with_template("{percent:>3}% {bar:16} {wide_msg}") {
        bar.set_style(style.progress_chars("━╸─"));
    }
    bar
}

fn words(live: &Live<'_>) -> String {
    let point = live.point;
    let ms = |percent| {
        let time = point
            .times
            .as_ref()
            .and_then(|times| times.percentile(percent));
        time.map_or("–".to_owned(), |time| {
            load::report::words::millis(time.as_secs_f64() * 1e3)
        })
    };
    #[allow(
        clippy::cast_precision_loss,
        reason = "counts of a quarter of a second are small"
    )]
    let rate = point.good() as f64 / point.seconds().max(0.001);
    let mut words = format!(
        "{}/s · p50 {} · p99 {} · {} users",
        load::report::words::count(rate),
        ms(50.0),
        ms(99.0),
        point.users
    );
    if live.errors > 0 {
        words = format!("{words} · {} errors", live.errors);
    }
    words
}
