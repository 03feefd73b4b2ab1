//! What a fetch holds until its body has ended.

use crate::{
    Error, Kind, Servers,
    gate::Pass,
    pace::{self, Pace},
    peer::Serving,
    pool::{self, Key, Single},
};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// Something that does not end by itself breaks off at some time. If it has lasted this long, that says nothing of its
/// server.
const LASTING: Duration = Duration::from_secs(10);

/// The turn, the count at the serving server, and the limits of a fetch whose body has not ended. Given back on drop.
#[derive(Debug)]
pub(crate) struct FetchGuard {
    pub(crate) origin: Arc<Servers>,
    pub(crate) serving: Serving,
    /// When the server was asked.
    pub(crate) began: Instant,
    /// Held for its drop. Event streams and upgrades have none: a fetch that does not end would keep turns from all
    /// that do.
    pub(crate) _pass: Option<Pass>,
    /// When the head came of an event stream or an upgrade.
    pub(crate) endless_since: Option<Instant>,
    pub(crate) pace: Pace,
    /// Whether the body's effect on the server's health has been recorded.
    pub(crate) is_judged: bool,
}

impl FetchGuard {
    /// Records that the body came to its end. If its connection is fit, `link` has it, and it may serve this worker's
    /// next fetch.
    pub(crate) fn end(mut self, link: Option<Single>) {
        self.is_judged = true;
        let peer = self.serving.peer();
        self.origin.praise(peer, self.began);
        if let Some(link) = link {
            let key = Key {
                origin: &self.origin.identity,
                peer: peer.number,
            };
            pool::put(key, link, Instant::now());
        }
    }

    /// Records that the body broke. The server is blamed if it is at fault. What does not end by itself counts
    /// as left by its reader if it has lasted, or if we end it because it is silent.
    pub(crate) fn blame(mut self, error: Error) -> Error {
        let peer = self.serving.peer();
        let error = error.at(&peer.label).having_sent_if(true);
        if pace::is_the_servers(error.kind()) && !self.counts_as_left(error.kind()) {
            self.is_judged = true;
            self.origin.blame(peer, &error);
        }
        error
    }

    fn counts_as_left(&self, broken: Kind) -> bool {
        let is_silent = broken == Kind::BetweenBytesTimeout;
        self.endless_since
            .is_some_and(|since| is_silent || since.elapsed() >= LASTING)
    }
}

impl Drop for FetchGuard {
    fn drop(&mut self) {
        if !self.is_judged {
            self.origin.excuse(self.serving.peer(), self.began);
        }
    }
}
