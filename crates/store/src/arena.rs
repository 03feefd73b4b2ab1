//! Memory that the kernel sends without copying: a file in memory, which is mapped for readers.
//!
//! A body in it is written once, through the file: as it comes ([`Growing`]), or when all of it is there ([`keep`]).
//! What is written is read through the mapping like any other bytes. To send a part of it, a plain connection tells the
//! kernel where that lies in the file ([`place_of`]), and the kernel sends the pages themselves. Their written bytes
//! stay as they are until the client has them, whatever happens here: what nobody reads any longer is not overwritten
//! but cut out of the file, and whoever still has its pages keeps them.
//!
//! That holds for whole pages. If a large page also holds something else, or is on its way to a client, a part of it is
//! not cut out but cleared in place. What is written there next would then go out to that client. So the file has small
//! pages only, even if the system prefers large ones: each page is made by touching the mapping, which is advised to
//! have small ones. And no place is used again whose pages are still there.
//!
//! The file is as long as addresses are cheap: for each size of [`Extent`], there is room for more than the budget, and
//! for as much that grows. So it never has to be compacted, and takes no more memory than what lies in it, rounded up
//! to pages.

mod growing;

pub(crate) use growing::{Growing, Grown};

use bytes::Bytes;
use growing::Places;
use memmap2::{Advice, MmapOptions, MmapRaw};
use rustix::{
    fs::{
        FallocateFlags, MemfdFlags, SealFlags, SeekFrom, fallocate, fcntl_add_seals, memfd_create,
        seek,
    },
    io::Errno,
    param::page_size,
    process::{Resource, getrlimit},
};
use std::{
    collections::BTreeMap,
    fmt,
    fs::File,
    io,
    ops::Range,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::fs::FileExt,
    },
    slice,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

/// Bodies shorter than this, in bytes, are sent as cheaply by copying.
pub const LEAST: usize = 32 << 10;

/// Bodies of this length in bytes, and longer ones, are not kept here.
const MOST: usize = 1 << 20;

/// The kernel's unit of memory, in bytes. If the kernel has another, there is no arena: two bodies in one of its pages
/// would be one to it.
const PAGE: usize = 4096;

/// Number of sizes, rounded up: there are four to a doubling, and five doublings from [`LEAST`] to [`MOST`].
const SIZES: u64 = 24;

static ARENA: OnceLock<Arena> = OnceLock::new();

/// The file and its mapping.
struct Arena {
    file: File,
    /// Never written through, and never referred to except where an [`Extent`] lies.
    map: MmapRaw,
    free: Mutex<Free>,
    /// Counts the places of extents that grow.
    growing: Places,
}

/// The unused places of the file, in pages.
#[derive(Debug, Default)]
struct Free {
    /// The first page of the part that was never used.
    next: usize,
    /// Size → places of that size that were given back.
    returned: BTreeMap<usize, Vec<usize>>,
}

/// A body's bytes in the file. Their memory is given back when this is dropped.
pub struct Extent {
    arena: &'static Arena,
    /// The number of its first page.
    first: usize,
    length: usize,
}

/// The owner of `Bytes` that refer to an extent.
struct Lent(Arc<Extent>);

/// Makes the arena, once in a process, for bodies of `budget` bytes together. Until then, or if the system has no such
/// files, there is no arena, and bodies lie elsewhere.
///
/// # Errors
/// Those of the system.
pub fn open(budget: u64) -> io::Result<()> {
    if ARENA.get().is_none() {
        let _ = ARENA.set(Arena::new(budget)?);
    }
    Ok(())
}

/// Blocks the arena: nobody gets room while this is held.
#[cfg(test)]
pub(crate) fn hold() -> impl Sized {
    ARENA.get().map(Arena::free)
}

/// The file that `bytes` lie in, and their offset there; `None` if they do not lie in the arena.
pub fn place_of(bytes: &[u8]) -> Option<(BorrowedFd<'static>, u64)> {
    let arena = ARENA.get()?;
    let offset = bytes
        .as_ptr()
        .addr()
        .checked_sub(arena.map.as_ptr().addr())?;
    (offset < arena.map.len()).then(|| (arena.file.as_fd(), offset as u64))
}

/// Whether bodies of this length belong here.
pub(crate) fn takes(length: usize) -> bool {
    (LEAST..MOST).contains(&length)
}

/// Bytes of memory that a body of this length takes here.
pub(crate) fn weight(length: usize) -> u64 {
    /// The `Extent` itself, with its counters.
    const EXTENT: u64 = 48;
    length.next_multiple_of(PAGE) as u64 + EXTENT
}

/// Copies `pieces`, which are `length` bytes together, into the arena. `None` if the length is too small, too large or
/// wrong, or there is no room.
pub(crate) fn keep(pieces: &[Bytes], length: usize) -> Option<Arc<Extent>> {
    let arena = ARENA.get()?;
    let is_all = pieces.iter().map(Bytes::len).sum::<usize>() == length;
    if !is_all || !takes(length) {
        return None;
    }
    // The place is given back if anything fails.
    let extent = Extent {
        arena,
        first: arena.take(length)?,
        length,
    };
    arena.touch(extent.first, length).ok()?;
    let mut at = (extent.first * PAGE) as u64;
    for piece in pieces {
        arena.file.write_all_at(piece, at).ok()?;
        at += piece.len() as u64;
    }
    Some(Arc::new(extent))
}

impl Arena {
    fn new(budget: u64) -> io::Result<Self> {
        // What is stored, and as much that grows.
        let length = budget.saturating_mul(2 * SIZES);
        if page_size() != PAGE {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // The system would end the process, not refuse the write.
        let most = getrlimit(Resource::Fsize).current;
        if most.is_some_and(|most| most < length) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let kind = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = File::from(memfd_create("larder", kind)?);
        file.set_len(length)?;
        // A process that reads beyond the file's end is ended.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)?;
        let map = MmapOptions::new().no_reserve_swap().map_raw(&file)?;
        map.advise(Advice::NoHugePage)?;
        let arena = Self {
            file,
            map,
            free: Mutex::default(),
            growing: Places::new(budget),
        };
        // Older systems cannot do that, and get no arena.
        arena.touch(0, PAGE)?;
        Ok(arena)
    }

    /// Makes small pages for `length` bytes.
    fn touch(&self, first: usize, length: usize) -> io::Result<()> {
        let advice = Advice::PopulateWrite;
        self.map.advise_range(advice, first * PAGE, length)
    }

    /// Cuts out `size` pages. Returns whether they are gone.
    fn cut_out(&self, first: usize, size: usize) -> bool {
        let (offset, length) = ((first * PAGE) as u64, (size * PAGE) as u64);
        let cut = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&self.file, cut, offset, length).is_ok()
            && match seek(&self.file, SeekFrom::Data(offset)) {
                Ok(next) => next >= offset + length,
                Err(error) => error == Errno::NXIO,
            }
    }

    /// Takes a place for `length` bytes. Returns its first page.
    fn take(&self, length: usize) -> Option<usize> {
        let size = size(length);
        let mut free = self.free();
        if let Some(first) = free.returned.get_mut(&size).and_then(Vec::pop) {
            return Some(first);
        }
        let first = free.next;
        let next = first.checked_add(size)?;
        (next <= self.map.len() / PAGE).then(|| {
            free.next = next;
            first
        })
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Extent {
    /// Its length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// The bytes. They keep the extent alive.
    pub fn bytes(self: &Arc<Self>) -> Bytes {
        Bytes::from_owner(Lent(Arc::clone(self)))
    }

    /// Bytes of memory that it takes.
    pub(crate) fn weight(&self) -> u64 {
        weight(self.length)
    }

    /// The bytes of `part`, which must be written.
    fn part(&self, part: &Range<usize>) -> &[u8] {
        debug_assert!(part.start <= part.end && part.end <= self.length);
        let begin = self
            .arena
            .map
            .as_ptr()
            .wrapping_add(self.first * PAGE + part.start);
        #[expect(
            unsafe_code,
            reason = "these bytes are the extent's alone: mapped for as long as the process lives, written before anybody \
            refers to them, and not again before nobody has the extent"
        )]
        // SAFETY: see above. Bytes of an extent that grows are referred to once they are written (`Grown::bytes`), and
        // what follows them is written beside them. They lie within the mapping (`Arena::take`), and its file is never
        // shorter.
        unsafe {
            slice::from_raw_parts(begin, part.len())
        }
    }
}

impl Drop for Extent {
    fn drop(&mut self) {
        let size = size(self.length);
        // If that fails, the place is never used again.
        if self.arena.cut_out(self.first, size) {
            let mut free = self.arena.free();
            free.returned.entry(size).or_default().push(self.first);
        }
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        self.0.part(&(0..self.0.length))
    }
}

impl fmt::Debug for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extent")
            .field("first", &self.first)
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

/// The pages that `length` bytes take of the file, rounded up so that there are few sizes.
fn size(length: usize) -> usize {
    let pages = length.div_ceil(PAGE);
    let step = (pages.next_power_of_two() / 8).max(1);
    pages.div_ceil(step) * step
}

#[cfg(test)]
mod tests;
