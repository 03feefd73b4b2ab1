//! A body on its way in: one [`Writer`], many [`Reader`]s that follow it while it is written.
//!
//! Life of a fill:
//! 1. It is made before the fetch begins; whoever waits for the answer holds an [`Interest`].
//! 2. The writer pushes pieces. Readers take them at their own pace, from the first byte on.
//! 3. It ends: [`Writer::finish`] hands over what was kept as a stored body, or it fails, and every reader learns that.
//!
//! While a fill is *kept*, all pieces stay in memory and the writer never waits. When it outgrows memory
//! ([`Writer::overflow`]) it is
//! - *backed*, where the disk tier takes it: pieces go there too, and leave memory once they are written and readers have
//!   passed them, or once more than [`WINDOW`] is held (4 KiB while memory is short). Readers that are behind, and new ones, read from
//!   disk what is no longer in memory. The writer waits for the device, never for a reader.
//! - *spilled* otherwise, and when the device fails: no new reader may join, pieces that all readers have passed are dropped,
//!   and the writer waits while the slowest reader is more than [`WINDOW`] behind, or has to read what lies on disk alone. One for
//!   whom others wait too long is cut off ([`Writer::waited`]). Nothing is kept in the end.
//!
//! Either way an endless body takes bounded memory.
//!
//! A fill in which nobody is interested any more is abandoned: its writer learns it and stops the fetch.

mod backing;
mod followers;
mod reader;
mod state;
#[cfg(test)]
mod tests;
mod writer;

pub use backing::{Backing, Overflow};
pub use reader::Reader;
pub use writer::{Pushed, Writer};

use crate::Reservation;
use state::{Deserted, End, FillState, Keeping};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

/// Bytes of a fill that stay in memory once it has outgrown it, besides those that the device has not written yet; and how far
/// the writer of a spilled fill may run ahead of its slowest reader.
pub const WINDOW: u64 = 1 << 20;

/// The shared state of one fill.
#[derive(Debug)]
pub struct Fill {
    state: Mutex<FillState>,
}

/// Why a reader gets no more although the body has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// What the fill is written from failed: why, in one token of [whoever writes it](Writer::fail).
    Source(&'static str),
    /// The writer left without a word.
    Left,
    /// This reader was too slow for what is not kept.
    Late,
    /// What it needs cannot be read from disk.
    Unreadable,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the body broke off")
    }
}

impl std::error::Error for Broken {}

impl Fill {
    /// A new fill and its one writer.
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

    /// Whether its source is known to [send parts](Writer::announce_ranges) of the body without the rest.
    pub fn has_ranges(&self) -> bool {
        self.lock().has_ranges
    }

    /// Bytes that have come so far.
    pub fn received(&self) -> u64 {
        self.lock().received
    }

    /// Bytes that the fastest reader has taken; `None` where there is none.
    pub fn fastest(&self) -> Option<u64> {
        self.lock().readers.fastest()
    }

    /// Bytes that the slowest reader has taken; all that have come where there is none.
    pub fn slowest(&self) -> u64 {
        self.lock().slowest()
    }

    /// Whether a reader may still join.
    pub fn is_open(&self) -> bool {
        self.lock().is_open()
    }

    /// Ready when nobody is interested any more in what is still to come, or it was [given up](Writer::give_up); the fill has failed
    /// then, so that nobody joins what the writer is about to leave. Where everything that was announced has come, that is nothing: who has read it all may be gone
    /// before the writer has finished.
    pub fn poll_abandoned(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        let missing = state.length.is_none_or(|length| state.received < length);
        if state.given_up
            || (state.interested == 0 && state.deserted != Deserted::GoesOn && missing)
        {
            state.end.get_or_insert(End::Failed(Broken::Left));
            return Poll::Ready(());
        }
        state.writer = Some(context.waker().clone());
        Poll::Pending
    }

    /// Declares interest: the fetch goes on while any is held.
    pub fn interest(self: &Arc<Self>) -> Interest {
        self.lock().interested += 1;
        Interest { fill: self.clone() }
    }

    /// A reader from the first byte; `None` where that is gone already or the fill has failed.
    pub fn reader(self: &Arc<Self>) -> Option<Reader> {
        let mut state = self.lock();
        if !state.is_open() {
            return None;
        }
        let reader = state.join();
        drop(state);
        Some(Reader::new(Interest { fill: self.clone() }, reader))
    }

    /// The body was [complete](Writer::finish), and is not stored after all: all that those who read have still to get is in the budget
    /// from now on.
    pub fn spill(&self) {
        let mut state = self.lock();
        let held = state.held();
        state.reservation.hold(held);
        state.spill();
    }

    fn lock(&self) -> MutexGuard<'_, FillState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody waits for this fill. While any is held the fetch goes on.
#[derive(Debug)]
pub struct Interest {
    fill: Arc<Fill>,
}

impl Interest {
    /// Lets the fill go on to its end although nobody may read it: the client has its answer and did not leave. What is spilled, or
    /// [serves readers](Writer::serve_readers) alone, is of no use to anybody then, and does not.
    pub fn keep(self) {
        self.fill.lock().keep();
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        let mut state = self.fill.lock();
        state.interested -= 1;
        let writer = if state.interested == 0 {
            state.writer.take()
        } else {
            None
        };
        drop(state);
        if let Some(writer) = writer {
            writer.wake();
        }
    }
}
