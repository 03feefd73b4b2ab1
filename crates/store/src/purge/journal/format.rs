//! The bytes of the log's file.
//!
//! A first line (`larder purges 1`), then frames, each written with one write: length, a mark of the length, checksum
//! of the content, content. A frame's content is one item after another. Numbers are little-endian.
//!
//! A crash leaves a frame that is cut short, or zeros. Such a tail was never acknowledged, and is cut off. Any other
//! inconsistency is damage, and what was lost is not known.

mod cursor;

use crate::purge::Position;
use cursor::Cursor;
use rules::time::Time;
use xxhash_rust::xxh3::xxh3_64;

/// The version written here.
const VERSION: u32 = 1;

/// The beginning of the first line in every version.
const NAME: &str = "larder purges ";

/// The number of bytes before a frame's content.
pub const FRAME_HEAD: usize = 16;

/// How a file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// With its last frame.
    Clean,
    /// With what a crash left of a write: nothing that was acknowledged.
    Torn,
    /// With bytes that were not written like this: purges may be lost.
    Damaged,
}

/// Why this program must not read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// A newer version wrote it.
    Newer(u32),
    /// It is not a log of purges.
    Foreign,
}

/// One item of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A purge.
    Purged(Purged<'a>),
    /// Purges up to this number may be forgotten.
    Retired(u64),
    /// The log begins: it is new, was opened again, or was rewritten.
    Began(Base),
}

/// A purge as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purged<'a> {
    /// Its number.
    pub sequence: u64,
    /// When it took effect.
    pub at: Time,
    /// Its position in the shared log.
    pub position: Option<Position>,
    /// What [`Purge::to_text`](crate::purge::Purge::to_text) wrote.
    pub text: &'a [u8],
}

/// What is known besides single purges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// No number above this one was given out before.
    pub head: u64,
    /// What was checked up to a smaller number counts as purged.
    pub floor: u64,
    /// The position of the last entry of the shared log that is forgotten.
    pub position: Option<Position>,
}

/// The consistent beginning of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents<'a> {
    /// The items in order.
    pub items: Vec<Item<'a>>,
    /// The end of this part, in bytes.
    pub end: usize,
    /// What follows.
    pub tail: Tail,
}

/// The first line.
pub fn first_line() -> String {
    format!("{NAME}{VERSION}\n")
}

impl<'a> Contents<'a> {
    /// Reads a file. `None` if it ends within its first line, or is all zeros.
    ///
    /// # Errors
    /// This program must not read it.
    pub fn read(bytes: &'a [u8]) -> Result<Option<Self>, Unreadable> {
        if first_line().as_bytes().starts_with(bytes) && !bytes.contains(&b'\n') || is_zero(bytes) {
            return Ok(None);
        }
        let line = bytes.iter().take(NAME.len() + 11);
        let end = line.into_iter().position(|byte| *byte == b'\n');
        let end = end.ok_or(Unreadable::Foreign)?;
        let (line, _) = bytes.split_at(end);
        match version(line) {
            Some(VERSION) => {}
            Some(newer) if newer > VERSION => return Err(Unreadable::Newer(newer)),
            _ => return Err(Unreadable::Foreign),
        }
        let mut contents = Self {
            items: Vec::new(),
            end: end + 1,
            tail: Tail::Clean,
        };
        while let Some(rest) = bytes.get(contents.end..).filter(|rest| !rest.is_empty()) {
            if let Err(tail) = contents.read_frame(rest) {
                contents.tail = tail;
                break;
            }
        }
        Ok(Some(contents))
    }

    fn read_frame(&mut self, rest: &'a [u8]) -> Result<(), Tail> {
        let mut cursor = Cursor(rest);
        let (Some(length), Some(mark), Some(sum)) = (cursor.u32(), cursor.u32(), cursor.u64())
        else {
            return Err(Tail::Torn);
        };
        if mark != length_mark(length) {
            return Err(if is_zero(rest) {
                Tail::Torn
            } else {
                Tail::Damaged
            });
        }
        let content = cursor.take(length as usize).ok_or(Tail::Torn)?;
        if xxh3_64(content) != sum {
            return Err(Tail::Damaged);
        }
        let known = self.items.len();
        let mut content = Cursor(content);
        while !content.is_empty() {
            let Some(item) = content.item() else {
                self.items.truncate(known);
                return Err(Tail::Damaged);
            };
            self.items.push(item);
        }
        self.end += FRAME_HEAD + length as usize;
        Ok(())
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

fn version(line: &[u8]) -> Option<u32> {
    let line = std::str::from_utf8(line).ok()?;
    line.strip_prefix(NAME)?.parse().ok()
}

/// Tells a length that was written from one that was not, so that a frame that seems to be cut short really is.
fn length_mark(length: u32) -> u32 {
    xxh3_64(&length.to_le_bytes()) as u32
}

/// Makes a frame around `content`.
pub fn frame(content: &[u8]) -> Vec<u8> {
    let length = content.len() as u32;
    let mut frame = Vec::with_capacity(FRAME_HEAD + content.len());
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(&length_mark(length).to_le_bytes());
    frame.extend_from_slice(&xxh3_64(content).to_le_bytes());
    frame.extend_from_slice(content);
    frame
}

impl Item<'_> {
    /// Appends the item to a frame's content.
    pub fn write(&self, content: &mut Vec<u8>) {
        match self {
            Self::Purged(purged) => {
                content.push(1);
                content.extend_from_slice(&purged.sequence.to_le_bytes());
                content.extend_from_slice(&purged.at.as_millis().to_le_bytes());
                write_position(purged.position, content);
                content.extend_from_slice(&(purged.text.len() as u32).to_le_bytes());
                content.extend_from_slice(purged.text);
            }
            Self::Retired(sequence) => {
                content.push(2);
                content.extend_from_slice(&sequence.to_le_bytes());
            }
            Self::Began(base) => {
                content.push(3);
                content.extend_from_slice(&base.head.to_le_bytes());
                content.extend_from_slice(&base.floor.to_le_bytes());
                write_position(base.position, content);
            }
        }
    }
}

fn write_position(position: Option<Position>, content: &mut Vec<u8>) {
    content.push(u8::from(position.is_some()));
    if let Some(Position(first, second)) = position {
        content.extend_from_slice(&first.to_le_bytes());
        content.extend_from_slice(&second.to_le_bytes());
    }
}
