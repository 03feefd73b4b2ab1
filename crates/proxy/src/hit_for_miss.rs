//! Hit-for-miss: keys whose last answer was of no use to others, so that requests for them do not queue behind each
//! other. The reason is remembered as long as the table has room for it. The answer to a request with cookies or
//! credentials may be that user's own: it says nothing about requests without them.

#[cfg(test)]
mod tests;
mod unshared;

use crate::recent::RecentKeys;
use rules::time::Time;

pub use unshared::Unshared;

/// The number of seconds for which a key counts as not reusable.
const SECONDS: u64 = 120;

/// What a request shows of its client that may be why its answer was of no use to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// Neither cookies nor `Authorization`.
    None,
    /// Cookies that the origin gets.
    Cookies,
    /// `Authorization`, perhaps beside cookies.
    Authorization,
}

impl Credentials {
    /// Returns the place of such requests for `key`, which is not itself a key; `None` for requests that show nothing.
    fn place(self, key: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::None => None,
            Self::Cookies => Some([key, b"\ncookies"].concat()),
            Self::Authorization => Some([key, b"\nauthorization"].concat()),
        }
    }
}

/// The table of such keys. Shared by all workers; half a megabyte.
#[derive(Debug)]
pub struct HitForMiss(RecentKeys);

impl Default for HitForMiss {
    fn default() -> Self {
        Self(RecentKeys::lasting(SECONDS, 1 << 16))
    }
}

impl HitForMiss {
    /// Records that the answer for `key` to such a request was of no use to others. If that says nothing about other
    /// requests, the key does not count as known.
    pub fn remember(&self, key: &[u8], credentials: Credentials, why: Unshared, now: Time) {
        let place = Unshared::ALL.iter().position(|one| *one == why);
        let note = place.map_or(0, |place| place as u8 + 1);
        let keeps_apart = why.keeps_apart().is_some();
        let own = credentials.place(key).filter(|_| why.may_be_the_clients());
        if keeps_apart && own.is_none() {
            self.0.remember(key, note, now);
            return;
        }
        if let Some(own) = own.filter(|_| keeps_apart) {
            self.0.remember(&own, note, now);
        }
        if !self.0.knows(key, now) {
            self.0.note(key, note);
        }
    }

    /// Records that the answer for `key` to such a request is of use to others.
    pub fn forget(&self, key: &[u8], credentials: Credentials) {
        self.0.forget(key);
        if let Some(own) = credentials.place(key) {
            self.0.forget(&own);
        }
    }

    /// Whether the last answer for `key` was recently of no use to others, as far as such a request is concerned.
    pub fn knows(&self, key: &[u8], credentials: Credentials, now: Time) -> bool {
        let is_own = |place: Vec<u8>| self.0.knows(&place, now);
        self.0.knows(key, now) || credentials.place(key).is_some_and(is_own)
    }

    /// Returns why the last answer for `key` was of no use to others, however long ago that was.
    pub fn why(&self, key: &[u8]) -> Option<Unshared> {
        let place = usize::from(self.0.noted(key)?).checked_sub(1)?;
        Unshared::ALL.get(place).copied()
    }
}
