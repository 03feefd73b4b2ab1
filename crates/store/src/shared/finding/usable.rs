//! The part of a record that may be used, with its bodies.

use crate::{
    Body, Parts, Reservation, Stored,
    clock::now,
    codec::{Head, Layout, Malformed},
    purge::Standing,
    shared::{
        Inner, Question,
        chunk::Chunk,
        guard::Failed,
        name,
        record::{self, BodyLocation, ChunkSet, Entry},
        remote::Read,
    },
    variants::Rank,
};
use bytes::Bytes;
use rules::range::Span;
use std::{cmp::Reverse, sync::Arc};

/// How many chunks are requested at once: 2 MiB.
const CHUNKS_AT_ONCE: u32 = 8;

/// Why an entry is not used.
enum Unused {
    /// It is of another key, its chunks are gone, or purges may cover it.
    Nothing,
    /// It is not what was written.
    Malformed,
    /// The server failed.
    Failed(Failed),
}

/// A variant whose head has been read.
struct Variant {
    /// Without its body.
    stored: Stored,
    layout: Layout,
    place: BodyLocation,
}

impl From<Malformed> for Unused {
    fn from(Malformed: Malformed) -> Self {
        Self::Malformed
    }
}

impl From<Failed> for Unused {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}

impl Inner {
    /// Returns what may be used of a record: variants whose bodies are in it, and of those whose bodies are apart, the
    /// one that answers the request.
    pub(super) async fn usable(
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
                Err(Unused::Nothing | Unused::Failed(_)) => {}
            }
        }
        // The first that matches is the answer, as in memory.
        let now = now();
        variants.sort_by_key(|Variant { stored, .. }| {
            Reverse((Rank::of(stored, now), stored.facts.date))
        });
        let (mut found, mut scratch) = (Vec::with_capacity(variants.len()), Vec::new());
        let mut is_answered = false;
        // Held until all is found, or given back with it if the request goes.
        let mut room = self.memory.budget().reservation();
        for variant in variants {
            let answers = !is_answered && variant.stored.matches(question.request, &mut scratch);
            let is_apart = variant.place.chunks().is_some();
            if is_apart {
                if !answers {
                    continue;
                }
                self.take_room(&mut room, &variant.layout)?;
            }
            match self.whole(question, name, variant, alone, read).await {
                Ok(stored) => {
                    is_answered |= answers;
                    found.push(Arc::new(stored));
                }
                Err(Unused::Nothing) => {}
                Err(Unused::Malformed) => counts.malformed.up(),
                Err(Unused::Failed(failed)) => return Err(failed),
            }
        }
        Ok(found)
    }

    /// Takes room for a body that is apart, before any of it is asked for. What is beside its head is here already.
    fn take_room(&self, room: &mut Reservation, layout: &Layout) -> Result<(), Failed> {
        // One that was asked for before is not there.
        room.release();
        // A page can be fetched instead. What comes from clients can come from nowhere else, and needs room meanwhile.
        if !room.grow_by_half(layout.stored()) {
            self.guard.counts.no_room.up();
            return Err(Failed(None));
        }
        self.memory.make_room();
        Ok(())
    }

    /// Reads the head of a variant that may be used.
    fn variant(&self, key: &[u8], entry: Entry) -> Result<Variant, Unused> {
        let remote = self.guard.remote();
        let checked = remote.sequence(self.log(), entry.position);
        let checked = checked.ok_or(Unused::Nothing)?;
        let head = Head::decode(&entry.head)?;
        if *head.key != *key || head.layout.stored() > self.config.largest_body {
            return Err(Unused::Nothing);
        }
        let layout = head.layout.clone();
        let nothing = Body::Whole(Bytes::new());
        let stored = head.stored(nothing, Some(checked), self.log().tags());
        match self.log().standing(key, &stored) {
            Standing::Gone => Err(Unused::Nothing),
            _ => Ok(Variant {
                stored,
                layout,
                place: entry.place,
            }),
        }
    }

    /// Reads the body of the variant.
    async fn whole(
        &self,
        question: &Question<'_>,
        name: &str,
        variant: Variant,
        alone: bool,
        read: Read,
    ) -> Result<Stored, Unused> {
        let Variant {
            stored,
            layout,
            place,
        } = variant;
        let set = place.chunks();
        let chunks = match place {
            // A slice would keep the whole record in memory for one of its bodies.
            BodyLocation::Beside(chunk) if alone => vec![chunk.open()?],
            BodyLocation::Beside(chunk) => vec![Bytes::copy_from_slice(&chunk.open()?)],
            BodyLocation::Apart(set) => {
                self.chunks(question, name, set, layout.stored(), read)
                    .await?
            }
        };
        let stored = stored.with_body(body(chunks, &layout)?);
        if let (Some(set), Layout::Whole(_)) = (set, &layout) {
            stored.set_chunks(set.id);
        }
        Ok(stored)
    }

    /// Reads all chunks of a body: `set`, `length` bytes together.
    async fn chunks(
        &self,
        question: &Question<'_>,
        name: &str,
        set: ChunkSet,
        length: u64,
        read: Read,
    ) -> Result<Vec<Bytes>, Unused> {
        // Each chunk has at least one byte.
        if u64::from(set.count) > length {
            return Err(Unused::Malformed);
        }
        let (mut chunks, mut first) = (Vec::new(), 0);
        let mut left = length;
        while first < set.count {
            let next = set.count.min(first + CHUNKS_AT_ONCE);
            let names: Vec<_> = (first..next)
                .map(|index| name::chunk(name, set.id, index))
                .collect();
            let values = self.guard.get_many(&names, read, question.until).await?;
            for (index, value) in (first..next).zip(values) {
                let value = value.ok_or(Unused::Nothing)?;
                let bytes = Chunk::unseal(value, set.id, index)?.open()?;
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

/// Makes a body of its bytes.
fn body(chunks: Vec<Bytes>, layout: &Layout) -> Result<Body, Malformed> {
    let held: u64 = chunks.iter().map(|chunk| chunk.len() as u64).sum();
    if held != layout.stored() {
        return Err(Malformed);
    }
    let length = usize::try_from(held).map_err(|_| Malformed)?;
    match layout {
        Layout::Whole(_) => Ok(Body::kept(chunks, length)),
        Layout::Parts { length: all, parts } => {
            parts_of(&Body::from_chunks(chunks, length), *all, parts)
        }
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
