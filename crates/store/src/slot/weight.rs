//! What the variants of a key take of memory.

use super::Variants;
use crate::{Body, Stored};
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

/// What those that come first have lent to others, which weigh it too: a 304 that answers the request of another variant makes a body that
/// one's too, with the forms that it has. Small ones are copied then (`stored::place`).
fn lent(all: &[Arc<Stored>]) -> u64 {
    let of_others = all.iter().enumerate().map(|(at, stored)| {
        let before = all.iter().take(at);
        let alike = before.filter(|before| before.content() == stored.content());
        let has_it = |body: &Body| alike.clone().any(|before| before.refers_to_all_of(body));
        let lent = stored.bodies().filter(|body| has_it(body));
        lent.map(Body::weight).sum::<u64>()
    });
    of_others.sum()
}

impl Stored {
    fn refers_to_all_of(&self, other: &Body) -> bool {
        self.bodies().any(|body| body.is_same(other))
    }
}
