//! A body on its way in: one [`Writer`], many [`Reader`]s that follow it while it is written.
//!
//! Life of a fill:
//! 1. It is made before the fetch begins. Whoever waits for the answer holds an [`Interest`].
//! 2. The writer pushes pieces. Readers take them at their own pace, from the first byte on.
//! 3. It ends: [`Writer::finish`] hands over what was kept as a stored body, or the fill fails. Every reader learns
//!    that.
//!
//! While a fill is *kept*, all pieces stay in memory and the writer never waits. When it outgrows memory
//! ([`Writer::overflow`]) it is
//! - *backed*, if the disk tier takes it, and memory has room for what waits for the device: pieces go there too. They
//!   leave memory once they are written and readers have passed them, or once more than [`WINDOW`] is held (4 KiB while
//!   memory is short). Readers that are behind, and new ones, read from disk what is no longer in memory. The writer
//!   waits for the device, never for a reader; while memory is short, it waits sooner.
//! - *spilled* otherwise, and when the device fails: no new reader may join, and pieces that all readers have passed
//!   are dropped. The writer waits while the slowest reader is more than [`WINDOW`] behind, or must read what is only
//!   on disk. A reader that others wait for too long is cut off ([`Writer::waited`]). Nothing is kept in the end.
//!
//! Either way an endless body takes bounded memory.
//!
//! A fill in which nobody is interested any longer is abandoned: its writer learns that and stops the fetch.

mod backing;
mod followers;
mod held;
mod interest;
mod reader;
mod state;
#[cfg(test)]
mod tests;
mod writer;

pub use backing::{Backing, Overflow};
pub use interest::{Interest, Interested};
pub use reader::Reader;
pub use writer::{Pushed, Writer};

use crate::Reservation;
use interest::Deserted;
use state::{End, FillState, Keeping};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

/// Bytes of a fill that stay in memory once it has outgrown it, besides those that the device has not written yet. Also
/// how far the writer of a spilled fill may run ahead of its slowest reader.
pub const WINDOW: u64 = 1 << 20;

/// The shared state of one fill.
#[derive(Debug)]
pub struct Fill {
    state: Mutex<FillState>,
}

/// Why a reader gets no more although the body has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The source of the fill failed. The reason is one token of [its writer](Writer::fail).
    Source(&'static str),
    /// The writer left before the end, without a reason.
    Left,
    /// This reader was too slow for a fill that is not kept.
    Late,
    /// The bytes that the reader needs cannot be read from disk.
    Unreadable,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the body broke off")
    }
}

impl std::error::Error for Broken {}

impl Fill {
    /// Creates a fill and its one writer.
    pub fn begin(reservation: Reservation) -> (Arc<Self>, Writer) {
        Self::begin_within(reservation, WINDOW)
    }

    fn begin_within(reservation: Reservation, window: u64) -> (Arc<Self>, Writer) {
        let fill = Arc::new(Self {
            state: Mutex::new(FillState::new(reservation, window)),
        });
        (fill.clone(), Writer::new(fill))
    }

    /// The announced length.
    pub fn length(&self) -> Option<u64> {
        self.lock().length
    }

    /// Whether the source is known to [send parts](Writer::announce_ranges) of the body without the rest.
    pub fn has_ranges(&self) -> bool {
        self.lock().has_ranges
    }

    /// Bytes that have arrived so far.
    pub fn received(&self) -> u64 {
        self.lock().held.received()
    }

    /// Bytes that the fastest reader has taken; `None` if there is no reader.
    pub fn fastest(&self) -> Option<u64> {
        self.lock().readers.fastest()
    }

    /// Bytes that the slowest reader has taken; all that have arrived if there is no reader.
    pub fn slowest(&self) -> u64 {
        self.lock().slowest()
    }

    /// Whether a reader may still join.
    pub fn is_open(&self) -> bool {
        self.lock().is_open()
    }

    /// Whether it is no longer kept, and so will not be stored.
    pub fn is_spilled(&self) -> bool {
        self.lock().is_spilled()
    }

    /// Ready when [nobody](Interested::Nobody) is interested any longer in what is still to come.
    pub fn poll_abandoned(&self, context: &mut Context<'_>) -> Poll<()> {
        match self.poll_interested(context) {
            Interested::Nobody => Poll::Ready(()),
            Interested::Somebody | Interested::Later => Poll::Pending,
        }
    }

    /// Returns who is interested in what is still to come. If that is anybody, `context` is woken when the last of them
    /// leaves.
    pub fn poll_interested(&self, context: &mut Context<'_>) -> Interested {
        let mut state = self.lock();
        let interested = state.interested();
        if interested == Interested::Nobody {
            state.end.get_or_insert(End::Failed(Broken::Left));
        } else {
            state.writer = Some(context.waker().clone());
        }
        interested
    }

    /// Declares interest. The fetch goes on while any is held.
    pub fn interest(self: &Arc<Self>) -> Interest {
        self.lock().interested += 1;
        Interest { fill: self.clone() }
    }

    /// Creates a reader from the first byte; `None` if that byte is gone already or the fill has failed.
    pub fn reader(self: &Arc<Self>) -> Option<Reader> {
        let mut state = self.lock();
        if !state.is_open() {
            return None;
        }
        let reader = state.join();
        drop(state);
        Some(Reader::new(Interest { fill: self.clone() }, reader))
    }

    /// Spills a fill whose body was [complete](Writer::finish), because it is not stored after all. From now on the
    /// budget counts everything that readers have still to get.
    pub fn spill(&self) {
        let mut state = self.lock();
        let held = state.held.bytes();
        state.reservation.hold(held);
        state.spill();
    }

    fn lock(&self) -> MutexGuard<'_, FillState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
