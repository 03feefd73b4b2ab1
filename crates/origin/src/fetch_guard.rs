//! What a fetch holds until its body has ended.

use crate::{
    Error, Servers,
    gate::Pass,
    pace::{self, Pace},
    peer::Serving,
    pool::{self, Key, Single},
};
use std::sync::Arc;
use tokio::time::Instant;

/// The turn, the server that is counted as serving, and the limits of a fetch whose body has not ended; given back on drop.
#[derive(Debug)]
pub(crate) struct FetchGuard {
    pub(crate) origin: Arc<Servers>,
    pub(crate) serving: Serving,
    /// Held for its drop. Event streams and upgrades have none: what does not end would keep turns from all that does.
    pub(crate) _pass: Option<Pass>,
    pub(crate) pace: Pace,
}

impl FetchGuard {
    /// The body came to its end: the connection may serve this worker's next fetch.
    pub(crate) fn keep(self, link: Single) {
        let peer = self.serving.peer();
        let key = Key {
            origin: &self.origin.identity,
            peer: peer.number,
        };
        pool::put(key, link, Instant::now());
    }

    /// The body broke: the server is blamed where it is at fault.
    pub(crate) fn blame(self, error: Error) -> Error {
        let peer = self.serving.peer();
        let error = error.at(&peer.label);
        if pace::is_the_servers(error.kind()) {
            self.origin.blame(peer, &error);
        }
        error
    }
}
