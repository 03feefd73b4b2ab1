//! An extent while its bytes still come: one [`Growing`] writes it, and whoever holds its [`Grown`] part reads what is
//! there.

use super::{ARENA, Arena, Extent, PAGE, takes};
use crate::Reservation;
use bytes::Bytes;
use std::{
    fmt,
    ops::Range,
    os::unix::fs::FileExt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicU64, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};

/// Bytes that all places of extents that grow may take together: as many as stored ones may. A place takes addresses
/// before it takes memory, and those are never given back for extents of other sizes.
#[derive(Debug)]
pub(super) struct Places {
    most: u64,
    taken: AtomicU64,
}

/// Writes a body into the arena as it comes.
#[derive(Debug)]
pub(crate) struct Growing {
    grown: Arc<Grown>,
    /// Pages that were made so far.
    pages: usize,
}

/// What has come of a body in the arena.
#[derive(Debug)]
pub(crate) struct Grown {
    extent: Arc<Extent>,
    /// Bytes that are written. They are not written again.
    written: AtomicUsize,
    /// What its pages take of the budget, until all of it has come or nobody has it any more.
    room: Mutex<Reservation>,
}

/// The owner of `Bytes` that refer to a part of what has come. They keep its share of the budget.
struct LentPart {
    grown: Arc<Grown>,
    part: Range<usize>,
}

impl Places {
    pub(super) fn new(most: u64) -> Self {
        Self {
            most,
            taken: AtomicU64::new(0),
        }
    }

    pub(super) fn take(&self, bytes: u64) -> bool {
        let taken = self.taken.fetch_update(Relaxed, Relaxed, |taken| {
            taken.checked_add(bytes).filter(|sum| *sum <= self.most)
        });
        taken.is_ok()
    }

    pub(super) fn give_back(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Relaxed);
    }
}

impl Growing {
    /// Begins a body of `length` bytes. It takes memory only as its bytes come, which `room` counts. `None` if such
    /// bodies do not belong here, or there is no place.
    pub(crate) fn begin(length: usize, room: Reservation) -> Option<Self> {
        let arena = ARENA.get().filter(|_| takes(length))?;
        if !arena.growing.take(length as u64) {
            return None;
        }
        let Some(first) = arena.take(length) else {
            arena.growing.give_back(length as u64);
            return None;
        };
        let extent = Extent {
            arena,
            first,
            length,
        };
        let grown = Grown {
            extent: Arc::new(extent),
            written: AtomicUsize::new(0),
            room: Mutex::new(room),
        };
        Some(Self {
            grown: Arc::new(grown),
            pages: 0,
        })
    }

    /// Appends `piece`. Returns whether the budget had room; it is taken in any case. `None`, with nothing appended, if
    /// the piece is longer than what is still to come, or the system refuses; then this is the end of what lies here.
    pub(crate) fn append(&mut self, piece: &[u8]) -> Option<bool> {
        let (grown, extent) = (&self.grown, &self.grown.extent);
        let at = grown.written.load(Relaxed);
        let end = at + piece.len();
        if end > extent.length {
            return None;
        }
        let arena: &Arena = extent.arena;
        let pages = end.div_ceil(PAGE);
        let more = pages - self.pages;
        let fits = more == 0 || grown.take_room(more);
        let begin = extent.first * PAGE;
        if more > 0 {
            arena.touch(extent.first + self.pages, more * PAGE).ok()?;
            self.pages = pages;
        }
        arena.file.write_all_at(piece, (begin + at) as u64).ok()?;
        grown.written.store(end, Release);
        Some(fits)
    }

    /// What has come so far.
    pub(crate) fn grown(&self) -> &Arc<Grown> {
        &self.grown
    }

    /// The whole body, which its keeper counts from now on; `None` if any of it has not come.
    pub(crate) fn finish(self) -> Option<Arc<Extent>> {
        let grown = &self.grown;
        (grown.written.load(Relaxed) == grown.extent.length).then(|| {
            grown.lock().release();
            grown.extent.clone()
        })
    }
}

impl Grown {
    /// What has come of `part`.
    pub(crate) fn bytes(self: &Arc<Self>, part: Range<usize>) -> Bytes {
        let end = part.end.min(self.written.load(Acquire));
        let part = part.start.min(end)..end;
        let grown = self.clone();
        Bytes::from_owner(LentPart { grown, part })
    }

    /// What it holds of the budget.
    pub(crate) fn room(&self) -> u64 {
        self.lock().bytes()
    }

    /// Passes `bytes` of that, or all of it if it is less, on to another reservation.
    pub(crate) fn pass_room(&self, bytes: u64, to: &mut Reservation) {
        let mut room = self.lock();
        let passed = bytes.min(room.bytes());
        let left = room.bytes() - passed;
        room.shrink_to(left);
        to.take(passed);
    }

    /// Counts `pages` more. Returns whether there was room.
    fn take_room(&self, pages: usize) -> bool {
        let bytes = (pages * PAGE) as u64;
        let mut room = self.lock();
        let fits = room.grow(bytes);
        if !fits {
            room.take(bytes);
        }
        fits
    }

    fn lock(&self) -> MutexGuard<'_, Reservation> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Grown {
    fn drop(&mut self) {
        let Extent { arena, length, .. } = &*self.extent;
        arena.growing.give_back(*length as u64);
    }
}

impl AsRef<[u8]> for LentPart {
    fn as_ref(&self) -> &[u8] {
        // `Grown::bytes` lends no more than what is written.
        self.grown.extent.part(&self.part)
    }
}

impl fmt::Debug for LentPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part.fmt(f)
    }
}
