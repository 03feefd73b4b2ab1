//! The sweep: gives back the memory of what was purged, counts what purges touched, and lets the log forget.

mod ended;
mod question;
#[cfg(test)]
mod tests;

use crate::{
    Memory, Purged,
    purge::{Purge, What},
};
use ended::Ended;
use question::{Question, Wanted, answer};
use std::{
    fmt,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::{sync::oneshot, time::timeout};

pub use question::{Busiest, Busy};

/// How often the sweep looks whether there is anything to do: at first, and where sweeps find nothing any more.
const EVERY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// The log is made to forget no more often than this: lookups wait for it.
const RETIRE: Duration = Duration::from_secs(10);

/// How long it rests after each step: several times as long as that takes, so that hits on the same core hardly wait. The rests of
/// a million that are gone add up to 38 seconds. Its priority is that of the workers: put off while it holds a lock, it would hold
/// them up.
const REST: Duration = Duration::from_micros(300);

/// Whoever purges URLs is told what is known after so long: they already hold, and often come by the hundred.
const COUNT_WITHIN: Duration = Duration::from_millis(100);

/// The horizon of the tier below memory, as it stands now.
pub type HorizonBelow = Box<dyn Fn() -> Horizon + Send>;

/// How far back a tier looks in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// Purges after this number, over a restart too; `None`: none.
    pub after: Option<u64>,
    /// Everything there was held against hard purges up to this number.
    pub swept: u64,
    /// And against soft ones up to this.
    pub swept_softly: u64,
}

impl Horizon {
    /// That of a tier in which nothing is.
    pub const NOTHING: Self = Self {
        after: None,
        swept: u64::MAX,
        swept_softly: u64::MAX,
    };
}

/// For how long purges are remembered at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remember {
    /// For fetches that began before them.
    pub fetches: Duration,
    /// For what lies in a tier that nodes share, where there is one: its longest lifetime.
    pub shared: Option<Duration>,
}

impl Remember {
    /// For fetches alone.
    pub const fn fetches(fetches: Duration) -> Self {
        Self {
            fetches,
            shared: None,
        }
    }
}

/// So many expressions stay for what comes from a tier that nodes share, which nobody goes over.
const FOR_SHARED: usize = 384;

/// The sweep's door.
#[derive(Clone)]
pub struct Sweeper {
    questions: Sender<Question>,
}

impl fmt::Debug for Sweeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sweeper")
    }
}

impl Sweeper {
    /// Starts the sweep on a thread of its own; it ends with the last `Sweeper`. Purges are remembered for as long as `remember` says
    /// at least, and as far back as `horizon` does.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
        memory: Arc<Memory>,
        horizon: HorizonBelow,
        remember: Remember,
    ) -> std::io::Result<Self> {
        let (questions, asked) = channel();
        let sweep = Sweep::new(memory, horizon, remember);
        thread::Builder::new()
            .name("larder-sweep".to_owned())
            .spawn(move || sweep.run(&asked))?;
        Ok(Self { questions })
    }

    /// How many stored responses `purges` touched, which came to `done`. Looks at everything where that cannot be known
    /// otherwise; where only URLs were purged it does not wait long for that, and the count may be of plain keys only, those
    /// without header, cookie or route. Nobody waits for `busiest` to be told.
    pub(crate) async fn touched(
        &self,
        purges: &[Purge],
        done: &[Purged],
        busiest: Option<Busiest>,
    ) -> u64 {
        let known = done.iter().map(|purged| purged.touched).sum();
        let pairs = purges.iter().zip(done);
        let open: Vec<_> = pairs
            .map(|(purge, purged)| {
                let wanted = Wanted {
                    count: purged.open,
                    busiest: purge.soft && busiest.is_some(),
                };
                (purge.clone(), wanted)
            })
            .filter(|(_, wanted)| wanted.count || wanted.busiest)
            .collect();
        if open.is_empty() {
            return known;
        }
        let counted = open.iter().filter(|(_, wanted)| wanted.count);
        let waits = counted.clone().next().is_some();
        let is_brief = counted
            .map(|(purge, _)| purge)
            .all(|purge| matches!(purge.what, What::Url(_)));
        let (answer, told) = oneshot::channel();
        let question = Question {
            purges: open,
            busiest,
            answer,
        };
        if self.questions.send(question).is_err() || !waits {
            return known;
        }
        let told = if is_brief {
            timeout(COUNT_WITHIN, told).await.ok()
        } else {
            Some(told.await)
        };
        known + told.and_then(Result::ok).unwrap_or_default()
    }
}

/// The sweep's own state.
struct Sweep {
    memory: Arc<Memory>,
    horizon: HorizonBelow,
    remember: Remember,
    /// The head at which the last sweep began.
    swept: u64,
    /// Whether purges elsewhere may have been missed meanwhile: what stood so was left alone.
    was_unsure: bool,
    /// Until the next look.
    pause: Duration,
    /// Sweeps that have ended, for what is remembered for fetches.
    for_fetches: Ended,
    /// The same, for what is remembered for as long as anything is.
    for_all: Ended,
    /// When the log was last made to forget.
    retired: Instant,
}

impl Sweep {
    fn new(memory: Arc<Memory>, horizon: HorizonBelow, remember: Remember) -> Self {
        let longest = remember.shared.unwrap_or_default().max(remember.fetches);
        Self {
            memory,
            horizon,
            for_fetches: Ended::lasting(remember.fetches),
            for_all: Ended::lasting(longest),
            remember,
            swept: 0,
            was_unsure: false,
            pause: EVERY.0,
            retired: Instant::now(),
        }
    }

    fn run(mut self, asked: &Receiver<Question>) {
        loop {
            let mut questions = Vec::new();
            match asked.recv_timeout(self.pause) {
                Ok(first) => questions.push(first),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            questions.extend(asked.try_iter());
            answer(&self.memory, questions);
            let log = self.memory.log();
            if log.head() != self.swept || (self.was_unsure && !log.is_unsure()) {
                self.sweep(asked);
            }
            self.retire();
        }
    }

    /// One round over everything. Questions that come meanwhile are answered between its steps; half of the steps stay its own.
    fn sweep(&mut self, asked: &Receiver<Question>) {
        let head = self.memory.log().head();
        self.was_unsure = self.memory.log().is_unsure();
        let mut own = 0;
        let swept = self.memory.sweep(|| {
            thread::sleep(REST);
            if own > 0 {
                own -= 1;
            } else {
                own = answer(&self.memory, asked.try_iter().collect());
            }
        });
        self.pause = if swept.gone > 0 {
            EVERY.0
        } else {
            (self.pause * 2).min(EVERY.1)
        };
        self.swept = head;
        self.was_unsure |= self.memory.log().is_unsure();
        if !self.was_unsure {
            let now = Instant::now();
            self.for_fetches.note(head, now);
            self.for_all.note(head, now);
        }
    }

    /// Lets the log forget what everything kept has been checked for.
    fn retire(&mut self) {
        if self.retired.elapsed() < RETIRE {
            return;
        }
        let now = Instant::now();
        self.retired = now;
        let log = self.memory.log();
        log.tags().tidy();
        let horizon = (self.horizon)();
        if let Some(settled) = self.for_fetches.settled(now) {
            let keep = self.remember.shared.map_or(0, |_| FOR_SHARED);
            let (hard, soft) = (horizon.swept, horizon.swept_softly);
            log.release_patterns(settled.min(hard), settled.min(soft), keep);
        }
        if let Some(old) = self.for_all.settled(now) {
            self.for_fetches.forget(old);
            self.for_all.forget(old);
            log.retire(old.min(horizon.after.unwrap_or(u64::MAX)));
        }
    }
}
