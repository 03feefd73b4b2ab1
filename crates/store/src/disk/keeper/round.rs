//! Rounds over the labels of everything that is kept, a few at a time between other tasks. They give up what purges
//! cover, count tags, and answer how much a purge touches.

use super::Keeper;
use crate::disk::{
    counting::{Question, is_plain},
    index::RecordPosition,
};
use crate::{codec::label, purge::Label};
use std::{
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

/// How often the keeper checks whether anything was purged.
const EVERY: Duration = Duration::from_secs(if cfg!(test) { 0 } else { 10 });

/// A sweep takes at most one part in this many of all time, unless the log is crowded.
const SHARE: u32 = 50;

/// `STEP` is how long labels are looked at in one go, and `AT_ONCE` how many between two looks at the clock. Then the
/// round rests, so that hits on the same core and other tasks hardly wait: for `REST`, or for `SHORT_REST` if somebody
/// waits for an answer.
const STEP: Duration = Duration::from_micros(200);
const AT_ONCE: usize = 16;
const REST: Duration = Duration::from_micros(300);
const SHORT_REST: Duration = Duration::from_micros(50);

/// At most this many questions are answered at one time. A further one finds nothing.
const MOST_QUESTIONS: usize = 32;

/// The rounds of the thread.
#[derive(Default)]
pub(super) struct Rounds {
    sweep: Sweep,
    /// Each question, with the segments that were not yet looked at for it.
    questions: Vec<(Vec<u32>, Question)>,
    current: Option<Current>,
    /// When the last step ended.
    stepped: Option<Instant>,
}

/// A round that gives up what purges cover.
#[derive(Default)]
struct Sweep {
    /// Segments still to be swept.
    left: Vec<u32>,
    /// Where the log stood when the last sweep began. `None` before the first, which counts what was found at the
    /// start.
    head: Option<u64>,
    /// When the next sweep may begin.
    rests_until: Option<Instant>,
    /// Time that looking at labels has taken so far, without the rests.
    spent: Duration,
    /// Whether it also gives up what was purged only softly.
    softly: bool,
    /// Whether some segment could not be looked at.
    is_partial: bool,
}

/// The segment whose labels are being looked at.
struct Current {
    id: u32,
    labels: Vec<u8>,
    at: usize,
    sweeps: bool,
    /// The indices of the questions that it is looked at for.
    asked: Vec<usize>,
}

impl Rounds {
    /// How long the thread may wait for other tasks.
    pub fn patience(&self) -> Duration {
        let sweep = &self.sweep;
        if !self.questions.is_empty() {
            SHORT_REST
        } else if self.current.is_some() || sweep.head.is_none() || !sweep.left.is_empty() {
            REST
        } else {
            EVERY.max(Duration::from_millis(10))
        }
    }

    /// Whether a sweep is under way that also gives up what was purged only softly.
    pub fn gives_up_softly(&self) -> bool {
        let is_under_way = self.current.as_ref().is_some_and(|current| current.sweeps);
        self.sweep.softly && (is_under_way || !self.sweep.left.is_empty())
    }

    /// The next segment, whether it is swept, and the questions that it is looked at for: all that wait for it.
    fn next(&mut self) -> Option<(u32, bool, Vec<usize>)> {
        let asked = self.questions.first().and_then(|(left, _)| left.last());
        let id = *asked.or(self.sweep.left.last())?;
        let takes = |left: &mut Vec<u32>| {
            let at = left.iter().position(|other| *other == id);
            at.map(|at| left.swap_remove(at)).is_some()
        };
        let sweeps = takes(&mut self.sweep.left);
        let all = self.questions.iter_mut().enumerate();
        let asked = all.filter_map(|(place, (left, _))| takes(left).then_some(place));
        Some((id, sweeps, asked.collect()))
    }
}

impl Keeper {
    /// Begins to look at everything for `question`.
    pub(super) fn survey(&mut self, question: Question) {
        let segments: Vec<_> = self.shared.segments().keys().copied().collect();
        if !segments.is_empty() && self.rounds.questions.len() < MOST_QUESTIONS {
            self.rounds.questions.push((segments, question));
        }
    }

    /// Takes one step of the rounds that are due.
    pub(super) fn go_round(&mut self) {
        let rest = self.rounds.patience().min(REST);
        let stepped = self.rounds.stepped;
        if stepped.is_some_and(|stepped| stepped.elapsed() < rest) {
            return;
        }
        if self.rounds.current.is_none() {
            self.begin_sweep();
            self.turn();
        }
        let Some(mut current) = self.rounds.current.take() else {
            return;
        };
        let began = Instant::now();
        let has_more = self.look(&mut current);
        if current.sweeps {
            self.rounds.sweep.spent += began.elapsed();
        }
        if has_more {
            self.rounds.current = Some(current);
        } else {
            self.end(current.sweeps);
        }
        self.rounds.stepped = Some(Instant::now());
    }

    /// Begins a sweep, if one is due.
    fn begin_sweep(&mut self) {
        let head = self.shared.log.head();
        let sweep = &mut self.rounds.sweep;
        let rests = sweep
            .rests_until
            .is_some_and(|until| Instant::now() < until);
        let is_done = sweep.head == Some(head) && !sweep.is_partial;
        if rests || !sweep.left.is_empty() || is_done {
            return;
        }
        sweep.softly = self.shared.log.is_crowded();
        sweep.is_partial = false;
        sweep.left = self.shared.segments().keys().copied().collect();
        let is_empty = sweep.left.is_empty();
        sweep.head = Some(head);
        sweep.spent = Duration::ZERO;
        if is_empty {
            self.end(true);
        }
    }

    /// Begins with the next segment.
    fn turn(&mut self) {
        while let Some((id, sweeps, asked)) = self.rounds.next() {
            if let Some(labels) = self.labels(id) {
                self.rounds.current = Some(Current {
                    id,
                    labels,
                    at: 0,
                    sweeps,
                    asked,
                });
                return;
            }
            self.rounds.sweep.is_partial |= sweeps && self.shared.segment(id).is_some();
            self.end(sweeps);
        }
    }

    /// Ends the look at a segment. Questions that have been told of everything are dropped, which answers them.
    fn end(&mut self, sweeps: bool) {
        let Rounds {
            sweep, questions, ..
        } = &mut self.rounds;
        questions.retain(|(left, question)| !left.is_empty() && !question.is_over());
        if sweeps && sweep.left.is_empty() {
            // When the log is crowded, purges by expression wait for room.
            let share = if sweep.softly { 1 } else { SHARE };
            sweep.rests_until = Some(Instant::now() + EVERY.max(sweep.spent * share));
            let head = sweep.head.unwrap_or_default();
            if !sweep.is_partial {
                self.shared.log.carried().tidy(head);
                let swept = &self.shared.swept;
                swept.hard.store(head, Relaxed);
                let softly = if sweep.softly { head } else { 0 };
                swept.softly.fetch_max(softly, Relaxed);
            }
        }
    }

    /// Looks at a few labels. Returns whether there are more.
    fn look(&mut self, current: &mut Current) -> bool {
        let Some(segment) = self.shared.segment(current.id) else {
            return false;
        };
        let began = Instant::now();
        for number in 1.. {
            if number % AT_ONCE == 0 && began.elapsed() > STEP {
                break;
            }
            let rest = current.labels.get(current.at..).unwrap_or_default();
            let Ok((unit, mut label, more)) = label::read(rest) else {
                return false;
            };
            current.at = current.labels.len() - more.len();
            label.checked = self.shared.checked(&segment, label.checked);
            let place = RecordPosition::new(segment.id, unit);
            let key = self.shared.hash(label.key);
            let Some(spot) = self.shared.index.at(key, place) else {
                continue;
            };
            if !is_plain(label.key) {
                self.shared.has_long_keys.store(true, Relaxed);
            }
            for asked in &current.asked {
                if let Some((_, question)) = self.rounds.questions.get(*asked) {
                    question.look(&label);
                }
            }
            if current.sweeps {
                self.count_found(&spot, &label);
                self.sweep(&label, key, place);
            }
        }
        true
    }

    /// Gives up the record at `place`, which has `label`, if a purge covers it.
    fn sweep(&mut self, label: &Label<'_>, key: u64, place: RecordPosition) {
        let softly = self.rounds.sweep.softly;
        if !self.shared.log.has_purged(label, softly) {
            return;
        }
        let Some(gone) = self.shared.index.remove(key, place) else {
            return;
        };
        self.shared.log.count_swept(1);
        if gone.is_counted() {
            let carried = self.shared.log.carried();
            carried.remove(label.tags.iter().copied(), label.checked);
        }
        if gone.is_large() {
            self.unname(place);
        }
    }
}
