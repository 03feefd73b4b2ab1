//! Fetches that came to nothing: while one is under way, and for the rest of the second in which it failed, the server
//! does not refresh what is stale (`proxy::walk`).

use super::{event::Event, urls::ByHash};
use rules::time::Time;

/// When the last such fetch failed, by key.
#[derive(Debug, Default)]
pub(super) struct Failed(ByHash<Time>);

impl Failed {
    /// Notes that the fetch for `event` comes to nothing.
    pub(super) fn note(&mut self, event: &Event) {
        self.0.insert(event.key, event.landed);
    }

    /// Whether `event` starts no refresh because of an earlier fetch.
    pub(super) fn pauses(&self, event: &Event) -> bool {
        let failed = self.0.get(&event.key);
        failed.is_some_and(|failed| is_pausing(*failed, event.now))
    }

    /// Drops what no longer counts at `now`, which never goes back.
    pub(super) fn settle(&mut self, now: Time) {
        self.0.retain(|_, failed| is_pausing(*failed, now));
    }
}

const fn is_pausing(failed: Time, now: Time) -> bool {
    now.as_secs() <= failed.as_secs()
}
