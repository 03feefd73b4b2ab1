//! The place that bytes lie in: a file of their own, or a record of a segment.

use super::{
    chunk, device::Device, format::CHUNK, inline::Inline, large::Large, layout, open::OpenSource,
};
use std::{path::PathBuf, sync::Arc};

/// The place that bytes lie in.
#[derive(Clone, Debug)]
pub(super) enum DiskSource {
    /// A file of their own.
    Large(Arc<Large>),
    /// A record of a segment.
    Inline(Arc<Inline>),
}

impl DiskSource {
    /// The device that it lies on.
    pub fn device(&self) -> &Arc<Device> {
        match self {
            Self::Large(large) => &large.device,
            Self::Inline(inline) => &inline.device,
        }
    }

    /// Opens it for a reader: the file stays open meanwhile.
    pub fn open(&self) -> OpenSource {
        let segment = match self {
            Self::Large(_) => None,
            Self::Inline(inline) => inline.segment(),
        };
        OpenSource::new(self.clone(), segment)
    }

    /// The path of the file, for messages and for checks.
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Large(large) => large.device.large_path(large.id),
            Self::Inline(inline) => inline.path(),
        }
    }

    /// Notes that it cannot be read.
    pub fn fail(&self) {
        match self {
            Self::Large(large) => large.fail(),
            Self::Inline(inline) => inline.fail(),
        }
    }

    /// Whether it [could not be read](Self::fail).
    pub fn is_failed(&self) -> bool {
        match self {
            Self::Large(large) => large.is_failed(),
            Self::Inline(inline) => inline.is_failed(),
        }
    }

    /// Whether chunk `number` was verified since the program started.
    pub fn is_sound(&self, number: u64) -> bool {
        match self {
            Self::Large(large) => large.is_sound(number),
            Self::Inline(inline) => inline.is_sound(number),
        }
    }

    /// Whether all of it was seen in the page cache a moment ago.
    pub fn was_at_hand(&self) -> bool {
        match self {
            Self::Large(large) => large.was_at_hand(),
            Self::Inline(inline) => inline.was_at_hand(),
        }
    }

    /// Notes that all of it was in the page cache when it was read. The read began at `second` of the device.
    pub fn see_at_hand(&self, second: u32) {
        match self {
            Self::Large(large) => large.see_at_hand(second),
            Self::Inline(inline) => inline.see_at_hand(second),
        }
    }

    /// The offset in the file of the body's byte `at`.
    pub fn offset(&self, at: u64) -> u64 {
        let number = at / CHUNK as u64;
        let first = match self {
            Self::Large(_) => layout::offset(number),
            Self::Inline(inline) => inline.offset(number),
        };
        first + (at - chunk::begin(number))
    }

    /// The offset in the file of the body's byte `at`, and how many of the bytes up to `end` lie together there.
    pub fn run(&self, at: u64, end: u64) -> (u64, u64) {
        let end = match self {
            Self::Large(_) => end.min(at.saturating_add(layout::run(at))),
            Self::Inline(_) => end,
        };
        (self.offset(at), end.saturating_sub(at))
    }
}
