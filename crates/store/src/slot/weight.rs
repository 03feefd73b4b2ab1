//! What the variants of a key take of memory.

use super::Variants;
use crate::Stored;
use std::sync::Arc;

impl Variants {
    /// Bytes of memory they take; what several of them refer to counts once.
    pub(crate) fn weight(&self) -> u64 {
        match self {
            Self::One(only) => only.weight(),
            Self::Many(many) => {
                let list = 16 + 8 * many.len() as u64;
                let all: u64 = many.iter().map(|stored| stored.weight()).sum();
                list + all - lent(many)
            }
        }
    }
}

/// What they have in common beyond once: a 304 that answers the request of another variant makes a body that one's too, with the forms that
/// it has. Small ones are copied then (`stored::place`). Weighed under a lock, so that it takes no longer than to sort their places.
fn lent(all: &[Arc<Stored>]) -> u64 {
    let bodies = all.iter().flat_map(|stored| stored.bodies());
    let mut places: Vec<_> = bodies
        .filter_map(|body| Some((body.place()?, body.weight())))
        .collect();
    places.sort_unstable();
    let next = places.iter().skip(1);
    let twice = places
        .iter()
        .zip(next)
        .filter(|(one, next)| one.0 == next.0);
    twice.map(|(_, next)| next.1).sum()
}
