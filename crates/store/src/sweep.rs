//! The sweep: gives back the memory of what was purged, counts what purges touched, and lets the log forget. It also
//! notes that the clock was set back.

mod ended;
mod question;
#[cfg(test)]
mod tests;

use crate::{
    Memory, Purged, clock,
    purge::{Purge, What},
};
use ended::Ended;
use question::{Question, Wanted, answer};
use rules::time::Time;
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

/// How often the sweep looks for work: at first, and once sweeps find nothing any more.
const EVERY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// The least time between two calls that make the log forget: lookups wait for these.
const RETIRE: Duration = Duration::from_secs(10);

/// How long the sweep rests after each step: several times as long as the step takes, so that hits on the same core
/// hardly wait. For a million responses that are gone, the rests add up to 38 seconds. The thread has the workers'
/// priority: if it were put off while it holds a lock, it would hold them up.
const REST: Duration = Duration::from_micros(300);

/// After this long, a purge of URLs is answered with the count that is known: it already holds, and such purges often
/// come by the hundred.
const COUNT_WITHIN: Duration = Duration::from_millis(100);

/// Returns the horizon of the tier below memory, as it is now.
pub type HorizonBelow = Box<dyn Fn() -> Horizon + Send>;

/// How far back a tier looks in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// The tier needs the purges after this number, also after a restart; `None`: it needs none.
    pub after: Option<u64>,
    /// Everything in the tier was checked for hard purges up to this number.
    pub swept: u64,
    /// The same for soft purges.
    pub swept_softly: u64,
}

impl Horizon {
    /// The horizon of an empty tier.
    pub const NOTHING: Self = Self {
        after: None,
        swept: u64::MAX,
        swept_softly: u64::MAX,
    };
}

/// How long purges are remembered at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remember {
    /// For fetches that began before the purges.
    pub fetches: Duration,
    /// For what is in a tier that nodes share, if there is one: its longest lifetime.
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

/// How many expressions stay for responses from a tier that nodes share, which no sweep goes over.
const FOR_SHARED: usize = 384;

/// A handle to the sweep's thread.
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
    /// Starts the sweep on a thread of its own, which ends with the last `Sweeper`. Purges are remembered at least as
    /// long as `remember` says, and as far back as `horizon` says.
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

    /// Returns how many stored responses `purges` touched, whose results are `done`.
    ///
    /// Looks at everything if the number cannot be known otherwise. If only URLs were purged, this does not wait long,
    /// and the count may be of plain keys only: those without header, cookie or route. Nobody waits until `busiest` is
    /// told.
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
    /// The head of the log when the last sweep began.
    swept: u64,
    /// Whether purges on other nodes may have been missed at that time: what was unsure then was left alone.
    was_unsure: bool,
    /// The time until the next look.
    pause: Duration,
    /// Sweeps that have ended, for what is remembered for fetches.
    for_fetches: Ended,
    /// The same, for what is remembered for the longest time.
    for_all: Ended,
    /// When the log was last made to forget.
    retired: Instant,
    /// What the wall clock said when it was last looked at.
    looked: Time,
}

/// Returns what a round over everything does between its steps: it rests, and answers questions that have arrived
/// meanwhile. Half of the steps stay the round's own.
fn between<'a>(memory: &'a Memory, asked: &'a Receiver<Question>) -> impl FnMut() + 'a {
    let mut own = 0;
    move || {
        thread::sleep(REST);
        if own > 0 {
            own -= 1;
        } else {
            own = answer(memory, asked.try_iter().collect());
        }
    }
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
            looked: clock::now(),
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
            let memory = Arc::clone(&self.memory);
            self.look_at_clock(clock::now(), between(&memory, asked));
            let log = self.memory.log();
            if log.head() != self.swept || (self.was_unsure && !log.is_unsure()) {
                self.sweep(asked);
            }
            self.retire();
        }
    }

    /// One round over everything.
    fn sweep(&mut self, asked: &Receiver<Question>) {
        let head = self.memory.log().head();
        self.was_unsure = self.memory.log().is_unsure();
        let swept = self.memory.sweep(between(&self.memory, asked));
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

    /// If the clock, which says `now`, was set back since it was last looked at, notes of which responses nobody knows the
    /// age: when it comes to what it said at their receipt, nothing shows that any more.
    fn look_at_clock(&mut self, now: Time, rest: impl FnMut()) {
        if now < self.looked {
            self.memory.note_unknown_ages(now, rest);
        }
        self.looked = now;
    }

    /// Makes the log forget what everything stored has been checked for.
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
