//! Which fetches have withdrawn what was stored: an answer to an earlier request must not bring it back.

use crate::Stored;

/// How many withdrawals a stripe remembers. They matter only to fetches that were under way at that moment.
const REMEMBERED: usize = 4;

/// The last withdrawals among the keys of one stripe. Where one is forgotten too early, an answer to an earlier request
/// is stored for its lifetime, as if it had come before the withdrawal.
#[derive(Debug, Default)]
pub(super) struct Withdrawals([Withdrawal; REMEMBERED]);

/// That a fetch has withdrawn a variant. The default is none.
#[derive(Clone, Copy, Debug, Default)]
struct Withdrawal {
    /// A hash of key and variant.
    place: u64,
    /// The [number](crate::Ticket::number) of the fetch, which is never 0.
    fetch: u64,
}

impl Withdrawals {
    /// Remembers that the fetch numbered `fetch` has withdrawn `old`, whose key has the hash `key`.
    pub(super) fn add(&mut self, key: u64, old: &Stored, fetch: u64) {
        let new = Withdrawal {
            place: place(key, old),
            fetch,
        };
        let Self(all) = self;
        let is_known = all.iter().any(|known| known.place == new.place);
        let mut all = all.iter_mut();
        let oldest = if is_known {
            all.find(|known| known.place == new.place)
        } else {
            all.min_by_key(|known| known.fetch)
        };
        if let Some(oldest) = oldest.filter(|oldest| oldest.fetch < fetch) {
            *oldest = new;
        }
    }

    /// Whether a fetch that began after the one numbered `fetch` has withdrawn what `new` would bring back.
    pub(super) fn overtake(&self, key: u64, new: &Stored, fetch: u64) -> bool {
        let Self(all) = self;
        all.iter()
            .any(|known| known.fetch > fetch && known.place == place(key, new))
    }
}

fn place(key: u64, stored: &Stored) -> u64 {
    let variant = stored.variant.as_ref();
    key ^ variant.map_or(0, |variant| variant.digest())
}
