//! Publishes again what is purged at a running Larder.
//!
//! This is exact even if either side crashes: the pages that a purge covers are pending on disk before the purge counts
//! as read, and stay pending until they are published. If purges may have been missed, everything is pending.

use super::{
    Ended, FolderError, Publisher, Start,
    covered::{Covered, Named, covered},
    name::OWN,
};
use crate::{
    admin::purges::Purges,
    client::{self, Client},
    crawl::stop::Stop,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, fs, net::SocketAddr, rc::Rc, time::Duration};
use store::purge::Purge;
use tokio::time::sleep;

/// How long one request waits for purges.
const WAIT: Duration = Duration::from_secs(30);

/// The first pause before another attempt; it doubles each time.
const FIRST: Duration = Duration::from_millis(500);

/// The longest pause before another attempt.
const LAST: Duration = Duration::from_secs(30);

/// The progress that is remembered, in [`OWN`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
struct Progress {
    /// The position up to which purges were read; `None` before the first read.
    cursor: Option<String>,
    /// Pages to publish again.
    pending: BTreeSet<String>,
    /// Whether everything is to be published again.
    everything: bool,
}

impl Progress {
    fn is_due(&self) -> bool {
        self.everything || !self.pending.is_empty()
    }
}

/// Publishes once, and then again whatever is purged at the Larder whose admin API is at `admin`, until it is told to
/// stop.
///
/// # Errors
/// Nothing can be written any more.
pub async fn watch(
    publisher: &Rc<Publisher>,
    admin: SocketAddr,
    start: &Start,
    stop: &mut Stop,
) -> Result<(), FolderError> {
    let mut watch = Watch {
        publisher,
        admin,
        start,
        progress: Progress::default(),
        is_first: true,
        delay: FIRST,
        lost: false,
    };
    watch.progress = watch.read();
    loop {
        let asked = tokio::select! {
            asked = watch.ask() => asked,
            () = stop.told() => return Ok(()),
        };
        watch.take(asked)?;
        if watch.progress.cursor.is_some()
            && (watch.progress.is_due() || watch.is_first)
            && watch.publish(stop).await?
        {
            return Ok(());
        }
    }
}

struct Watch<'a> {
    publisher: &'a Rc<Publisher>,
    admin: SocketAddr,
    start: &'a Start,
    progress: Progress,
    is_first: bool,
    delay: Duration,
    /// Whether it was reported that Larder cannot be reached.
    lost: bool,
}

impl Watch<'_> {
    fn file() -> String {
        format!("{OWN}/watch.json")
    }

    fn read(&self) -> Progress {
        let text = fs::read(self.publisher.folder.path(&Self::file())).unwrap_or_default();
        // If it is absent or damaged, everything is published again.
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn save(&self) -> Result<(), FolderError> {
        // Strings can always be written as JSON.
        let text = serde_json::to_vec(&self.progress).unwrap_or_default();
        self.publisher.folder.replace(&Self::file(), &text)
    }

    /// Asks for purges, and waits for them unless there is something to do.
    async fn ask(&mut self) -> Result<Purges, String> {
        if self.lost || (self.progress.is_due() && !self.is_first) {
            sleep(self.delay).await;
            self.delay = (self.delay * 2).min(LAST);
        }
        let is_due = self.is_first || self.progress.is_due();
        let wait = if is_due { Duration::ZERO } else { WAIT };
        let target = match &self.progress.cursor {
            Some(cursor) => format!("/purges?after={cursor}&wait={}s", wait.as_secs()),
            None => "/purges".to_owned(),
        };
        let admin = self.admin;
        let failed = |error| unanswered(admin, &error);
        let mut client = Client::connect(admin).await.map_err(failed)?;
        let answer = client
            .get_within(&target, wait + client::ANSWER)
            .await
            .map_err(failed)?;
        let what = answer.status();
        serde_json::from_slice(answer.body())
            .map_err(|_| format!("what answers on {admin} does not tell of purges (status {what})"))
    }

    /// Notes what to publish again.
    fn take(&mut self, asked: Result<Purges, String>) -> Result<(), FolderError> {
        let show = &self.publisher.show;
        let purges = match asked {
            Ok(purges) => purges,
            Err(why) => {
                if !self.lost {
                    show.problem(&format!("{why}; trying again"));
                }
                self.lost = true;
                return Ok(());
            }
        };
        if self.lost {
            show.note("Larder answers again");
        }
        self.lost = false;
        let before = self.progress.clone();
        if self.progress.cursor.is_none() {
            self.progress.everything = true;
        } else if purges.missed {
            show.note("purges may have been missed: everything is published again");
            self.progress.everything = true;
        }
        for purge in &purges.purges {
            self.cover(purge);
        }
        self.progress.cursor = Some(purges.cursor);
        if self.progress != before {
            self.save()?;
        }
        Ok(())
    }

    fn cover(&mut self, purge: &serde_json::Value) {
        let book = self.publisher.book.borrow();
        let named = Named {
            site: &self.publisher.site,
            is_sure: self.publisher.is_named,
        };
        let Ok(purge) = Purge::from_text(purge.to_string().as_bytes()) else {
            self.publisher
                .show
                .note("a purge is not understood: everything is published again");
            self.progress.everything = true;
            return;
        };
        match covered(&purge, named, book.pages.iter()) {
            Covered::Everything => self.progress.everything = true,
            Covered::Pages(pages) => self.progress.pending.extend(pages),
        }
    }

    /// Publishes what is due. Returns whether it was told to stop.
    async fn publish(&mut self, stop: &mut Stop) -> Result<bool, FolderError> {
        let everything = self.progress.everything;
        let mut start = if everything || self.is_first {
            self.start.clone()
        } else {
            Start::default()
        };
        start.fresh = self.progress.is_due();
        start.only = !everything && !self.is_first;
        if everything {
            start
                .purged
                .extend(self.publisher.book.borrow().pages.keys().cloned());
        } else {
            start.purged.extend(self.progress.pending.iter().cloned());
        }
        let Ended {
            tally,
            stopped,
            failed,
            sitemaps_failed,
            ..
        } = self.publisher.run(&start, stop).await?;
        if stopped {
            return Ok(true);
        }
        self.publisher.show.note(&format!("published: {tally}"));
        self.is_first = false;
        let left = Progress {
            cursor: self.progress.cursor.clone(),
            pending: failed.into_iter().collect(),
            // A sitemap may name pages that nothing else leads to.
            everything: everything && sitemaps_failed > 0,
        };
        if !left.is_due() {
            self.delay = FIRST;
        }
        if left != self.progress {
            self.progress = left;
            self.save()?;
        }
        Ok(false)
    }
}

/// Says that no answer has come from `admin`.
fn unanswered(admin: SocketAddr, error: &client::Error) -> String {
    match error {
        // Somebody was there.
        client::Error::Ended => format!("{admin}: {error}"),
        error => format!("no running Larder answers on {admin}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_ends_does_not_say_that_no_larder_runs() {
        let admin = ([127, 0, 0, 1], 9180).into();
        assert_eq!(
            unanswered(admin, &client::Error::Ended),
            "127.0.0.1:9180: the connection ended before there was an answer"
        );
        assert_eq!(
            unanswered(admin, &client::Error::Time),
            "no running Larder answers on 127.0.0.1:9180: no answer in time"
        );
    }
}
