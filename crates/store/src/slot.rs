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
                // Counting waits for what was asked of memory before, and whatever is asked next waits for that: so all of it is asked first.
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

    /// The one that answers `request` at `now`: of those that match, the most recent of the highest [`Rank`].
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

    /// These, the newest first; `None` where there are none.
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

    /// With `new` among them: it takes the place of the one of the same variant, and of the others the oldest go beyond `most`. It stays
    /// itself, however old: whoever asks for it next would ask the origin again.
    pub(crate) fn with(&self, new: Arc<Stored>, most: usize) -> Option<Self> {
        let mut all = self.beside(&new);
        all.truncate(most.saturating_sub(1));
        // Of those of the same date the newest comer is the first.
        all.insert(0, new);
        Self::from_vec(all)
    }

    /// As [`with`](Self::with), of what a lower tier has, of which there may be as many: the oldest go, whichever they are.
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

    /// Whether what `new` would take the place of was brought by a later fetch.
    pub(crate) fn supersedes(&self, new: &Stored) -> bool {
        self.later_than(new).is_some()
    }

    /// What stands in the place of `old` by a later fetch.
    pub fn later_than(&self, old: &Stored) -> Option<&Arc<Stored>> {
        let mut all = self.as_slice().iter();
        all.find(|held| held.variant == old.variant && held.is_of_later_fetch(old))
    }

    /// Whether what `new` would take the place of is newer, or as new and no farther away, or on its way.
    pub fn has_newer(&self, new: &Stored) -> bool {
        self.as_slice().iter().any(|held| {
            new.variant == held.variant
                && (matches!(held.body, Body::Filling(_))
                    || held.facts.response_time > new.facts.response_time
                    || (held.facts.response_time == new.facts.response_time
                        && !is_nearer(&new.body, &held.body)))
        })
    }

    /// Without the one of identity `id`.
    pub(crate) fn without(&self, id: u64) -> Option<Self> {
        Self::from_vec(
            self.as_slice()
                .iter()
                .filter(|stored| stored.id() != id)
                .cloned()
                .collect(),
        )
    }

    /// Without what [stands for](Stored::stands_for) `old`.
    pub(crate) fn without_any_of(&self, old: &Stored) -> Option<Self> {
        let all = self.as_slice().iter();
        Self::from_vec(all.filter(|held| !held.stands_for(old)).cloned().collect())
    }

    /// What [stands for](Stored::stands_for) `old`.
    pub(crate) fn standing_for(&self, old: &Stored) -> Option<&Arc<Stored>> {
        let mut all = self.as_slice().iter();
        all.find(|held| held.stands_for(old))
    }

    /// The identity of the newest.
    pub(crate) fn newest(&self) -> u64 {
        self.as_slice().first().map_or(0, |newest| newest.id())
    }

    /// These, or without the oldest of them, so that they weigh `most` at most. That of identity `kept` stays, and what is on its way, which
    /// weighs next to nothing. `None` where they are too heavy all the same.
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

    /// With `new` in the place of `old` itself; `None` if that very one is not here.
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

    /// With `new` instead of the one of identity `id`; `None` if that one is not here. What was freshened may be the newest now, and of
    /// another's variant: then that of the later fetch stays.
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

    /// Whether any body is still on its way: such entries stay, since their readers and writer know them.
    pub(crate) fn is_filling(&self) -> bool {
        self.as_slice()
            .iter()
            .any(|stored| matches!(stored.body, Body::Filling(_)))
    }
}

/// Whether `new` is in memory and `held` is not, or `held` is not there any more.
fn is_nearer(new: &Body, held: &Body) -> bool {
    held.is_on_disk() && (!new.is_on_disk() || held.is_gone())
}

#[cfg(test)]
mod tests;
