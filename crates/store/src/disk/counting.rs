//! Counts how many stored responses a purge touches.

use super::{Disk, queue::Task};
use crate::purge::{Address, Label, Purge, What};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{sync::oneshot, time::timeout};

/// The longest that a purge by URL waits for a look at everything. Most of what it touched is known without that.
const BRIEFLY: Duration = Duration::from_millis(100);

/// The longest that any other purge waits, because the device may be slow.
const WITHIN: Duration = Duration::from_secs(1);

/// A question to the keeper: how many of the stored responses `purges` cover.
#[derive(Debug)]
pub(super) struct Question {
    purges: Vec<Purge>,
    /// The number found so far.
    found: Arc<AtomicU64>,
    /// Dropped when everything has been looked at.
    over: oneshot::Sender<()>,
}

impl Question {
    /// Whether nobody waits for the answer any longer.
    pub fn is_over(&self) -> bool {
        self.over.is_closed()
    }

    /// Counts one stored response if one of the purges covers it.
    pub fn look(&self, label: &Label<'_>) {
        let is_plain = is_plain(label.key);
        let covers = |purge: &Purge| match purge.what {
            // Tags and plain URLs are counted in other ways.
            What::Tags(_) => false,
            What::Url(_) if is_plain => false,
            _ => label.is_covered_by(purge),
        };
        if self.purges.iter().any(covers) {
            self.found.fetch_add(1, Relaxed);
        }
    }
}

/// Whether a key is a URL and nothing else.
pub(super) fn is_plain(key: &[u8]) -> bool {
    !key.contains(&b'\n')
}

impl Disk {
    /// How many stored responses `purges` touched here; they have taken effect already. Responses found by their tags
    /// ([`Carried`](crate::purge::Carried)) are not included. If it would take too long to find out, the result is a
    /// lower bound. The result may include what another purge covered a short while ago.
    pub(crate) async fn touched(&self, purges: &[Purge]) -> u64 {
        let known: u64 = purges.iter().map(|purge| self.of_urls(purge)).sum();
        let has_long_keys = self.shared.has_long_keys.load(Relaxed);
        let is_open = |purge: &&Purge| match purge.what {
            What::Tags(_) => false,
            What::Url(_) => has_long_keys,
            What::Prefix { .. } | What::Host(_) | What::Pattern(_) | What::Everything => true,
        };
        let open: Vec<Purge> = purges.iter().filter(is_open).cloned().collect();
        if open.is_empty() {
            return known;
        }
        let are_urls = open.iter().all(|purge| matches!(purge.what, What::Url(_)));
        let within = if are_urls { BRIEFLY } else { WITHIN };
        known + self.survey(open, within).await
    }

    /// How many stored responses there are under the URLs of `purge`. After a hard purge they are no longer found.
    fn of_urls(&self, purge: &Purge) -> u64 {
        let What::Url(urls) = &purge.what else {
            return 0;
        };
        let keys = urls.iter().flat_map(|url| Address::keys(url));
        keys.map(|key| {
            let count = self.shared.index.count(self.shared.hash(key.as_bytes()));
            if count > 0 && !purge.soft {
                self.forget(key.as_bytes());
            }
            count
        })
        .sum()
    }

    /// How many stored responses `purges` cover, as far as is known `within` this time.
    async fn survey(&self, purges: Vec<Purge>, within: Duration) -> u64 {
        let found = Arc::new(AtomicU64::new(0));
        let (over, told) = oneshot::channel();
        self.shared.device.queue.push(Task::Survey(Question {
            purges,
            found: found.clone(),
            over,
        }));
        // The survey is over, the tier is closed or time has run out. In each case the count so far is the answer.
        let _ = timeout(within, told).await;
        found.load(Relaxed)
    }
}
