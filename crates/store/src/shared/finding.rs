//! What is found on the server, and waiting for what another node brings.

use super::{
    Found, Inner, Question,
    chunk::Chunk,
    guard::Failed,
    lease::Lease,
    name,
    record::{self, Entry, Place},
    remote::Read,
};
use crate::{
    Body, Parts, Stored,
    codec::{Head, Layout, Malformed},
    purge::Standing,
};
use bytes::Bytes;
use rules::{range::Span, time::Time};
use std::{cmp::Reverse, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep};

/// The first pause of a wait; each that follows is half as long again.
const FIRST_PAUSE: Duration = Duration::from_millis(2);

/// The longest pause of a wait.
const LONGEST_PAUSE: Duration = Duration::from_millis(25);

/// Chunks are asked for so many at once: 2 MiB.
const CHUNKS_AT_ONCE: u32 = 8;

/// Why an entry is not used.
enum Unused {
    /// It is of another key, or its chunks are gone, or purges may cover it.
    Nothing,
    /// It is not what was written.
    Malformed,
    /// The server failed.
    Failed,
}

/// A variant whose head was read.
struct Variant {
    /// Without its body.
    stored: Stored,
    layout: Layout,
    place: Place,
}

impl Inner {
    pub(super) async fn find(self: &Arc<Self>, question: &mut Question<'_>, lead: bool) -> Found {
        let counts = &self.guard.counts;
        let name = self.name(question.key);
        match self.look(question, &name).await {
            Ok(found) if !found.is_empty() => {
                counts.hits.up();
                return Found::Here(found);
            }
            Ok(_) => counts.misses.up(),
            Err(Failed) => return Found::Nothing,
        }
        if !lead {
            return Found::Nothing;
        }
        self.lead(question, &name, Time::default()).await
    }

    /// Takes the lease, or waits for what its holder brings: for responses that were received after `than`. That wait comes on top
    /// of the question's own time.
    pub(super) async fn lead(
        self: &Arc<Self>,
        question: &mut Question<'_>,
        name: &str,
        than: Time,
    ) -> Found {
        let counts = &self.guard.counts;
        let lease = match Lease::take(self, name, question.until).await {
            Ok(Some(lease)) => lease,
            Ok(None) => return self.wait(question, name, than).await,
            Err(Failed) => return Found::Nothing,
        };
        // Its last holder may have brought something since we looked.
        match self.look(question, name).await {
            Ok(found) if has_newer(&found, than) => {
                counts.hits.up();
                Found::Here(found)
            }
            Ok(_) => {
                counts.leases.up();
                Found::Lead(lease)
            }
            Err(Failed) => Found::Nothing,
        }
    }

    async fn look(&self, question: &Question<'_>, name: &str) -> Result<Vec<Arc<Stored>>, Failed> {
        match self.guard.get(name, Read::Any, question.until).await? {
            None => Ok(Vec::new()),
            Some(value) => self.usable(question, name, value, Read::Any).await,
        }
    }

    /// Another node fetches: waits for what it brings. Where its lease goes without anything being there, what it fetched is
    /// not to be shared, or it has died: everybody goes alone. Each look has the time of a question, and so has what is asked next.
    async fn wait(&self, question: &mut Question<'_>, name: &str, than: Time) -> Found {
        let counts = &self.guard.counts;
        counts.waits.up();
        let end = Instant::now() + self.config.lease;
        let names = [name.to_owned(), name::lease(name)];
        let mut pause = FIRST_PAUSE;
        let mut is_leased = true;
        while is_leased && Instant::now() < end {
            sleep(pause).await;
            pause = (pause * 3 / 2).min(LONGEST_PAUSE);
            question.until = self.guard.deadline();
            let asked = self
                .guard
                .get_many(&names, Read::Latest, question.until)
                .await;
            let Ok(mut values) = asked else {
                break;
            };
            is_leased = values.pop().flatten().is_some();
            let mut value = values.pop().flatten();
            if value.is_none() && !is_leased {
                // Where the two lie on different servers, it may have come in between.
                let asked = self.guard.get(name, Read::Latest, question.until);
                value = asked.await.unwrap_or_default();
            }
            let Some(value) = value else { continue };
            match self.usable(question, name, value, Read::Latest).await {
                Ok(found) if has_newer(&found, than) => {
                    counts.hits.up();
                    return Found::Here(found);
                }
                Ok(_) => {}
                Err(Failed) => break,
            }
        }
        counts.waits_in_vain.up();
        Found::Nothing
    }

    /// What of a record may be used: what lies in it, and of what lies apart the most recent one that answers the request.
    async fn usable(
        &self,
        question: &Question<'_>,
        name: &str,
        value: Bytes,
        read: Read,
    ) -> Result<Vec<Arc<Stored>>, Failed> {
        let counts = &self.guard.counts;
        let Ok(entries) = record::read(value) else {
            counts.malformed.up();
            return Ok(Vec::new());
        };
        let alone = entries.len() == 1;
        let mut variants = Vec::with_capacity(entries.len());
        for entry in entries {
            match self.variant(question.key, entry) {
                Ok(variant) => variants.push(variant),
                Err(Unused::Malformed) => counts.malformed.up(),
                Err(Unused::Nothing | Unused::Failed) => {}
            }
        }
        // The most recent one answers (RFC 9111 section 4).
        variants.sort_by_key(|variant| Reverse(variant.stored.facts.date));
        let (mut found, mut scratch) = (Vec::with_capacity(variants.len()), Vec::new());
        let mut is_answered = false;
        for variant in variants {
            let answers = !is_answered && variant.stored.matches(question.request, &mut scratch);
            let is_apart = matches!(variant.place, Place::Apart { .. });
            if is_apart && !answers {
                continue;
            }
            match self.whole(question, name, variant, alone, read).await {
                Ok(stored) => {
                    is_answered |= answers;
                    found.push(Arc::new(stored));
                }
                Err(Unused::Nothing) => {}
                Err(Unused::Malformed) => counts.malformed.up(),
                Err(Unused::Failed) => return Err(Failed),
            }
        }
        Ok(found)
    }

    /// Reads the head of a variant that may be used.
    fn variant(&self, key: &[u8], entry: Entry) -> Result<Variant, Unused> {
        let remote = self.guard.remote();
        let checked = remote.sequence(&self.log, entry.position);
        let checked = checked.ok_or(Unused::Nothing)?;
        let head = Head::decode(&entry.head)?;
        if *head.key != *key || head.layout.stored() > self.config.largest_body {
            return Err(Unused::Nothing);
        }
        let layout = head.layout.clone();
        let nothing = Body::Whole(Bytes::new());
        let stored = head.stored(nothing, Some(checked), self.log.tags());
        match self.log.standing(key, &stored) {
            Standing::Gone => Err(Unused::Nothing),
            _ => Ok(Variant {
                stored,
                layout,
                place: entry.place,
            }),
        }
    }

    /// The variant with its body.
    async fn whole(
        &self,
        question: &Question<'_>,
        name: &str,
        variant: Variant,
        alone: bool,
        read: Read,
    ) -> Result<Stored, Unused> {
        let Variant {
            mut stored,
            layout,
            place,
        } = variant;
        let chunks = match place {
            // A slice of the record would keep all of it in memory for the sake of one of several bodies.
            Place::Beside(chunk) if alone => vec![chunk.open()?],
            Place::Beside(chunk) => vec![Bytes::copy_from_slice(&chunk.open()?)],
            Place::Apart { set, chunks } => {
                let all = (set, chunks, layout.stored());
                self.chunks(question, name, all, read).await?
            }
        };
        stored.body = body(chunks, &layout)?;
        Ok(stored)
    }

    /// All chunks of a body: `count` of `set`, `length` bytes together.
    async fn chunks(
        &self,
        question: &Question<'_>,
        name: &str,
        (set, count, length): (u64, u32, u64),
        read: Read,
    ) -> Result<Vec<Bytes>, Unused> {
        // Each holds a byte at least.
        if u64::from(count) > length {
            return Err(Unused::Malformed);
        }
        let (mut chunks, mut first) = (Vec::new(), 0);
        let mut left = length;
        while first < count {
            let next = count.min(first + CHUNKS_AT_ONCE);
            let names: Vec<_> = (first..next)
                .map(|index| name::chunk(name, set, index))
                .collect();
            let values = self.guard.get_many(&names, read, question.until).await?;
            for (index, value) in (first..next).zip(values) {
                let value = value.ok_or(Unused::Nothing)?;
                let bytes = Chunk::unseal(value, set, index)?.open()?;
                left = left
                    .checked_sub(bytes.len() as u64)
                    .ok_or(Unused::Malformed)?;
                chunks.push(bytes);
            }
            first = next;
        }
        Ok(chunks)
    }
}

/// Whether any of `found` was received after `than`.
fn has_newer(found: &[Arc<Stored>], than: Time) -> bool {
    found.iter().any(|stored| stored.facts.response_time > than)
}

/// The body of which these are the bytes.
fn body(chunks: Vec<Bytes>, layout: &Layout) -> Result<Body, Malformed> {
    let held: u64 = chunks.iter().map(|chunk| chunk.len() as u64).sum();
    if held != layout.stored() {
        return Err(Malformed);
    }
    let length = usize::try_from(held).map_err(|_| Malformed)?;
    let whole = Body::from_chunks(chunks, length);
    match layout {
        Layout::Whole(_) => Ok(whole),
        Layout::Parts { length, parts } => parts_of(&whole, *length, parts),
    }
}

fn parts_of(whole: &Body, length: u64, parts: &[(u64, u64)]) -> Result<Body, Malformed> {
    let mut at = 0;
    let mut pieces = Vec::with_capacity(parts.len());
    for &(first, size) in parts {
        let last = at + size.checked_sub(1).ok_or(Malformed)?;
        let span = Span { first: at, last };
        let mut begins = first;
        for slice in whole.slice(span).ok_or(Malformed)? {
            let length = slice.len();
            pieces.push((begins, slice));
            begins += length;
        }
        at += size;
    }
    let parts = Parts::from_pieces(length, pieces).ok_or(Malformed)?;
    Ok(Body::Parts(Arc::new(parts)))
}

impl From<Malformed> for Unused {
    fn from(Malformed: Malformed) -> Self {
        Self::Malformed
    }
}

impl From<Failed> for Unused {
    fn from(Failed: Failed) -> Self {
        Self::Failed
    }
}
