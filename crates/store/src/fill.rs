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
//!   passed them, or once more than [`WINDOW`] is held. Readers that are behind, and new ones, read from disk what is no
//!   longer in memory. The writer waits for the device, never for a reader.
//! - *spilled* otherwise, and when the device fails: no new reader may join, pieces that all readers have passed are dropped,
//!   and the writer waits while the slowest reader is more than [`WINDOW`] behind. Nothing is kept in the end.
//!
//! Either way an endless body takes bounded memory.
//!
//! A fill in which nobody is interested any more is abandoned: its writer learns it and stops the fetch.

mod backing;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use backing::{Backing, Overflow};
pub use reader::Reader;
pub use writer::{Pushed, Writer};

use crate::{Piece, Reservation};
use bytes::Bytes;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// Bytes of a fill that stay in memory once it has outgrown it, besides those that the device has not written yet; and how far
/// the writer of a spilled fill may run ahead of its slowest reader.
pub const WINDOW: u64 = 1 << 20;

/// The shared state of one fill.
#[derive(Debug)]
pub struct Fill {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The announced length of the body, once the head has come and if it says.
    length: Option<u64>,
    /// The pieces in memory, each with where it begins. They follow one another, and the last ends at `received`.
    pieces: VecDeque<(u64, Bytes)>,
    /// Bytes pushed so far.
    received: u64,
    keeping: Keeping,
    /// [`WINDOW`].
    window: u64,
    end: Option<End>,
    /// It goes on to its end whoever leaves ([`Interest::keep`]).
    kept: bool,
    /// Those who wait for the answer or read it.
    interested: usize,
    readers: Vec<Place>,
    next_reader: u64,
    /// The writer, waiting for the slowest reader or for the last interest to go.
    writer: Option<Waker>,
}

/// Where the bytes are that came first.
#[derive(Clone, Debug)]
enum Keeping {
    /// In memory, all of them.
    Memory,
    /// Here, and what follows in memory.
    Backed(Piece),
    /// Gone, once every reader has passed them.
    Nowhere,
}

/// How a fill ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Complete,
    Failed,
}

/// Where one reader stands.
#[derive(Debug)]
struct Place {
    reader: u64,
    /// Bytes taken.
    at: u64,
    waker: Option<Waker>,
    /// It was too slow for a spilled fill, or needs what is gone: it gets an error.
    cut_off: bool,
}

/// The fill ended before its body was complete, this reader was too slow for it, or what it needs cannot be read from disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

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
            state: Mutex::new(State {
                length: None,
                pieces: VecDeque::new(),
                received: 0,
                keeping: Keeping::Memory,
                window,
                end: None,
                kept: false,
                interested: 0,
                readers: Vec::new(),
                next_reader: 0,
                writer: None,
            }),
        });
        (fill.clone(), Writer::new(fill, reservation))
    }

    /// The announced length.
    pub fn length(&self) -> Option<u64> {
        self.lock().length
    }

    /// Bytes that have come so far.
    pub fn received(&self) -> u64 {
        self.lock().received
    }

    /// Whether a reader may still join.
    pub fn is_open(&self) -> bool {
        self.lock().is_open()
    }

    /// Ready when nobody is interested any more in what is still to come. Where everything that was announced has come, that
    /// is nothing: who has read it all may be gone before the writer has finished.
    pub fn poll_abandoned(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        let missing = state.length.is_none_or(|length| state.received < length);
        if state.interested == 0 && !state.kept && missing {
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
        state.interested += 1;
        let reader = state.next_reader;
        state.next_reader += 1;
        state.readers.push(Place {
            reader,
            at: 0,
            waker: None,
            cut_off: false,
        });
        drop(state);
        Some(Reader::new(Interest { fill: self.clone() }, reader))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_open(&self) -> bool {
        !self.is_spilled() && self.end != Some(End::Failed)
    }

    fn is_spilled(&self) -> bool {
        matches!(self.keeping, Keeping::Nowhere)
    }

    fn wake_readers(&mut self) {
        for place in &mut self.readers {
            if let Some(waker) = place.waker.take() {
                waker.wake();
            }
        }
    }

    fn place(&mut self, reader: u64) -> Option<&mut Place> {
        self.readers.iter_mut().find(|place| place.reader == reader)
    }

    /// `reader` has taken `bytes` more. The writer, where it may wait for that.
    fn pass(&mut self, reader: u64, bytes: u64) -> Option<Waker> {
        self.place(reader)?.at += bytes;
        self.trim();
        self.is_spilled().then(|| self.writer.take())?
    }

    /// Bytes the slowest reader has taken.
    fn slowest(&self) -> u64 {
        let followers = self.readers.iter().filter(|place| !place.cut_off);
        let places = followers.map(|place| place.at);
        places.min().unwrap_or(self.received)
    }

    /// Where memory begins.
    fn first(&self) -> u64 {
        self.pieces
            .front()
            .map_or(self.received, |(first, _)| *first)
    }

    /// Bytes in memory.
    fn held(&self) -> u64 {
        self.received - self.first()
    }

    /// What memory has from `at` on, up to the end of a piece.
    fn piece(&self, at: u64) -> Option<Bytes> {
        let next = self.pieces.partition_point(|(first, _)| *first <= at);
        let (first, piece) = self.pieces.get(next.checked_sub(1)?)?;
        let skip = usize::try_from(at - first).ok()?;
        (skip < piece.len()).then(|| piece.slice(skip..))
    }

    /// Drops the pieces that need not be in memory any more.
    fn trim(&mut self) {
        let (written, window) = match &self.keeping {
            Keeping::Memory => return,
            Keeping::Backed(written) => (written.len(), self.window),
            Keeping::Nowhere => (u64::MAX, u64::MAX),
        };
        let slowest = self.slowest();
        while let Some((first, piece)) = self.pieces.front() {
            let end = first + piece.len() as u64;
            if end > written || (end > slowest && self.held() <= window) {
                break;
            }
            self.pieces.pop_front();
        }
    }

    /// Keeps nothing from now on: it goes on for those who read it and for nobody else.
    fn spill(&mut self) {
        self.keeping = Keeping::Nowhere;
        self.kept = false;
        let first = self.first();
        self.cut_off(|place| place.at < first);
    }

    /// Cuts off readers.
    fn cut_off(&mut self, which: impl Fn(&Place) -> bool) {
        for place in self.readers.iter_mut().filter(|place| which(place)) {
            place.cut_off = true;
        }
        self.wake_readers();
        self.trim();
    }
}

/// Somebody waits for this fill. While any is held the fetch goes on.
#[derive(Debug)]
pub struct Interest {
    fill: Arc<Fill>,
}

impl Interest {
    /// Lets the fill go on to its end although nobody may read it: the client has its answer and did not leave.
    pub fn keep(self) {
        self.fill.lock().kept = true;
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
