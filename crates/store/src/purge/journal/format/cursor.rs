//! Reads numbers and items.

use super::{Base, Item, Purged};
use crate::purge::Position;
use rules::time::Time;

/// Reads from the front; `None` if too little is left.
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    /// Whether everything has been read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the next `length` bytes.
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// Reads a little-endian number of four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    /// Reads a little-endian number of eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn position(&mut self, position: &mut Option<Position>) -> Option<()> {
        *position = match self.byte()? {
            0 => None,
            1 => Some(Position(self.u64()?, self.u64()?)),
            _ => return None,
        };
        Some(())
    }

    /// Reads the next item; `None` also if its kind is not known.
    pub fn item(&mut self) -> Option<Item<'a>> {
        match self.byte()? {
            1 => {
                let mut purged = Purged {
                    sequence: self.u64()?,
                    at: Time::from_millis(self.u64()?),
                    position: None,
                    text: b"",
                };
                self.position(&mut purged.position)?;
                let length = self.u32()?;
                purged.text = self.take(length as usize)?;
                Some(Item::Purged(purged))
            }
            2 => Some(Item::Retired(self.u64()?)),
            3 => {
                let mut base = Base {
                    head: self.u64()?,
                    floor: self.u64()?,
                    position: None,
                };
                self.position(&mut base.position)?;
                Some(Item::Began(base))
            }
            _ => None,
        }
    }
}
