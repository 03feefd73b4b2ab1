//! Questions to the sweep: what purges touched, and which of that is busy.

use super::REST;
use crate::{
    Memory, Stored, Variant,
    purge::{Address, Log, Purge, What},
};
use std::{cmp::Reverse, thread};
use tokio::sync::oneshot;

/// Whom to tell what soft purges touched and is asked for most.
#[derive(Clone, Debug)]
pub struct Busiest {
    /// The most stored responses to tell.
    pub most: usize,
    /// Gets the busiest first, once everything has been looked at. If the channel is full, nothing is sent.
    pub to: tokio::sync::mpsc::Sender<Vec<Busy>>,
}

/// A stored response that is asked for often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Busy {
    /// Its URL.
    pub url: String,
    /// What selects it among the variants of its key.
    pub variant: Option<Box<Variant>>,
    /// How often it was used.
    pub uses: u64,
}

/// A question to the sweep.
#[derive(Debug)]
pub(super) struct Question {
    pub purges: Vec<(Purge, Wanted)>,
    /// Who is told about busy responses.
    pub busiest: Option<Busiest>,
    /// Gets the number of stored responses that were touched and not counted yet.
    pub answer: oneshot::Sender<u64>,
}

/// What to find out about a purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// How much it touched.
    pub count: bool,
    /// Which of that is busy.
    pub busiest: bool,
}

/// What a scan has found for one question.
#[derive(Debug, Default)]
struct Touched {
    count: u64,
    busiest: Vec<Busy>,
}

impl Touched {
    fn keep(&mut self, most: usize) {
        self.busiest.sort_by_key(|busy| Reverse(busy.uses));
        self.busiest.truncate(most);
    }
}

impl Question {
    fn look(&self, key: &[u8], stored: &Stored, found: &mut Touched) {
        let plain = !key.contains(&b'\n');
        let mut busy = false;
        let mut counted = false;
        for (purge, wanted) in &self.purges {
            if !Log::covers(purge, key, stored) {
                continue;
            }
            busy |= wanted.busiest && plain;
            // Plain keys were counted when their URL was purged.
            counted |= wanted.count && !(plain && matches!(purge.what, What::Url(_)));
        }
        found.count += u64::from(counted);
        let most = self.busiest.as_ref().map_or(0, |busiest| busiest.most);
        if found.busiest.len() > most * 4 {
            found.keep(most);
        }
        if busy && stored.uses() > 0 {
            found.busiest.push(Busy {
                url: Address::of(key).url(),
                variant: stored.variant.clone(),
                uses: stored.uses(),
            });
        }
    }
}

/// Looks at everything once for all `questions`, and answers them: callers do not wait until memory is given back.
/// Returns the number of steps that it took.
pub(super) fn answer(memory: &Memory, questions: Vec<Question>) -> u64 {
    if questions.is_empty() {
        return 0;
    }
    let mut found: Vec<_> = questions.iter().map(|_| Touched::default()).collect();
    let look = |key: &[u8], stored: &Stored, _| {
        for (question, found) in questions.iter().zip(&mut found) {
            question.look(key, stored, found);
        }
    };
    let mut steps = 0;
    memory.survey(look, || {
        thread::sleep(REST);
        steps += 1;
    });
    for (question, mut found) in questions.into_iter().zip(found) {
        // The caller may have left.
        let _ = question.answer.send(found.count);
        if let Some(Busiest { most, to }) = question.busiest
            && !found.busiest.is_empty()
        {
            found.keep(most);
            let _ = to.try_send(found.busiest);
        }
    }
    steps
}
