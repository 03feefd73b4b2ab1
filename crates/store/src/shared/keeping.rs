//! Stored responses on their way to the server.

mod before;
mod chunks;
mod confirmed;
mod cut;
mod displacing;
mod rival;
mod turns;
mod unnamed;

use super::{
    Inner,
    guard::Failed,
    lease::Lease,
    record::{self, BodyLocation, ChunkSet, Entry},
};
use crate::{
    Stored,
    clock::now,
    codec, disk,
    purge::{Position, Standing},
};
use bytes::Bytes;
use http::header;
use rival::{Rival, There, is_newer};
use rules::{freshness::Facts, time::Time};
use std::{sync::Arc, time::Duration};
use turns::WritePermit;
use unnamed::unnamed;

pub(super) use turns::Writing;

/// A response that is worth less than this is not written.
const LEAST: Duration = Duration::from_secs(1);

/// How long a response that can be validated is kept beyond the time in which it may be used without validation.
const VALIDATABLE: Duration = Duration::from_hours(1);

/// Chunks outlive the record that names them by this.
const LONGER: Duration = Duration::from_secs(10);

/// The most chunks that the server is asked at once to keep for another time.
const EXPIRED_AT_ONCE: usize = 64;

/// Why a response is not kept.
enum Passed {
    /// It is not worth it, or must not be.
    Over,
    /// The server failed.
    Failed,
    /// The server did not answer when it was sent the record, which may be there all the same.
    Unanswered,
}

impl Passed {
    /// Why the record is not written: the server has refused it, or may have taken it.
    fn of_record(failed: Failed) -> Self {
        match failed.0 {
            Some(kind) if kind.opens_breaker() => Self::Unanswered,
            _ => Self::Failed,
        }
    }
}

/// A response to keep.
struct Keep {
    name: String,
    key: Box<[u8]>,
    stored: Arc<Stored>,
    position: Position,
    worth: Duration,
    /// From [`record::variant`].
    variant: u64,
}

impl Inner {
    /// Keeps `stored` in the background, then gives the lease back.
    pub(super) fn keep(self: &Arc<Self>, key: &[u8], stored: &Arc<Stored>, lease: Option<Lease>) {
        let Some(keep) = self.worth_keeping(key, stored) else {
            self.guard.counts.passed_over.up();
            self.displace(key, stored);
            return;
        };
        let (Ok(runtime), Some(permit)) = (
            tokio::runtime::Handle::try_current(),
            WritePermit::take(self),
        ) else {
            self.guard.counts.passed_over.up();
            return;
        };
        runtime.spawn(async move {
            let (tier, mut unnamed) = (permit.tier(), Vec::new());
            let counts = &tier.guard.counts;
            match tier.write(keep, &mut unnamed).await {
                Ok(()) => counts.stored.up(),
                Err(Passed::Over) => counts.passed_over.up(),
                Err(Passed::Failed | Passed::Unanswered) => {}
            }
            drop(lease);
            tier.give_up(&unnamed).await;
        });
    }

    pub(super) fn may_keep(&self, stored: &Stored) -> bool {
        let most = self.config.largest_body;
        stored.body.length().is_none_or(|length| length <= most)
            && worth(stored, now(), self.config.max_ttl).is_some()
    }

    fn worth_keeping(&self, key: &[u8], stored: &Arc<Stored>) -> Option<Keep> {
        let short = stored.body.length()? <= self.config.largest_body;
        let position = self.guard.remote().position(self.log(), stored)?;
        let worth = worth(stored, now(), self.config.max_ttl)?;
        let wanted = short && self.log().standing(key, stored) != Standing::Gone;
        wanted.then(|| Keep {
            name: self.name(key),
            key: key.into(),
            stored: Arc::clone(stored),
            position,
            worth,
            variant: record::variant(stored),
        })
    }

    /// Writes `keep`, or says why not.
    ///
    /// `unnamed` gets the names of chunks that nothing uses: those of what it replaces, or its own if it is not
    /// written.
    async fn write(&self, keep: Keep, unnamed: &mut Vec<String>) -> Result<(), Passed> {
        let head = codec::encode(&keep.key, &keep.stored).ok_or(Passed::Over)?;
        let head = Bytes::from(head);
        if let Some(replaced) = self.write_head(&keep, &head, unnamed).await? {
            unnamed.extend(replaced);
            return Ok(());
        }
        // From here on they are its own.
        let own = unnamed.len();
        let place = self.place(&keep, head.len(), unnamed).await?;
        let set = place.chunks();
        let written = self.write_record(&keep, head, place).await;
        if matches!(written, Ok(_) | Err(Passed::Unanswered)) {
            unnamed.truncate(own);
        }
        unnamed.extend(written?);
        if let Some(set) = set {
            keep.stored.set_chunks(set.id);
        }
        Ok(())
    }

    /// Writes the record that names what was written. Returns the names of chunks that nothing names any more.
    async fn write_record(
        &self,
        keep: &Keep,
        head: Bytes,
        place: BodyLocation,
    ) -> Result<Vec<String>, Passed> {
        // Writes under one name are made in turn, so that each sees what was written before.
        let _turn = self.writing.of(&keep.name).lock().await;
        let before = self.before(&keep.key, &keep.name).await?;
        let now = now();
        let entries = self.entries(keep, head, place, before.there, now)?;
        self.put(keep, &entries, before.sets, now).await
    }

    /// The entries of the record with `keep`, whose body is at `place`.
    fn entries(
        &self,
        keep: &Keep,
        head: Bytes,
        place: BodyLocation,
        there: Vec<There>,
        now: Time,
    ) -> Result<Vec<Entry>, Passed> {
        let rival = Rival::of(&keep.stored);
        let is_late = |old: &There| rival.is(old) && is_newer(old, &keep.stored, now);
        let is_gone = self.log().standing(&keep.key, &keep.stored) == Standing::Gone;
        if is_gone || there.iter().any(is_late) {
            return Err(Passed::Over);
        }
        let answers_all = |variant| variant == 0;
        let old = there.into_iter().map(|old| old.entry);
        let old = if rival.is_failure {
            old.collect()
        } else if answers_all(keep.variant) {
            // It answers all requests that they answer.
            Vec::new()
        } else {
            // What was stored before the application named `Vary` would answer for it on every node.
            old.filter(|old| !answers_all(old.variant)).collect()
        };
        let entry = Entry {
            variant: keep.variant,
            position: keep.position,
            until: now.plus(keep.worth),
            head,
            place,
        };
        Ok(record::joined(entry, old, now))
    }

    /// Writes the record of these entries. Returns the names of chunks that nothing names any more.
    async fn put(
        &self,
        keep: &Keep,
        entries: &[Entry],
        sets: Vec<ChunkSet>,
        now: Time,
    ) -> Result<Vec<String>, Passed> {
        let until = entries.iter().map(|entry| entry.until).max();
        let expiry = until.map_or(keep.worth, |until| until.since(now));
        let value = record::write(entries).ok_or(Passed::Over)?;
        let set = self.guard.set(&keep.name, &value, expiry).await;
        set.map_err(Passed::of_record)?;
        let most = self.config.largest_body;
        Ok(unnamed(&keep.name, sets, entries, most))
    }
}

impl From<Failed> for Passed {
    fn from(_: Failed) -> Self {
        Self::Failed
    }
}

impl From<disk::Failed> for Passed {
    fn from(_: disk::Failed) -> Self {
        Self::Over
    }
}

/// How long `stored` is worth keeping from `now` on: while it is fresh, may be used stale, or can be validated. `None`
/// if it is not.
fn worth(stored: &Stored, now: Time, most: Duration) -> Option<Duration> {
    let facts: &Facts = &stored.facts;
    let stale = facts.longest_window();
    let used = facts.remaining(now).map_or_else(
        || stale.saturating_sub(facts.staleness(now)),
        |fresh| fresh.saturating_add(stale),
    );
    let validators = [header::ETAG, header::LAST_MODIFIED];
    let validatable = validators
        .iter()
        .any(|name| stored.fields.get_bytes(name).is_some());
    let more = if validatable {
        VALIDATABLE
    } else {
        Duration::ZERO
    };
    let worth = used.saturating_add(more).min(most);
    (worth >= LEAST).then_some(worth)
}
