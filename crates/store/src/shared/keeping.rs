//! Stored responses on their way to the server.

use super::{
    Inner,
    guard::Failed,
    lease::{Lease, unique},
    name,
    piece::{self, Piece},
    record::{self, Entry, Place},
    remote::Read,
};
use crate::{
    Body, Stored, codec,
    purge::{Position, Standing},
};
use bytes::Bytes;
use http::header;
use rules::{freshness::Facts, range::Span, time::Time};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// What is worth less than this is not worth the way.
const LEAST: Duration = Duration::from_secs(1);

/// How long what can be validated is kept beyond what it may be used for without.
const VALIDATABLE: Duration = Duration::from_hours(1);

/// Pieces outlive the record that names them by this.
const LONGER: Duration = Duration::from_secs(10);

/// At most this many responses on their way at once; more are not kept, rather than to pile up before a slow server.
const MOST_AT_ONCE: usize = 256;

/// Why a response is not kept.
enum Passed {
    /// It is not worth it, or must not be.
    Over,
    /// The server failed.
    Failed,
}

/// A response to keep.
struct Keep {
    name: String,
    key: Box<[u8]>,
    stored: Arc<Stored>,
    position: Position,
    worth: Duration,
}

impl Inner {
    /// Keeps `stored`, in the background; then the lease is given back.
    pub(super) fn keep(self: &Arc<Self>, key: &[u8], stored: &Arc<Stored>, lease: Option<Lease>) {
        let Some(keep) = self.worth_keeping(key, stored) else {
            self.guard.counts.passed_over.up();
            return;
        };
        let (Ok(runtime), Some(turn)) = (tokio::runtime::Handle::try_current(), Turn::take(self))
        else {
            self.guard.counts.passed_over.up();
            return;
        };
        runtime.spawn(async move {
            let counts = &turn.0.guard.counts;
            match turn.0.write(keep).await {
                Ok(()) => counts.stored.up(),
                Err(Passed::Over) => counts.passed_over.up(),
                Err(Passed::Failed) => {}
            }
            drop(lease);
        });
    }

    fn worth_keeping(&self, key: &[u8], stored: &Arc<Stored>) -> Option<Keep> {
        // What lies on disk is larger than it is worth reading again.
        let short = stored.body.length()? <= self.config.largest_body && !stored.body.is_on_disk();
        let position = self.guard.remote().position(&self.log, stored.checked())?;
        let worth = worth(stored, now(), self.config.max_ttl)?;
        let wanted = short && self.log.standing(key, stored) != Standing::Gone;
        wanted.then(|| Keep {
            name: self.name(key),
            key: key.into(),
            stored: Arc::clone(stored),
            position,
            worth,
        })
    }

    async fn write(&self, keep: Keep) -> Result<(), Passed> {
        let head = codec::encode(&keep.key, &keep.stored).ok_or(Passed::Over)?;
        let variant = record::variant(&keep.stored);
        let place = self.place(&keep, head.len(), variant != 0).await?;
        let now = now();
        let entry = Entry {
            variant,
            position: keep.position,
            until: now.plus(keep.worth),
            head: head.into(),
            place,
        };
        let old = if variant == 0 {
            // It answers whatever they answer.
            Vec::new()
        } else {
            self.others(&keep).await?
        };
        let entries = record::joined(entry, old, now);
        let until = entries.iter().map(|entry| entry.until).max();
        let expiry = until.map_or(keep.worth, |until| until.since(now));
        let value = record::write(&entries).ok_or(Passed::Over)?;
        Ok(self.guard.set(&keep.name, &value, expiry).await?)
    }

    /// The variants that are there; those of another key that has the same name go.
    async fn others(&self, keep: &Keep) -> Result<Vec<Entry>, Passed> {
        let Some(value) = self.guard.get(&keep.name, Read::Latest).await? else {
            return Ok(Vec::new());
        };
        let mut entries = record::read(value).unwrap_or_default();
        entries.retain(|entry| {
            codec::Head::decode(&entry.head).is_ok_and(|head| head.key == keep.key)
        });
        Ok(entries)
    }

    /// Puts the body beside its head, or writes it in pieces first: whoever finds the record finds them.
    async fn place(&self, keep: &Keep, head: usize, shares: bool) -> Result<Place, Passed> {
        let compress = piece::is_text(&keep.stored.fields);
        let mut pieces = Cut::of(&keep.stored.body);
        let first = pieces.next().unwrap_or_default();
        let first = Piece::new(first, compress).ok_or(Passed::Over)?;
        let most = if shares {
            record::BESIDE_OTHERS
        } else {
            record::LONGEST / 2
        };
        let second = pieces.next();
        if second.is_none() && first.size() <= most && head <= record::LONGEST / 4 {
            return Ok(Place::Beside(first));
        }
        let set = unique(&self.config.node);
        let rest = second.into_iter().chain(pieces);
        let rest = rest.map(|bytes| Piece::new(bytes, compress).ok_or(Passed::Over));
        let mut count = 0;
        for piece in std::iter::once(Ok(first)).chain(rest) {
            let name = name::piece(&keep.name, set, count);
            let value = piece?.seal(set, count);
            self.guard.set(&name, &value, keep.worth + LONGER).await?;
            count += 1;
        }
        Ok(Place::Apart { set, pieces: count })
    }
}

/// A place among those that are on their way.
struct Turn(Arc<Inner>);

impl Turn {
    fn take(shared: &Arc<Inner>) -> Option<Self> {
        let turn = Self(Arc::clone(shared));
        (shared.keeping.fetch_add(1, Relaxed) < MOST_AT_ONCE).then_some(turn)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.keeping.fetch_sub(1, Relaxed);
    }
}

impl From<Failed> for Passed {
    fn from(Failed: Failed) -> Self {
        Self::Failed
    }
}

/// A body cut into pieces of [`piece::LONGEST`] bytes; of parts, what is held, one after the other.
struct Cut<'a> {
    body: &'a Body,
    /// What is still to come, the next last.
    spans: Vec<Span>,
}

impl<'a> Cut<'a> {
    fn of(body: &'a Body) -> Self {
        let mut spans: Vec<Span> = match body {
            Body::Parts(parts) => parts.spans().iter().collect(),
            whole => {
                let last = whole.length().and_then(|length| length.checked_sub(1));
                last.map(|last| Span { first: 0, last })
                    .into_iter()
                    .collect()
            }
        };
        spans.reverse();
        Self { body, spans }
    }
}

impl Iterator for Cut<'_> {
    type Item = Bytes;

    /// Pieces of one buffer are slices of it.
    fn next(&mut self) -> Option<Bytes> {
        let span = self.spans.pop()?;
        let last = span
            .last
            .min(span.first.saturating_add(piece::LONGEST as u64 - 1));
        if last < span.last {
            self.spans.push(Span {
                first: last + 1,
                last: span.last,
            });
        }
        let slices = self.body.slice(Span {
            first: span.first,
            last,
        })?;
        let slices: Option<Vec<_>> = slices.into_iter().map(crate::Piece::in_memory).collect();
        Some(match <[Bytes; 1]>::try_from(slices?) {
            Ok([only]) => only,
            Err(several) => several.concat().into(),
        })
    }
}

/// How long `stored` is worth keeping from `now` on: while it is fresh, may be used stale, or can be validated. `None`: not at
/// all.
fn worth(stored: &Stored, now: Time, most: Duration) -> Option<Duration> {
    let facts: &Facts = &stored.facts;
    let windows = [facts.stale_while_revalidate, facts.stale_if_error];
    let stale = windows.into_iter().flatten().max().unwrap_or_default();
    let stale = Duration::from_secs(u64::from(stale));
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

/// The server's own expiry begins when it is told, so that clocks need not agree.
fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Time::from_millis(since.map_or(0, |since| since.as_millis() as u64))
}
