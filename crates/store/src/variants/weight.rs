//! How much memory the variants of a key take.

use super::Variants;
use crate::Stored;
use std::sync::Arc;

impl Variants {
    /// The bytes of memory that they take. What several of them refer to counts once.
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

/// The weight that was counted more than once. A 304 that answers the request of another variant makes a body that
/// variant's too, with the forms that it has. (Small bodies are copied then, see `stored::place`.) This is computed
/// under a lock, so it takes no longer than sorting the bodies' places.
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
