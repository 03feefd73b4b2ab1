//! The sweep: gives back the memory of what was purged, counts what purges touched, and lets the log forget.

use crate::{
    Memory, Purged,
    purge::{Address, Log, Purge, Standing, What},
};
use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// How often the sweep looks whether there is anything to do.
const EVERY: Duration = Duration::from_secs(1);

/// How long it rests after each batch, so that hits do not wait for it.
const REST: Duration = Duration::from_millis(1);

/// Purges are remembered at least so long, for fetches that began before them.
const REMEMBER: Duration = Duration::from_mins(1);

/// Busiest URLs that are told of.
const BUSIEST: usize = 1000;

/// What purges touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Stored responses.
    pub count: u64,
    /// Their URLs, those asked for most first.
    pub busiest: Vec<String>,
}

/// A question to the sweep.
#[derive(Debug)]
struct Question {
    purges: Vec<Purge>,
    answer: oneshot::Sender<Touched>,
}

/// How far back tiers below memory need the log. `None`: not at all.
pub type Horizon = Box<dyn Fn() -> Option<u64> + Send>;

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
    /// Starts the sweep on a thread of its own; it ends with the last `Sweeper`.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(memory: Arc<Memory>, horizon: Horizon) -> std::io::Result<Self> {
        let (questions, asked) = channel();
        let sweep = Sweep {
            memory,
            horizon,
            swept: 0,
            done: VecDeque::new(),
        };
        thread::Builder::new()
            .name("larder-sweep".to_owned())
            .spawn(move || sweep.run(&asked))?;
        Ok(Self { questions })
    }

    /// What `purges` touched, which came to `done`. Looks at everything where that cannot be known otherwise, and where soft
    /// purges want to know what is busy.
    pub(crate) async fn touched(&self, purges: &[Purge], done: &[Purged]) -> Touched {
        let known = done.iter().map(|purged| purged.touched).sum();
        let pairs = purges.iter().zip(done);
        let open: Vec<_> = pairs
            .filter(|(_, purged)| purged.open)
            .map(|(purge, _)| purge.clone())
            .collect();
        let mut touched = Touched {
            count: known,
            busiest: Vec::new(),
        };
        if open.is_empty() {
            return touched;
        }
        let (answer, told) = oneshot::channel();
        let question = Question {
            purges: open,
            answer,
        };
        if self.questions.send(question).is_ok()
            && let Ok(scanned) = told.await
        {
            touched.count += scanned.count;
            touched.busiest = scanned.busiest;
        }
        touched
    }
}

/// The sweep's own state.
struct Sweep {
    memory: Arc<Memory>,
    horizon: Horizon,
    /// The head at which the last sweep began.
    swept: u64,
    /// Heads at which sweeps began that have ended, and when.
    done: VecDeque<(u64, Instant)>,
}

impl Sweep {
    fn run(mut self, asked: &Receiver<Question>) {
        loop {
            let mut questions = Vec::new();
            match asked.recv_timeout(EVERY) {
                Ok(first) => questions.push(first),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            questions.extend(asked.try_iter());
            if !questions.is_empty() || self.memory.log().head() != self.swept {
                self.sweep(questions);
            }
            self.retire();
        }
    }

    /// One round over everything, for all questions at once.
    fn sweep(&mut self, questions: Vec<Question>) {
        let head = self.memory.log().head();
        let mut counts = vec![0; questions.len()];
        let mut busy: Vec<HashMap<String, u64>> = vec![HashMap::new(); questions.len()];
        let look = |key: &[u8], stored: &crate::Stored, standing: Standing| {
            if standing == Standing::Good {
                return;
            }
            for (index, question) in questions.iter().enumerate() {
                let Some(purge) = covering(&question.purges, key, stored) else {
                    continue;
                };
                counts[index] += 1;
                if purge.soft {
                    let url = Address::of(key).url();
                    *busy[index].entry(url).or_default() += stored.uses();
                }
            }
        };
        self.memory.sweep(look, || thread::sleep(REST));
        for ((question, count), busy) in questions.into_iter().zip(counts).zip(busy) {
            let busiest = busiest(busy);
            // Whoever asked may have left.
            let _ = question.answer.send(Touched { count, busiest });
        }
        self.swept = head;
        if !self.memory.log().is_unsure() {
            self.done.push_back((head, Instant::now()));
        }
    }

    /// Lets the log forget what everything kept has been checked for.
    fn retire(&mut self) {
        let mut old = None;
        while let Some((head, at)) = self.done.front()
            && at.elapsed() >= REMEMBER
        {
            old = Some(*head);
            self.done.pop_front();
        }
        let Some(old) = old else { return };
        let needed = (self.horizon)().unwrap_or(u64::MAX);
        self.memory.log().retire(old.min(needed));
    }
}

fn covering<'a>(purges: &'a [Purge], key: &[u8], stored: &crate::Stored) -> Option<&'a Purge> {
    purges.iter().find(|purge| {
        // Plain keys were counted when the URL was purged.
        let counted = purge.soft && matches!(purge.what, What::Url(_)) && !key.contains(&b'\n');
        !counted && Log::covers(purge, key, stored)
    })
}

fn busiest(uses: HashMap<String, u64>) -> Vec<String> {
    let mut all: Vec<_> = uses.into_iter().filter(|(_, uses)| *uses > 0).collect();
    all.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
    all.truncate(BUSIEST);
    all.into_iter().map(|(url, _)| url).collect()
}
