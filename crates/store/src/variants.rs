//! The stored responses of one cache key.

mod rank;
mod weight;

use crate::{Body, Stored};
use http::HeaderMap;
use rules::time::Time;
use std::{cmp::Reverse, sync::Arc};

pub(crate) use rank::Rank;

/// The variants of one cache key, the most recent first. Cheap to clone; never empty.
#[derive(Debug)]
pub enum Variants {
    /// The common case, without a second allocation.
    One(Arc<Stored>),
    /// Several, sorted by `Date`, newest first.
    Many(Arc<[Arc<Stored>]>),
}

impl Clone for Variants {
    fn clone(&self) -> Self {
        match self {
            Self::One(only) => {
                // The counter's locked instruction waits for all earlier reads, and later reads wait for it. So all
                // reads are issued first.
                only.read_ahead();
                Self::One(only.clone())
            }
            Self::Many(many) => Self::Many(many.clone()),
        }
    }
}

impl Variants {
    /// All of them, newest first.
    pub fn as_slice(&self) -> &[Arc<Stored>] {
        match self {
            Self::One(only) => std::slice::from_ref(only),
            Self::Many(many) => many,
        }
    }

    /// Returns the response for `request` at `now`: of those that match, the most recent of the highest [`Rank`].
    pub fn select(
        &self,
        request: &HeaderMap,
        scratch: &mut Vec<u8>,
        now: Time,
    ) -> Option<&Arc<Stored>> {
        let all = match self {
            Self::One(only) => return only.matches(request, scratch).then_some(only),
            Self::Many(all) => all,
        };
        let mut best: Option<(Rank, &Arc<Stored>)> = None;
        for stored in all.iter() {
            if !stored.matches(request, scratch) {
                continue;
            }
            let rank = Rank::of(stored, now);
            if rank == Rank::Chosen {
                return Some(stored);
            }
            if best.is_none_or(|(before, _)| before < rank) {
                best = Some((rank, stored));
            }
        }
        best.map(|(_, stored)| stored)
    }

    /// Makes variants of `stored`, the newest first; `None` if there are none.
    pub fn from_vec(mut stored: Vec<Arc<Stored>>) -> Option<Self> {
        match stored.len() {
            0 => None,
            1 => stored.pop().map(Self::One),
            _ => {
                stored.sort_by_key(|stored| Reverse(stored.facts.date));
                Some(Self::Many(stored.into()))
            }
        }
    }

    /// Adds `new`. It replaces the one of the same variant. Beyond `most`, the oldest of the others are dropped, but
    /// not `new` itself, however old: otherwise the next request for it would ask the origin again.
    pub(crate) fn with(&self, new: Arc<Stored>, most: usize) -> Option<Self> {
        let mut all = self.beside(&new);
        all.truncate(most.saturating_sub(1));
        // Among those of the same date, the one that came last is the first.
        all.insert(0, new);
        Self::from_vec(all)
    }

    /// Like [`with`](Self::with), for what a lower tier has, which may be as many again: the oldest are dropped, even
    /// `new`.
    pub(crate) fn with_found(&self, new: Arc<Stored>, most: usize) -> Option<Self> {
        let mut all = self.beside(&new);
        let at = all.partition_point(|old| old.facts.date > new.facts.date);
        all.insert(at, new);
        all.truncate(most.max(1));
        Self::from_vec(all)
    }

    /// The one of the same variant as `new`.
    pub(crate) fn of_variant(&self, new: &Stored) -> Option<&Arc<Stored>> {
        let mut all = self.as_slice().iter();
        all.find(|held| held.variant == new.variant)
    }

    /// Those of other variants than `new`.
    fn beside(&self, new: &Stored) -> Vec<Arc<Stored>> {
        let all = self.as_slice().iter();
        all.filter(|old| new.variant != old.variant)
            .cloned()
            .collect()
    }

    /// Whether a later fetch brought what `new` would replace, or one of several variants where `new` is for everybody:
    /// the application has learned meanwhile that its answers differ.
    pub fn supersedes(&self, new: &Stored) -> bool {
        let gained = |held: &Arc<Stored>| {
            new.variant.is_none() && held.variant.is_some() && held.is_of_later_fetch(new)
        };
        self.later_than(new).is_some() || self.as_slice().iter().any(gained)
    }

    /// What a later fetch has put in the place of `old`.
    pub fn later_than(&self, old: &Stored) -> Option<&Arc<Stored>> {
        let mut all = self.as_slice().iter();
        all.find(|held| held.variant == old.variant && held.is_of_later_fetch(old))
    }

    /// Whether what `new` would replace is newer, or as new and no farther away, or still on its way.
    pub fn has_newer(&self, new: &Stored) -> bool {
        self.as_slice().iter().any(|held| {
            new.variant == held.variant
                && (matches!(held.body, Body::Filling(_))
                    || held.facts.response_time > new.facts.response_time
                    || (held.facts.response_time == new.facts.response_time
                        && !is_nearer(&new.body, &held.body)))
        })
    }

    /// Removes the one of identity `id`.
    pub(crate) fn without(&self, id: u64) -> Option<Self> {
        Self::from_vec(
            self.as_slice()
                .iter()
                .filter(|stored| stored.id() != id)
                .cloned()
                .collect(),
        )
    }

    /// Removes all that [go with](Stored::goes_with) `old`.
    pub(crate) fn without_any_of(&self, old: &Stored) -> Option<Self> {
        let all = self.as_slice().iter();
        Self::from_vec(all.filter(|held| !held.goes_with(old)).cloned().collect())
    }

    /// The one that [stands for](Stored::stands_for) `old`.
    pub(crate) fn standing_for(&self, old: &Stored) -> Option<&Arc<Stored>> {
        let mut all = self.as_slice().iter();
        all.find(|held| held.stands_for(old))
    }

    /// The identity of the newest.
    pub(crate) fn newest(&self) -> u64 {
        self.as_slice().first().map_or(0, |newest| newest.id())
    }

    /// Drops the oldest until the rest weighs at most `most`. The one of identity `kept` stays, and those on their way,
    /// which weigh next to nothing. `None` if the rest is still too heavy.
    pub(crate) fn within(self, most: u64, kept: u64) -> Option<Self> {
        let mut rest = self;
        while rest.weight() > most {
            let mut all = rest.as_slice().iter().rev();
            let may_go =
                |held: &&Arc<Stored>| held.id() != kept && !matches!(held.body, Body::Filling(_));
            let oldest = all.find(may_go)?.id();
            rest = rest.without(oldest)?;
        }
        Some(rest)
    }

    /// Replaces `old` itself by `new`; `None` if `old` itself is not here.
    pub(crate) fn exchanged(&self, old: &Arc<Stored>, new: &Arc<Stored>) -> Option<Self> {
        let mut all = self.as_slice().to_vec();
        let place = all.iter_mut().find(|held| Arc::ptr_eq(held, old))?;
        *place = new.clone();
        Self::from_vec(all)
    }

    /// `new`, with what was made of its content after it was derived from one of these.
    pub(crate) fn up_to_date(&self, new: &Arc<Stored>) -> Arc<Stored> {
        let mut all = self.as_slice().iter();
        let ahead =
            all.find(|held| held.content() == new.content() && new.lacks_what_was_made(held));
        ahead.map_or_else(
            || new.clone(),
            |held| Arc::new(Stored::clone(new).with_made_of(held)),
        )
    }

    /// Replaces the one of identity `id` by `new`; `None` if it is not here. A freshened response may now be the
    /// newest, and of the same variant as another: then the one of the later fetch stays.
    pub(crate) fn replaced(&self, id: u64, new: &Arc<Stored>) -> Option<Self> {
        let mut all = self.as_slice().to_vec();
        let place = all.iter_mut().find(|stored| stored.id() == id)?;
        *place = new.clone();
        let is_like = |held: &Arc<Stored>| !Arc::ptr_eq(held, new) && held.variant == new.variant;
        let is_late = all
            .iter()
            .any(|held| is_like(held) && held.is_of_later_fetch(new));
        all.retain(|held| {
            if is_late {
                !Arc::ptr_eq(held, new)
            } else {
                !is_like(held)
            }
        });
        Self::from_vec(all)
    }

    /// Whether any body is still on its way. Such entries stay, because the body's readers and writer know them.
    pub(crate) fn is_filling(&self) -> bool {
        self.as_slice()
            .iter()
            .any(|stored| matches!(stored.body, Body::Filling(_)))
    }
}

/// Whether `new` is in memory and `held` is not, or whether `held` is gone.
fn is_nearer(new: &Body, held: &Body) -> bool {
    held.is_on_disk() && (!new.is_on_disk() || held.is_gone())
}

#[cfg(test)]
mod tests;
