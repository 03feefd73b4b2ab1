//! Purges in the memory tier: what the log says takes effect at once; here memory is given back, and what was touched counted.

use super::Memory;
use crate::{
    Stored,
    purge::{Address, Applied, Position, Purge, Standing, TooMany, What},
};
use rules::time::Time;
use std::sync::{Arc, atomic::Ordering::Relaxed};

/// How much is done in one step of going through everything, counted in looks: some thirty microseconds, since a worker on the same
/// core waits for it. Longer ones let requests pile up while they last: those are then answered in bursts for a while.
const STEP: u64 = 256;

/// What is changed costs as much as so many looks: locks are taken, the table is changed, memory is given back.
const CHANGE: u64 = 32;

/// A purge that has taken effect on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purged {
    /// Its number in this node's log.
    pub sequence: u64,
    /// How many stored responses in memory it touched, as far as that is known without looking at all of them.
    pub touched: u64,
    /// How many stored responses below memory carried its tags; of other purges the tiers tell.
    pub below: u64,
    /// Whether there may be more.
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
    /// Purges, all of them or on an error none: when this returns, no lookup that begins later finds what is covered.
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

    /// As [`purge`](Self::purge), for an entry of the shared log, which cannot be refused.
    pub fn apply(&self, purge: Purge, at: Time, position: Option<Position>) -> Purged {
        let (what, soft) = (purge.what.clone(), purge.soft);
        let applied = self.log.apply(purge, at, position);
        self.give_back(&what, soft, applied)
    }

    /// As [`apply`](Self::apply), for what takes effect here before it stands in the shared log
    /// ([`Log::apply_ahead`](crate::purge::Log::apply_ahead)).
    pub fn apply_ahead(&self, purge: Purge, at: Time) -> Purged {
        let (what, soft) = (purge.what.clone(), purge.soft);
        let applied = self.log.apply_ahead(purge, at);
        self.give_back(&what, soft, applied)
    }

    /// As [`apply`](Self::apply), for the copy of what was applied ahead as `sequence`
    /// ([`Log::apply_copy`](crate::purge::Log::apply_copy)).
    pub fn apply_copy(&self, purge: Purge, at: Time, position: Position, sequence: u64) {
        let (what, soft) = (purge.what.clone(), purge.soft);
        if let Some(applied) = self.log.apply_copy(purge, at, position, sequence) {
            self.give_back(&what, soft, applied);
        }
    }

    /// What can be found at once of what was purged is forgotten.
    fn give_back(&self, what: &What, soft: bool, applied: Applied) -> Purged {
        let Applied {
            sequence,
            carried,
            below,
        } = applied;
        let (touched, open) = match what {
            // Keys that hold more than the URL are not found by it; the sweep finds them.
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

    /// Shows `look` every stored response that purges cover and that is not yet checked up to the head, with how it stands, in no
    /// order; changes nothing. `pause` is called after each step.
    pub fn survey(&self, mut look: impl FnMut(&[u8], &Stored, Standing), pause: impl FnMut()) {
        let show = |key: &[u8], stored: &Arc<Stored>, standing| {
            look(key, stored, standing);
            false
        };
        self.each_covered(show, pause);
    }

    /// Does to every stored response what purges say of it: what is gone is dropped. `pause` is called after each step, which
    /// drops 8 at most.
    pub fn sweep(&self, mut pause: impl FnMut()) -> Swept {
        let leaving = &self.evictions.leaving;
        let pause = || {
            // Who goes through everything holds what it has just dropped.
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

    /// Calls `visit` for what purges cover, which says whether it changed anything, and `pause` after each step; how many stored
    /// responses there were.
    fn each_covered(
        &self,
        mut visit: impl FnMut(&[u8], &Arc<Stored>, Standing) -> bool,
        mut pause: impl FnMut(),
    ) -> u64 {
        let (mut seen, mut spent) = (0, 0);
        let head = self.log.head();
        for (key, variants) in self.entries.iter() {
            for stored in variants.as_slice() {
                seen += 1;
                spent += 1;
                let standing = if stored.checked() < head {
                    self.log.standing(&key, stored)
                } else {
                    Standing::Good
                };
                if standing != Standing::Good && visit(&key, stored, standing) {
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

    /// What purges say of `stored` is done to it.
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
