//! Parts of a representation.

use super::{Body, BodyPiece};
use crate::fill::{Fill, Reader};
use bytes::Bytes;
use rules::{partial::Spans, range::Span};
use std::sync::Arc;

/// At most this many pieces are kept of one representation.
const MOST_PIECES: usize = 256;

/// Adjoining pieces are joined up to this many bytes, or up to the [`MOST_JOINED`]th part of the representation if that
/// is more. So a client that reads in order leaves few pieces, however small they are.
const JOINED: u64 = 1 << 20;
const MOST_JOINED: u64 = 64;

/// Parts of a representation of known length. They are sorted and do not overlap.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Length of the whole representation.
    pub length: u64,
    held: Vec<(u64, BodyPiece)>,
    /// A part that is on its way in, and its offset.
    coming: Option<(u64, Arc<Fill>)>,
}

impl Parts {
    /// Creates one part that begins at `first`.
    pub fn new(length: u64, first: u64, piece: impl Into<BodyPiece>) -> Self {
        Self {
            length,
            held: vec![(first, piece.into())],
            coming: None,
        }
    }

    /// The fill of the part that is on its way in, if there is one.
    pub fn fill(&self) -> Option<&Arc<Fill>> {
        self.coming.as_ref().map(|(_, fill)| fill)
    }

    /// Creates one part that begins at `first` and is on its way in `fill`, which has announced its length.
    pub const fn coming(length: u64, first: u64, fill: Arc<Fill>) -> Self {
        Self {
            length,
            held: Vec::new(),
            coming: Some((first, fill)),
        }
    }

    /// Whether any part is on its way in.
    pub const fn is_coming(&self) -> bool {
        self.coming.is_some()
    }

    /// The offset of the part that is on its way in; 0 if there is none.
    pub fn begins(&self) -> u64 {
        self.coming.as_ref().map_or(0, |(first, _)| *first)
    }

    /// Follows the part that is on its way in [from its beginning](Self::begins), if it has all of `span`.
    pub fn reader(&self, span: Span) -> Option<Reader> {
        let (first, fill) = self.coming.as_ref()?;
        let last = first.checked_add(fill.length()?.checked_sub(1)?)?;
        (*first <= span.first && span.last <= last).then(|| fill.reader())?
    }

    /// Creates several parts from pieces and their offsets. `None` unless they are sorted, do not overlap and lie
    /// within `length`. The pieces may be slices of one allocation: each gets its own.
    pub fn from_pieces(length: u64, mut parts: Vec<(u64, BodyPiece)>) -> Option<Self> {
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
        (end <= length).then_some(Self {
            length,
            held: parts,
            coming: None,
        })
    }

    /// The parts, each with its offset.
    pub fn pieces(&self) -> &[(u64, BodyPiece)] {
        &self.held
    }

    /// The spans that are held, without those on disk that [cannot be read](BodyPiece::is_broken).
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

    fn sound(&self) -> impl Iterator<Item = &(u64, BodyPiece)> {
        self.held.iter().filter(|(_, piece)| !piece.is_broken())
    }

    /// Whether any part lies on disk.
    pub fn is_on_disk(&self) -> bool {
        let mut pieces = self.held.iter();
        pieces.any(|(_, piece)| matches!(piece, BodyPiece::Disk(_)))
    }

    /// Whether any part was in a file that was [evicted](crate::disk::OnDisk::is_gone) or is no longer kept open.
    pub fn is_gone(&self) -> bool {
        let mut pieces = self.held.iter();
        pieces.any(|(_, piece)| matches!(piece, BodyPiece::Disk(bytes) if bytes.is_gone()))
    }

    /// Whether nothing is missing.
    pub fn is_complete(&self) -> bool {
        self.all().is_none_or(|all| self.spans().contains(all))
    }

    /// Combines these parts with those of `newer`, whose bytes win where both hold some. The caller has made sure that
    /// both are of the same representation (`rules::partial::combinable`). If there are more than `most` bytes, or too
    /// many pieces, those that lie farthest from the newer ones are left out.
    #[must_use]
    pub fn combined(&self, newer: &Self, most: u64) -> Self {
        if self.length != newer.length {
            return newer.clone();
        }
        let mut parts = newer.held.clone();
        parts.extend(uncovered(self.sound(), &newer.held));
        parts.sort_by_key(|(first, _)| *first);
        let mut parts = joined(parts, JOINED.max(self.length / MOST_JOINED));
        if let Some(around) = newer.around() {
            leave_out_far(&mut parts, around, most);
        }
        Self {
            length: self.length,
            held: parts,
            coming: None,
        }
    }

    /// The span from the first piece to the last.
    fn around(&self) -> Option<Span> {
        let (first, (begin, piece)) = (self.held.first()?.0, self.held.last()?);
        let last = begin.checked_add(piece.len())?.checked_sub(1)?;
        Some(Span { first, last })
    }

    /// The whole representation as a body of another form. `None` if something is missing, or if some is in memory and
    /// some on disk: such parts stay as they are, although they cover everything.
    pub fn whole(&self) -> Option<Body> {
        self.slice(self.all()?)?;
        if let [(_, only)] = self.held.as_slice() {
            return Some(only.clone().into());
        }
        let chunks: Option<Vec<Bytes>> = self.held.iter().map(in_memory).collect();
        Some(Body::from_chunks(
            chunks?,
            usize::try_from(self.length).ok()?,
        ))
    }

    /// The bytes of `span`; `None` if any of them are missing.
    pub fn slice(&self, span: Span) -> Option<Vec<BodyPiece>> {
        let pieces: Vec<BodyPiece> = self
            .held
            .iter()
            .filter_map(|(first, piece)| piece.cut(*first, span))
            .collect();
        // The pieces do not overlap. One that broke since it was promised is included, and fails when it is read.
        let length: u64 = pieces.iter().map(BodyPiece::len).sum();
        (length == span.length()).then_some(pieces)
    }

    pub(super) fn weight(&self) -> u64 {
        let all = self.held.iter();
        all.map(|(_, piece)| piece.weight() + 96).sum()
    }

    /// The span of the whole representation; `None` if that is empty.
    fn all(&self) -> Option<Span> {
        let last = self.length.checked_sub(1)?;
        Some(Span { first: 0, last })
    }
}

/// A part in memory as bytes that have no other owner.
fn in_memory((_, piece): &(u64, BodyPiece)) -> Option<Bytes> {
    match piece {
        BodyPiece::Memory(bytes) => Some(bytes.clone()),
        BodyPiece::Mapped(extent) => Some(Bytes::copy_from_slice(&extent.bytes())),
        BodyPiece::Disk(_) => None,
    }
}

/// The parts of `pieces` that none of `others` covers. Both are sorted and do not overlap, so each is looked at once.
fn uncovered<'a>(
    pieces: impl Iterator<Item = &'a (u64, BodyPiece)>,
    others: &[(u64, BodyPiece)],
) -> Vec<(u64, BodyPiece)> {
    let mut gaps = Vec::new();
    let ends = |(first, piece): &(u64, BodyPiece)| (*first, first.saturating_add(piece.len()));
    let mut others = others.iter().map(ends).peekable();
    for (first, piece) in pieces {
        let (mut from, to) = (*first, first.saturating_add(piece.len()));
        while let Some(&(begin, end)) = others.peek()
            && begin < to
        {
            gaps.extend(part(piece, *first, (from, begin)));
            from = from.max(end);
            if to < end {
                // It may cover some of the next.
                break;
            }
            others.next();
        }
        gaps.extend(part(piece, *first, (from, to)));
    }
    gaps
}

/// The part of `piece`, which begins at `first`, that lies between `from` and `to`, with its offset.
fn part(piece: &BodyPiece, first: u64, (from, to): (u64, u64)) -> Option<(u64, BodyPiece)> {
    let last = to.checked_sub(1).filter(|last| from <= *last)?;
    if to - from == piece.len() {
        return Some((from, piece.clone()));
    }
    let cut = piece.cut(first, Span { first: from, last })?;
    // Otherwise several parts could share its allocation.
    Some((from, cut.apart()))
}

/// Joins adjoining pieces in memory up to `most` bytes. The pieces are sorted. Each is joined with one about as large,
/// so that each byte is copied a few times at most.
fn joined(parts: Vec<(u64, BodyPiece)>, most: u64) -> Vec<(u64, BodyPiece)> {
    let mut all: Vec<(u64, BodyPiece)> = Vec::with_capacity(parts.len());
    for (mut first, mut piece) in parts {
        while let Some((before, last)) = all.last()
            && before + last.len() == first
            && last.len() <= piece.len()
            && last.len() + piece.len() <= most
            && let (Some(left), Some(right)) = (last.clone().in_memory(), piece.clone().in_memory())
        {
            first = *before;
            piece = Bytes::from([left, right].concat()).into();
            all.pop();
        }
        all.push((first, piece));
    }
    all
}

/// Leaves out the pieces farthest from `around` until at most [`MOST_PIECES`] are left, of `most` bytes in all.
fn leave_out_far(parts: &mut Vec<(u64, BodyPiece)>, around: Span, most: u64) {
    let mut held: u64 = parts.iter().map(|(_, piece)| piece.len()).sum();
    while parts.len() > MOST_PIECES || held > most {
        let before =
            |(first, piece): &(u64, BodyPiece)| around.first.saturating_sub(first + piece.len());
        let after = |(first, _): &(u64, BodyPiece)| first.saturating_sub(around.last);
        let (Some(start), Some(end)) = (parts.first(), parts.last()) else {
            return;
        };
        let (is_before, is_after) = (start.0 < around.first, end.0 > around.last);
        let index = match (is_before, is_after) {
            (false, false) => return,
            (true, true) if before(start) < after(end) => parts.len() - 1,
            (true, _) => 0,
            (false, true) => parts.len() - 1,
        };
        held -= parts.remove(index).1.len();
    }
}

#[cfg(test)]
mod tests;
