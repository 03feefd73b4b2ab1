//! Parts of a representation.

use super::{Body, Piece};
use bytes::Bytes;
use rules::{partial::Spans, range::Span};

/// At most this many separate parts are kept of one representation; beyond it only the newest part stays.
const MOST_PARTS: usize = 64;

/// Parts of a representation of known length, sorted, not overlapping.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Length of the whole representation.
    pub length: u64,
    parts: Vec<(u64, Piece)>,
}

impl Parts {
    /// One part that begins at `first`.
    pub fn new(length: u64, first: u64, piece: impl Into<Piece>) -> Self {
        Self {
            length,
            parts: vec![(first, piece.into())],
        }
    }

    /// Several parts, each with where it begins; `None` unless they are sorted, do not overlap and lie within `length`. They may be
    /// slices of one allocation: each gets its own.
    pub fn from_pieces(length: u64, mut parts: Vec<(u64, Piece)>) -> Option<Self> {
        if let [_, _, ..] = parts.as_slice() {
            let apart = parts.into_iter();
            parts = apart.map(|(first, piece)| (first, piece.apart())).collect();
        }
        let mut end = 0;
        for (first, piece) in &parts {
            if *first < end {
                return None;
            }
            end = first.checked_add(piece.len())?;
        }
        (end <= length).then_some(Self { length, parts })
    }

    /// The parts, each with where it begins.
    pub fn pieces(&self) -> &[(u64, Piece)] {
        &self.parts
    }

    /// Which spans are held, without those on disk that [cannot be read](Piece::is_broken).
    pub fn spans(&self) -> Spans {
        let mut spans = Spans::default();
        for (first, piece) in self.sound() {
            if let Some(last) = piece.len().checked_sub(1) {
                spans.insert(Span {
                    first: *first,
                    last: first.saturating_add(last),
                });
            }
        }
        spans
    }

    fn sound(&self) -> impl Iterator<Item = &(u64, Piece)> {
        self.parts.iter().filter(|(_, piece)| !piece.is_broken())
    }

    /// Whether any of them lies on disk.
    pub fn is_on_disk(&self) -> bool {
        let mut pieces = self.parts.iter();
        pieces.any(|(_, piece)| matches!(piece, Piece::Disk(_)))
    }

    /// Whether any of them lay in a segment that has [made room](crate::disk::OnDisk::is_gone) for others.
    pub fn is_gone(&self) -> bool {
        let mut pieces = self.parts.iter();
        pieces.any(|(_, piece)| matches!(piece, Piece::Disk(bytes) if bytes.is_gone()))
    }

    /// Whether nothing is missing.
    pub fn is_complete(&self) -> bool {
        self.all().is_none_or(|all| self.spans().contains(all))
    }

    /// These parts and those of `newer`, whose bytes win where both hold some. The caller has made sure that both are
    /// of the same representation (`rules::partial::combinable`).
    #[must_use]
    pub fn combined(&self, newer: &Self) -> Self {
        if self.length != newer.length || self.parts.len() + newer.parts.len() > MOST_PARTS {
            return newer.clone();
        }
        let mut parts = newer.parts.clone();
        for (first, piece) in self.sound() {
            add_uncovered(&mut parts, *first, piece);
        }
        parts.sort_by_key(|(first, _)| *first);
        Self {
            length: self.length,
            parts,
        }
    }

    /// The whole representation as a body of another form. `None` where something is missing, and where some is in memory and
    /// some on disk: such parts stay what they are, although they cover everything.
    pub fn whole(&self) -> Option<Body> {
        self.slice(self.all()?)?;
        if let [(_, only)] = self.parts.as_slice() {
            return Some(only.clone().into());
        }
        let chunks: Option<Vec<Bytes>> = self.parts.iter().map(in_memory).collect();
        Some(Body::from_chunks(
            chunks?,
            usize::try_from(self.length).ok()?,
        ))
    }

    /// The bytes of `span`; `None` where any of it is missing.
    pub(super) fn slice(&self, span: Span) -> Option<Vec<Piece>> {
        let pieces: Vec<Piece> = self
            .parts
            .iter()
            .filter_map(|(first, piece)| piece.cut(*first, span))
            .collect();
        // They do not overlap. One that broke since it was promised is among them, and says so when it is read.
        let length: u64 = pieces.iter().map(Piece::len).sum();
        (length == span.length()).then_some(pieces)
    }

    pub(super) fn weight(&self) -> u64 {
        let all = self.parts.iter();
        all.map(|(_, piece)| piece.weight() + 96).sum()
    }

    /// The span of the whole representation; `None` where that is empty.
    fn all(&self) -> Option<Span> {
        let last = self.length.checked_sub(1)?;
        Some(Span { first: 0, last })
    }
}

/// A part as bytes without another owner.
fn in_memory((_, piece): &(u64, Piece)) -> Option<Bytes> {
    match piece {
        Piece::Memory(bytes) => Some(bytes.clone()),
        Piece::Mapped(extent) => Some(Bytes::copy_from_slice(&extent.bytes())),
        Piece::Disk(_) => None,
    }
}

/// Adds to `parts` what of (`first`, `piece`) none of them covers yet.
fn add_uncovered(parts: &mut Vec<(u64, Piece)>, first: u64, piece: &Piece) {
    let mut gaps = vec![(first, first.saturating_add(piece.len()))];
    for (have, held) in parts.iter() {
        let end = have.saturating_add(held.len());
        let around = |(from, to): (u64, u64)| {
            let before = (from, to.min(*have));
            let after = (from.max(end), to);
            [before, after]
        };
        gaps = gaps.into_iter().flat_map(around).collect();
        gaps.retain(|(from, to)| from < to);
    }
    let cut = |(from, to): (u64, u64)| {
        if to - from == piece.len() {
            return Some((from, piece.clone()));
        }
        let span = Span {
            first: from,
            last: to - 1,
        };
        let cut = piece.cut(first, span)?;
        // Its allocation may have to keep several.
        Some((from, cut.apart()))
    };
    parts.extend(gaps.into_iter().filter_map(cut));
}

#[cfg(test)]
mod tests {
    use super::{super::piece::joined, *};
    use proptest::prelude::*;
    use std::sync::Arc;

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
            prop_assert!(Parts::from_pieces(130, held.pieces().to_vec()).is_some());
            let span = Span { first, last: (first + len - 1).min(129) };
            if let Some(slices) = Body::Parts(Arc::new(held.clone())).slice(span) {
                prop_assert_eq!(joined(&slices), &all[first as usize..=span.last as usize]);
            } else {
                prop_assert!(!held.spans().contains(span));
            }
        }
    }

    #[test]
    fn parts_are_sorted_apart_and_within_the_length() {
        let piece = |first: u64, length: usize| (first, Piece::from(Bytes::from(vec![0; length])));
        for (parts, good) in [
            (vec![piece(0, 4), piece(4, 4), piece(9, 1)], true),
            (vec![], true),
            (vec![piece(0, 4), piece(3, 2)], false),
            (vec![piece(4, 2), piece(0, 2)], false),
            (vec![piece(8, 3)], false),
            (vec![piece(u64::MAX, 1)], false),
        ] {
            assert_eq!(
                Parts::from_pieces(10, parts.clone()).is_some(),
                good,
                "{parts:?}"
            );
        }
    }

    #[test]
    fn parts_without_a_gap_are_a_whole() {
        let one = Parts::new(6, 0, Bytes::from("abc"));
        assert!(one.whole().is_none() && !one.is_complete());
        let both = one.combined(&Parts::new(6, 3, Bytes::from("def")));
        assert!(both.is_complete());
        let Some(Body::Whole(bytes)) = both.whole() else {
            panic!("whole")
        };
        assert_eq!(bytes, "abcdef");
    }
}
