//! The stored responses of one cache key.

use crate::{Body, Stored};
use http::HeaderMap;
use std::sync::Arc;

/// The variants of one cache key, the most recent first. Cheap to clone; never empty.
#[derive(Clone, Debug)]
pub enum Variants {
    /// The common case, without a second allocation.
    One(Arc<Stored>),
    /// Several, sorted by `Date`, newest first.
    Many(Arc<[Arc<Stored>]>),
}

impl Variants {
    /// All of them, newest first.
    pub fn as_slice(&self) -> &[Arc<Stored>] {
        match self {
            Self::One(only) => std::slice::from_ref(only),
            Self::Many(many) => many,
        }
    }

    /// The most recent one that answers `request` (RFC 9111 section 4.1: the newest match wins).
    pub fn select(&self, request: &HeaderMap, scratch: &mut Vec<u8>) -> Option<&Arc<Stored>> {
        self.as_slice()
            .iter()
            .find(|stored| stored.matches(request, scratch))
    }

    pub(crate) fn from_vec(mut stored: Vec<Arc<Stored>>) -> Option<Self> {
        match stored.len() {
            0 => None,
            1 => stored.pop().map(Self::One),
            _ => Some(Self::Many(stored.into())),
        }
    }

    /// With `new` among them: it takes the place of those it covers, and the oldest go beyond `most`.
    pub(crate) fn with(&self, new: Arc<Stored>, most: usize) -> Option<Self> {
        let mut all: Vec<_> = self
            .as_slice()
            .iter()
            .filter(|old| !covers(&new, old))
            .cloned()
            .collect();
        let at = all.partition_point(|old| old.facts.date > new.facts.date);
        all.insert(at, new);
        all.truncate(most.max(1));
        Self::from_vec(all)
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

    /// With `new` in the place of the one of identity `id`; `None` if that one is not here.
    pub(crate) fn replaced(&self, id: u64, new: &Arc<Stored>) -> Option<Self> {
        let mut all = self.as_slice().to_vec();
        let place = all.iter_mut().find(|stored| stored.id() == id)?;
        *place = new.clone();
        Self::from_vec(all)
    }

    pub(crate) fn weight(&self) -> u64 {
        let list = match self {
            Self::One(_) => 0,
            Self::Many(many) => 16 + 8 * many.len() as u64,
        };
        list + self
            .as_slice()
            .iter()
            .map(|stored| stored.weight())
            .sum::<u64>()
    }

    /// Whether any body is still on its way: such entries stay, since their readers and writer know them.
    pub(crate) fn is_filling(&self) -> bool {
        self.as_slice()
            .iter()
            .any(|stored| matches!(stored.body, Body::Filling(_)))
    }
}

/// Whether `new` answers every request that `old` answers, so that `old` could never be chosen again. A stored whole
/// body is not covered by a part of an older date.
fn covers(new: &Stored, old: &Stored) -> bool {
    match (&new.variant, &old.variant) {
        (None, _) => true,
        (new_variant, old_variant) => new_variant == old_variant,
    }
}
