//! Text of a page with nothing else in between.

use super::segment::Buffered;
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;

/// Consecutive texts are sent as one piece of at most this many bytes. Each piece costs a look at all that is buffered.
const JOINED: usize = 16 << 10;

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// What is sent.
    pub bytes: Bytes,
    /// Whether it was made here, as the value of a variable is, and texts that were joined. Other text is part of the
    /// page's body.
    pub is_made: bool,
}

/// Consecutive pieces of text.
#[derive(Debug, Default)]
pub struct Texts {
    /// Most pieces are alone.
    first: Option<Text>,
    rest: VecDeque<Text>,
}

impl Text {
    /// Returns how much it holds.
    pub fn buffered(&self) -> Buffered {
        let bytes = self.bytes.len();
        Buffered {
            segments: 1,
            bytes,
            made: if self.is_made { bytes } else { 0 },
        }
    }
}

impl From<Text> for Texts {
    fn from(text: Text) -> Self {
        Self {
            first: Some(text),
            rest: VecDeque::new(),
        }
    }
}

impl Texts {
    fn iter(&self) -> impl Iterator<Item = &Text> {
        self.first.iter().chain(&self.rest)
    }

    /// Returns how much they hold.
    pub fn buffered(&self) -> Buffered {
        let each = self.iter().map(Text::buffered);
        each.fold(Buffered::default(), Buffered::with)
    }

    /// Whether all were taken.
    pub const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Adds the text that follows these.
    pub fn push(&mut self, text: Text) {
        if self.first.is_none() {
            self.first = Some(text);
        } else {
            self.rest.push_back(text);
        }
    }

    /// Adds all to `pieces`.
    pub fn move_to(self, pieces: &mut Vec<Text>) {
        pieces.extend(self.first);
        if !self.rest.is_empty() {
            pieces.extend(self.rest);
        }
    }

    /// Takes out what is sent next, and how much of the buffer it was: one text, or as many as are small enough
    /// together, copied into one.
    pub fn take(&mut self) -> Option<(Text, Buffered)> {
        let (count, length) = self.next_joined();
        let first = self.pop()?;
        let mut taken = first.buffered();
        if count < 2 {
            return Some((first, taken));
        }
        let mut joined = BytesMut::with_capacity(length);
        joined.extend_from_slice(&first.bytes);
        for _ in 1..count {
            let next = self.pop()?;
            taken = taken.with(next.buffered());
            joined.extend_from_slice(&next.bytes);
        }
        let joined = Text {
            bytes: joined.freeze(),
            is_made: true,
        };
        Some((joined, taken))
    }

    /// Returns how many texts are small enough together, and their length in bytes.
    fn next_joined(&self) -> (usize, usize) {
        let mut joined = (0, 0);
        for text in self.iter() {
            let length = joined.1 + text.bytes.len();
            if length > JOINED {
                break;
            }
            joined = (joined.0 + 1, length);
        }
        joined
    }

    fn pop(&mut self) -> Option<Text> {
        std::mem::replace(&mut self.first, self.rest.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_come_out_in_order_and_as_few(
            pieces in prop::collection::vec(
                (prop_oneof![0..50_usize, 0..2 * JOINED], any::<bool>()),
                0..60,
            ),
        ) {
            let mut texts = Texts::default();
            let (mut all, mut held) = (Vec::new(), Buffered::default());
            for (number, (length, is_made)) in pieces.into_iter().enumerate() {
                let text = Text { bytes: vec![number as u8; length].into(), is_made };
                all.extend_from_slice(&text.bytes);
                held = held.with(text.buffered());
                texts.push(text);
            }
            prop_assert_eq!(texts.buffered(), held);
            let (mut sent, mut before) = (Vec::new(), usize::MAX);
            while let Some((Text { bytes: piece, .. }, taken)) = texts.take() {
                prop_assert!(piece.len() <= JOINED || taken.segments == 1);
                prop_assert!(before.saturating_add(piece.len()) > JOINED);
                prop_assert_eq!(taken.bytes, piece.len());
                before = piece.len();
                sent.extend(piece);
                held = held.without(taken);
                prop_assert_eq!(texts.buffered(), held);
            }
            prop_assert!(texts.is_empty() && sent == all);
            prop_assert_eq!(held, Buffered::default());
        }
    }
}
