//! Purges in the memory tier. What the log says takes effect at once; here memory is given back, and what was touched
//! is counted.

use super::Memory;
use crate::{
    Stored,
    purge::{Address, Applied, Position, Purge, Standing, TooMany, What},
};
use rules::time::Time;
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// How much one step of going over everything does, counted in looks: about thirty microseconds, because a worker on
/// the same core waits for it. During a longer step requests would pile up, and for a while be answered in bursts.
const STEP: u64 = 256;

/// A change costs as much as this many looks: it takes locks, changes the table and gives memory back.
const CHANGE: u64 = 32;

/// A purge that has taken effect on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purged {
    /// Its number in this node's log.
    pub sequence: u64,
    /// How many stored responses in memory it touched, as far as this is known without looking at all of them.
    pub touched: u64,
    /// How many stored responses below memory carried its tags. For other purges, the tiers count them.
    pub below: u64,
    /// Whether it may have touched more.
    pub open: bool,
}

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Stored responses looked at.
    pub seen: u64,
    /// Stored responses that were gone, and whose memory was given back.
    pub gone: u64,
}

impl Memory {
    /// Applies all purges, or none on an error: no lookup that begins after this returns finds what they cover.
    ///
    /// # Errors
    /// Too many regular expressions are still waiting for the sweep; nothing was purged.
    pub fn purge(&self, purges: &[Purge], at: Time) -> Result<Vec<Purged>, TooMany> {
        let applied = self.log.purge(purges.to_vec(), at)?;
        let done = purges.iter().zip(applied);
        Ok(done
            .map(|(purge, applied)| self.give_back(&purge.what, purge.soft, applied))
            .collect())
    }

    /// Like [`purge`](Self::purge), for an entry of the shared log, which cannot be refused.
    pub fn apply(&self, purge: Purge, at: Time, position: Option<Position>) -> Purged {
        let (what, soft) = (purge.what.clone(), purge.soft);
        let applied = self.log.apply(purge, at, position);
        self.give_back(&what, soft, applied)
    }

    /// Like [`apply`](Self::apply), for a purge that takes effect here before it is in the shared log
    /// ([`Log::apply_ahead`](crate::purge::Log::apply_ahead)).
    pub fn apply_ahead(&self, purge: Purge, at: Time) -> Purged {
        let (what, soft) = (purge.what.clone(), purge.soft);
        let applied = self.log.apply_ahead(purge, at);
        self.give_back(&what, soft, applied)
    }

    /// Like [`apply`](Self::apply), for the shared log's copy of what was applied ahead as `sequence`
    /// ([`Log::apply_copy`](crate::purge::Log::apply_copy)).
    pub fn apply_copy(&self, purge: Purge, at: Time, position: Position, sequence: u64) {
        let (what, soft) = (purge.what.clone(), purge.soft);
        if let Some(applied) = self.log.apply_copy(purge, at, position, sequence) {
            self.give_back(&what, soft, applied);
        }
    }

    /// Forgets what was purged, as far as it can be found at once.
    fn give_back(&self, what: &What, soft: bool, applied: Applied) -> Purged {
        let Applied {
            sequence,
            carried,
            below,
        } = applied;
        let (touched, open) = match what {
            // Keys that hold more than the URL are not found by it. The sweep finds them.
            What::Url(urls) => (self.forget_urls(urls, soft), self.long_keys.load(Relaxed)),
            What::Tags(_) => (carried, false),
            What::Prefix { .. } | What::Host(_) | What::Pattern(_) | What::Everything => (0, true),
        };
        Purged {
            sequence,
            touched,
            below,
            open,
        }
    }

    fn forget_urls(&self, urls: &[String], soft: bool) -> u64 {
        let keys = urls.iter().flat_map(|url| Address::keys(url));
        keys.map(|key| {
            if soft {
                let here = self.peek(key.as_bytes());
                here.map_or(0, |variants| variants.as_slice().len() as u64)
            } else {
                self.forget(key.as_bytes())
            }
        })
        .sum()
    }

    /// Shows `look` every stored response that is not yet checked up to the head and that purges cover, with its
    /// standing. Changes nothing, and has no order. Calls `pause` after each step.
    pub fn survey(&self, mut look: impl FnMut(&[u8], &Stored, Standing), pause: impl FnMut()) {
        let show = |key: &[u8], stored: &Arc<Stored>, standing| {
            look(key, stored, standing);
            false
        };
        self.each_covered(show, pause);
    }

    /// Applies to every stored response what purges say about it: drops what is gone. Calls `pause` after each step,
    /// which drops at most 8.
    pub fn sweep(&self, mut pause: impl FnMut()) -> Swept {
        let leaving = &self.evictions.leaving;
        let pause = || {
            // An iterator that goes over everything still holds what was just dropped.
            leaving.look();
            pause();
        };
        let mut gone = 0;
        let settle = |key: &[u8], stored: &Arc<Stored>, standing| {
            self.settle(key, stored, standing);
            gone += u64::from(standing == Standing::Gone);
            standing != Standing::Unsure
        };
        let seen = self.each_covered(settle, pause);
        leaving.look_through();
        self.log.count_swept(gone);
        Swept { seen, gone }
    }

    /// Calls `visit` for what purges cover, which returns whether it changed anything, and `pause` after each step.
    /// Returns how many stored responses there were.
    fn each_covered(
        &self,
        mut visit: impl FnMut(&[u8], &Arc<Stored>, Standing) -> bool,
        pause: impl FnMut(),
    ) -> u64 {
        let head = self.log.head();
        let visit = |key: &[u8], stored: &Arc<Stored>| {
            let standing = if stored.checked() < head {
                self.log.standing(key, stored)
            } else {
                Standing::Good
            };
            standing != Standing::Good && visit(key, stored, standing)
        };
        self.each(visit, pause)
    }

    /// Notes at `now`, after the clock was set back, of which responses nobody knows the age
    /// ([`Facts::with_age_unknown`](rules::freshness::Facts::with_age_unknown)). Calls `pause` after each step.
    pub fn note_unknown_ages(&self, now: Time, pause: impl FnMut()) {
        let note = |key: &[u8], stored: &Arc<Stored>| {
            let noted = stored.with_age_unknown(now).map(Arc::new);
            noted.is_some_and(|noted| self.exchange(key, stored, &noted))
        };
        self.each(note, pause);
    }

    /// Calls `visit` for every stored response, which returns whether it changed anything, and `pause` after each step.
    /// Returns how many there were.
    fn each(
        &self,
        mut visit: impl FnMut(&[u8], &Arc<Stored>) -> bool,
        mut pause: impl FnMut(),
    ) -> u64 {
        let (mut seen, mut spent) = (0, 0);
        for (key, variants) in self.entries.iter() {
            for stored in variants.as_slice() {
                seen += 1;
                spent += 1;
                if visit(&key, stored) {
                    spent += CHANGE;
                }
                if spent >= STEP {
                    spent = 0;
                    pause();
                }
            }
        }
        seen
    }

    /// Applies to `stored` what purges say about it.
    fn settle(&self, key: &[u8], stored: &Arc<Stored>, standing: Standing) {
        match standing {
            Standing::Gone => self.remove(key, stored.id()),
            Standing::Stale { since, checked } => {
                let stale = Arc::new(stored.stale_since(since, checked));
                self.exchange(key, stored, &stale);
            }
            Standing::Good | Standing::Unsure => {}
        }
    }
}
