//! The body of a stored response.

use crate::fill::Fill;
use bytes::Bytes;
use rules::{partial::Spans, range::Span};
use std::sync::Arc;

/// A body: whole, in parts, or still on its way.
#[derive(Clone, Debug)]
pub enum Body {
    /// In one piece. Small and middle bodies; a hit writes it at once.
    Whole(Bytes),
    /// In several pieces: large bodies, whose pieces were allocated as they came.
    Chunks(Arc<[Bytes]>),
    /// Parts of a representation, from 206 responses (RFC 9111 section 3.3).
    Parts(Arc<Parts>),
    /// Being written; readers follow it.
    Filling(Arc<Fill>),
}

impl Body {
    /// A body from pieces: joined where that is cheap, so that a hit has one buffer to write.
    pub(crate) fn from_chunks(chunks: Vec<Bytes>, length: usize) -> Self {
        const JOIN_BELOW: usize = 1 << 20;
        match <[Bytes; 1]>::try_from(chunks) {
            Ok([only]) => Self::Whole(only),
            Err(chunks) if length < JOIN_BELOW => Self::Whole(chunks.concat().into()),
            Err(chunks) => Self::Chunks(chunks.into()),
        }
    }

    /// Length in bytes; `None` while it is not known.
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::Whole(bytes) => Some(bytes.len() as u64),
            Self::Chunks(chunks) => Some(chunks.iter().map(|chunk| chunk.len() as u64).sum()),
            Self::Parts(parts) => Some(parts.length),
            Self::Filling(fill) => fill.length(),
        }
    }

    /// Bytes of memory it holds itself, as the allocator rounds them. A fill's bytes are counted by its reservation.
    pub(crate) fn weight(&self) -> u64 {
        match self {
            Self::Whole(bytes) => allocated(bytes.len()),
            Self::Chunks(chunks) => chunks.iter().map(|chunk| allocated(chunk.len()) + 64).sum(),
            Self::Parts(parts) => parts
                .parts
                .iter()
                .map(|(_, bytes)| allocated(bytes.len()) + 96)
                .sum(),
            Self::Filling(_) => 0,
        }
    }

    /// The bytes of `span`, as slices of what is held; `None` where any of it is missing or still on its way.
    pub fn slice(&self, span: Span) -> Option<Vec<Bytes>> {
        match self {
            Self::Whole(bytes) => Some(vec![cut(bytes, 0, span)?]),
            Self::Chunks(chunks) => Some(slice_run(
                chunks.iter().scan(0u64, |at, chunk| {
                    let first = *at;
                    *at += chunk.len() as u64;
                    Some((first, chunk))
                }),
                span,
            )),
            Self::Parts(parts) => parts.slice(span),
            Self::Filling(_) => None,
        }
    }
}

/// What an allocation of `size` bytes really takes: size classes are four to a doubling in the allocators we use.
pub(crate) fn allocated(size: usize) -> u64 {
    let size = size.max(16) as u64;
    let step = (size.next_power_of_two() / 8).max(16);
    size.div_ceil(step) * step
}

/// The part of `chunk`, which begins at `first`, that lies in `span`.
fn cut(chunk: &Bytes, first: u64, span: Span) -> Option<Bytes> {
    let end = first + chunk.len() as u64;
    let (from, to) = (span.first.max(first), span.last.saturating_add(1).min(end));
    (from < to).then(|| chunk.slice((from - first) as usize..(to - first) as usize))
}

fn slice_run<'a>(chunks: impl Iterator<Item = (u64, &'a Bytes)>, span: Span) -> Vec<Bytes> {
    chunks
        .filter_map(|(first, chunk)| cut(chunk, first, span))
        .collect()
}

/// At most this many separate parts are kept of one representation; beyond it only the newest part stays.
const MOST_PARTS: usize = 64;

/// Parts of a representation of known length, sorted, not overlapping.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Length of the whole representation.
    pub length: u64,
    parts: Vec<(u64, Bytes)>,
}

impl Parts {
    /// One part that begins at `first`.
    pub fn new(length: u64, first: u64, bytes: Bytes) -> Self {
        Self {
            length,
            parts: vec![(first, bytes)],
        }
    }

    /// Which spans are held.
    pub fn spans(&self) -> Spans {
        let mut spans = Spans::default();
        for (first, bytes) in &self.parts {
            if !bytes.is_empty() {
                spans.insert(Span {
                    first: *first,
                    last: first + bytes.len() as u64 - 1,
                });
            }
        }
        spans
    }

    /// These parts and those of `newer`, whose bytes win where both hold some. The caller has made sure that both are
    /// of the same representation (`rules::partial::combinable`).
    #[must_use]
    pub fn combined(&self, newer: &Self) -> Self {
        if self.length != newer.length || self.parts.len() + newer.parts.len() > MOST_PARTS {
            return newer.clone();
        }
        let mut parts = newer.parts.clone();
        for (first, bytes) in &self.parts {
            add_uncovered(&mut parts, *first, bytes);
        }
        parts.sort_by_key(|(first, _)| *first);
        Self {
            length: self.length,
            parts,
        }
    }

    /// The whole representation, when nothing is missing.
    pub fn whole(&self) -> Option<Body> {
        let all = Span {
            first: 0,
            last: self.length.checked_sub(1)?,
        };
        let chunks = self.slice(all)?;
        Some(Body::from_chunks(
            chunks,
            usize::try_from(self.length).ok()?,
        ))
    }

    fn slice(&self, span: Span) -> Option<Vec<Bytes>> {
        self.spans().contains(span).then(|| {
            slice_run(
                self.parts.iter().map(|(first, bytes)| (*first, bytes)),
                span,
            )
        })
    }
}

/// Adds to `parts` what of (`first`, `bytes`) none of them covers yet.
fn add_uncovered(parts: &mut Vec<(u64, Bytes)>, first: u64, bytes: &Bytes) {
    let mut pieces = vec![(first, bytes.clone())];
    for (have, held) in parts.iter() {
        let end = have + held.len() as u64;
        pieces = pieces
            .into_iter()
            .flat_map(|(at, piece)| {
                let last = at + piece.len() as u64;
                let before =
                    (at < *have).then(|| (at, piece.slice(..(last.min(*have) - at) as usize)));
                let after =
                    (last > end).then(|| (at.max(end), piece.slice((at.max(end) - at) as usize..)));
                if last <= *have || at >= end {
                    vec![(at, piece)]
                } else {
                    before.into_iter().chain(after).collect()
                }
            })
            .collect();
    }
    parts.extend(pieces.into_iter().filter(|(_, piece)| !piece.is_empty()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn combined_parts_never_hold_a_wrong_byte(parts in prop::collection::vec((0u64..90, 1u64..40), 1..10), first in 0u64..100, len in 1u64..50) {
            let all: Vec<u8> = (0..130u8).collect();
            let mut held: Option<Parts> = None;
            for (at, len) in parts {
                let bytes = Bytes::copy_from_slice(&all[at as usize..(at + len) as usize]);
                let new = Parts::new(130, at, bytes);
                held = Some(held.map_or(new.clone(), |old| old.combined(&new)));
            }
            let held = held.expect("at least one");
            let span = Span { first, last: first + len - 1 };
            if let Some(slices) = Body::Parts(Arc::new(held.clone())).slice(span) {
                prop_assert_eq!(slices.concat(), &all[first as usize..(first + len).min(130) as usize]);
            } else {
                prop_assert!(!held.spans().contains(span));
            }
        }

        #[test]
        fn a_slice_is_the_bytes_asked_for(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..20), 1..10), first in 0u64..50, len in 1u64..50) {
            let all = chunks.concat();
            prop_assume!(first < all.len() as u64);
            let body = Body::Chunks(chunks.into_iter().map(Bytes::from).collect::<Vec<_>>().into());
            let end = (first + len).min(all.len() as u64);
            let got = body.slice(Span { first, last: end - 1 }).expect("held").concat();
            prop_assert_eq!(got, &all[first as usize..end as usize]);
        }
    }
}
