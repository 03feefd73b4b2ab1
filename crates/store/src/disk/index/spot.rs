//! One record in the index: its key, its place, and its flags.

use crate::{
    Stored,
    disk::format::{ALIGN, Entry},
};

/// The variant of a response that answers any request.
pub(in crate::disk) const NO_VARIANT: u32 = 0;

pub(super) const USED: u32 = 1 << 31;
const LARGE: u32 = 1 << 30;
pub(super) const SOUND: u32 = 1 << 29;
pub(super) const COUNTED: u32 = 1 << 28;
const GIVEN_UP: u32 = 1 << 27;
/// All flags. The other bits are the size.
const FLAGS: u32 = USED | LARGE | SOUND | COUNTED | GIVEN_UP;

/// Where a record begins: its segment and its offset in it. A later record has a greater position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(in crate::disk) struct RecordPosition(u64);

impl RecordPosition {
    /// The position in `segment` that is `unit` steps of [`ALIGN`] bytes from its beginning.
    pub const fn new(segment: u32, unit: u32) -> Self {
        Self((segment as u64) << 32 | unit as u64)
    }

    /// The number of the segment.
    pub const fn segment(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The offset in bytes.
    pub const fn offset(self) -> u64 {
        (self.0 & u32::MAX as u64) * ALIGN
    }
}

/// One record. Segments are counted from one, so that no record has position zero, which marks an empty slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::disk) struct Spot {
    pub key: u64,
    pub place: RecordPosition,
    pub variant: u32,
    /// The size, and five flags.
    pub(super) bits: u32,
}

impl Spot {
    /// What tells the variants of a key apart.
    pub fn variant(stored: &Stored) -> u32 {
        let variant = stored.variant.as_deref();
        variant.map_or(NO_VARIANT, |variant| {
            (variant.digest() as u32).max(NO_VARIANT + 1)
        })
    }

    /// The record of `segment` that `entry` describes.
    pub fn of(segment: u32, entry: &Entry) -> Self {
        Self::new(
            entry.key,
            RecordPosition::new(segment, entry.unit),
            entry.variant,
            entry.size,
            entry.large != 0,
        )
    }

    /// Creates a record of `size` bytes that nobody has asked for or verified. `key` and `variant` are hashes.
    /// `is_large`: the body has a file of its own.
    pub fn new(key: u64, place: RecordPosition, variant: u32, size: u32, is_large: bool) -> Self {
        let flag = if is_large { LARGE } else { 0 };
        Self {
            key,
            place,
            variant,
            bits: size & !FLAGS | flag,
        }
    }

    /// The same record, which is a [marker](Stored::given_up) if `is_given_up`.
    #[must_use]
    pub fn with_given_up(mut self, is_given_up: bool) -> Self {
        self.bits |= if is_given_up { GIVEN_UP } else { 0 };
        self
    }

    /// Bytes of the record.
    pub fn size(&self) -> usize {
        (self.bits & !FLAGS) as usize
    }

    /// Whether its body has a file of its own.
    pub fn is_large(&self) -> bool {
        self.bits & LARGE != 0
    }

    /// Whether it was asked for since it was written.
    pub fn is_used(&self) -> bool {
        self.bits & USED != 0
    }

    /// Whether all of its body was verified since the program started.
    pub fn is_sound(&self) -> bool {
        self.bits & SOUND != 0
    }

    /// Whether its tags are counted as [carried](crate::purge::Carried).
    pub fn is_counted(&self) -> bool {
        self.bits & COUNTED != 0
    }

    /// Whether it is known to be a [marker](Stored::given_up), which answers nothing. What an earlier run wrote is not.
    pub fn is_given_up(&self) -> bool {
        self.bits & GIVEN_UP != 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.place == RecordPosition(0)
    }

    /// Whether this record and `other` are of one variant, so that the later replaces the earlier.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.variant == other.variant
    }
}
