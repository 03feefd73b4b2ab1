//! A body on its way in: one [`Writer`], many [`Reader`]s that follow it while it is written.
//!
//! Life of a fill:
//! 1. It is made before the fetch begins; whoever waits for the answer holds an [`Interest`].
//! 2. The writer pushes pieces. Readers take them at their own pace, from the first byte on.
//! 3. It ends: [`Writer::finish`] hands over the pieces as a stored body, or it fails, and every reader learns that.
//!
//! While a fill is *kept*, all pieces stay and the writer never waits. When it outgrows its limit it is
//! [spilled](Writer::spill): from then on no new reader may join, pieces that all readers have passed are dropped, and
//! the writer waits while the slowest reader is more than [`WINDOW`] behind. So an endless body takes bounded memory.
//!
//! A fill in which nobody is interested any more is abandoned: its writer learns it and stops the fetch.

use crate::{Body, Reservation};
use bytes::Bytes;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// How far the writer of a spilled fill may run ahead of its slowest reader, in bytes.
pub const WINDOW: u64 = 1 << 20;

/// The shared state of one fill.
#[derive(Debug)]
pub struct Fill {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The announced length of the body, once the head has come and if it says.
    length: Option<u64>,
    /// Pieces not yet dropped, and how many were dropped before them.
    pieces: VecDeque<Bytes>,
    dropped: usize,
    /// Bytes pushed so far.
    received: u64,
    spilled: bool,
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
    /// Pieces taken, and the bytes in them.
    taken: usize,
    at: u64,
    waker: Option<Waker>,
    /// It was too slow for a spilled fill: it gets an error.
    cut_off: bool,
}

/// The fill ended before its body was complete, or this reader was too slow for it.
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
        let fill = Arc::new(Self {
            state: Mutex::default(),
        });
        let writer = Writer {
            fill: fill.clone(),
            reservation,
            ended: false,
        };
        (fill, writer)
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
        let state = self.lock();
        !state.spilled && state.end != Some(End::Failed)
    }

    /// Ready when nobody is interested any more.
    pub fn poll_abandoned(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.interested == 0 && !state.kept {
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
        if state.spilled || state.end == Some(End::Failed) {
            return None;
        }
        state.interested += 1;
        let reader = state.next_reader;
        state.next_reader += 1;
        state.readers.push(Place {
            reader,
            taken: 0,
            at: 0,
            waker: None,
            cut_off: false,
        });
        drop(state);
        Some(Reader {
            interest: Interest { fill: self.clone() },
            reader,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn wake_readers(&mut self) {
        for place in &mut self.readers {
            if let Some(waker) = place.waker.take() {
                waker.wake();
            }
        }
    }

    /// Bytes the slowest reader has taken.
    fn slowest(&self) -> u64 {
        self.followers()
            .map(|place| place.at)
            .min()
            .unwrap_or(self.received)
    }

    /// Drops pieces of a spilled fill that every reader has taken.
    fn drop_passed(&mut self) {
        let all = self.dropped + self.pieces.len();
        let passed = self
            .followers()
            .map(|place| place.taken)
            .min()
            .unwrap_or(all);
        self.pieces.drain(..passed.saturating_sub(self.dropped));
        self.dropped = self.dropped.max(passed);
    }

    fn followers(&self) -> impl Iterator<Item = &Place> {
        self.readers.iter().filter(|place| !place.cut_off)
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

/// Writes a fill. Dropped without [`finish`](Self::finish), the fill has failed.
#[derive(Debug)]
pub struct Writer {
    fill: Arc<Fill>,
    reservation: Reservation,
    ended: bool,
}

/// What became of a pushed piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// Kept for the store.
    Kept,
    /// The budget is exhausted: the fill is spilled now, the piece goes to those who read already.
    Spilled,
}

impl Writer {
    /// The fill written to.
    pub fn fill(&self) -> &Arc<Fill> {
        &self.fill
    }

    /// The head has come and announces this length, if any.
    pub fn announce(&mut self, length: Option<u64>) {
        self.fill.lock().length = length;
    }

    /// Appends a copy of `piece`, in an allocation of its own: what arrives from a connection is often a slice of a much larger buffer.
    pub fn push(&mut self, piece: &[u8]) -> Pushed {
        let mut state = self.fill.lock();
        let fits = state.spilled || self.reservation.grow(piece.len() as u64);
        state.received += piece.len() as u64;
        state.pieces.push_back(Bytes::copy_from_slice(piece));
        state.wake_readers();
        drop(state);
        if fits {
            return Pushed::Kept;
        }
        self.spill();
        Pushed::Spilled
    }

    /// Stops keeping: the body will not be stored. Those who read go on, nobody else may join.
    pub fn spill(&mut self) {
        let mut state = self.fill.lock();
        state.spilled = true;
        // It goes on for those who read it and for nobody else: there is nothing left to be kept.
        state.kept = false;
        state.drop_passed();
        drop(state);
        self.reservation.release();
    }

    /// Whether it is spilled.
    pub fn is_spilled(&self) -> bool {
        self.fill.lock().spilled
    }

    /// Ready when the next piece may be pushed: at once while kept, and when the slowest reader has come near otherwise.
    pub fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.fill.lock();
        if !state.spilled || state.received - state.slowest() <= WINDOW {
            return Poll::Ready(());
        }
        state.writer = Some(context.waker().clone());
        Poll::Pending
    }

    /// Gives up on readers of a spilled fill that are more than the window behind.
    pub fn cut_off_slow(&mut self) {
        let mut state = self.fill.lock();
        let received = state.received;
        for place in state
            .readers
            .iter_mut()
            .filter(|place| received - place.at > WINDOW)
        {
            place.cut_off = true;
        }
        state.wake_readers();
        state.drop_passed();
    }

    /// The body is complete. Returns it for the store, unless the fill was spilled.
    pub fn finish(mut self) -> Option<Body> {
        self.ended = true;
        let mut state = self.fill.lock();
        state.end = Some(End::Complete);
        state.wake_readers();
        if state.spilled {
            return None;
        }
        let pieces: Vec<Bytes> = state.pieces.iter().cloned().collect();
        let length = state.received as usize;
        drop(state);
        Some(Body::from_chunks(pieces, length))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.ended {
            let mut state = self.fill.lock();
            state.end = Some(End::Failed);
            state.wake_readers();
        }
    }
}

/// Follows a fill from its first byte.
#[derive(Debug)]
pub struct Reader {
    interest: Interest,
    reader: u64,
}

impl Reader {
    /// The next piece; `None` at the end of a complete body.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        let mut guard = self.interest.fill.lock();
        let state = &mut *guard;
        let Some(index) = state
            .readers
            .iter()
            .position(|place| place.reader == self.reader)
        else {
            return Poll::Ready(Some(Err(Broken)));
        };
        let place = &mut state.readers[index];
        if place.cut_off {
            return Poll::Ready(Some(Err(Broken)));
        }
        let piece = place
            .taken
            .checked_sub(state.dropped)
            .and_then(|at| state.pieces.get(at))
            .cloned();
        if let Some(piece) = piece {
            place.taken += 1;
            place.at += piece.len() as u64;
            let writer = if state.spilled {
                state.drop_passed();
                state.writer.take()
            } else {
                None
            };
            drop(guard);
            if let Some(writer) = writer {
                writer.wake();
            }
            return Poll::Ready(Some(Ok(piece)));
        }
        match state.end {
            Some(End::Complete) => Poll::Ready(None),
            Some(End::Failed) => Poll::Ready(Some(Err(Broken))),
            None => {
                state.readers[index].waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// The fill it follows.
    pub fn fill(&self) -> &Arc<Fill> {
        &self.interest.fill
    }

    /// As [`Interest::keep`].
    pub fn keep(&self) {
        self.interest.fill.lock().kept = true;
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.interest.fill.lock();
        state.readers.retain(|place| place.reader != self.reader);
        if state.spilled {
            state.drop_passed();
        }
        let writer = state.writer.take();
        drop(state);
        if let Some(writer) = writer {
            writer.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Budget;

    fn begin(limit: u64) -> (Arc<Fill>, Writer) {
        Fill::begin(Budget::new(limit).reservation())
    }

    fn next(reader: &mut Reader) -> Poll<Option<Result<Bytes, Broken>>> {
        reader.poll_next(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn readers_follow_while_it_is_written_each_from_the_first_byte() {
        let (fill, mut writer) = begin(1 << 20);
        let mut early = fill.reader().expect("fresh");
        assert!(next(&mut early).is_pending());
        assert_eq!(writer.push(b"one"), Pushed::Kept);
        assert_eq!(next(&mut early), Poll::Ready(Some(Ok(Bytes::from("one")))));
        writer.push(b"two");
        let mut late = fill.reader().expect("kept");
        assert_eq!(next(&mut late), Poll::Ready(Some(Ok(Bytes::from("one")))));
        let Some(Body::Whole(body)) = writer.finish() else {
            panic!("kept")
        };
        assert_eq!(body, "onetwo");
        assert_eq!(next(&mut early), Poll::Ready(Some(Ok(Bytes::from("two")))));
        assert_eq!(next(&mut early), Poll::Ready(None));
    }

    #[test]
    fn a_dropped_writer_breaks_every_reader() {
        let (fill, mut writer) = begin(1 << 20);
        let mut reader = fill.reader().expect("fresh");
        writer.push(b"half");
        drop(writer);
        assert!(next(&mut reader).is_ready());
        assert_eq!(next(&mut reader), Poll::Ready(Some(Err(Broken))));
        assert!(fill.reader().is_none());
    }

    #[test]
    fn a_spilled_fill_holds_no_more_than_the_window_and_cuts_the_slow_off() {
        let (fill, mut writer) = begin(WINDOW);
        let mut quick = fill.reader().expect("fresh");
        let mut slow = fill.reader().expect("fresh");
        let piece = vec![0u8; WINDOW as usize];
        assert_eq!(writer.push(&piece), Pushed::Kept);
        assert_eq!(writer.push(&piece), Pushed::Spilled);
        assert!(fill.reader().is_none(), "nobody joins a spilled fill");
        let mut context = Context::from_waker(Waker::noop());
        assert!(writer.poll_room(&mut context).is_pending());
        while next(&mut quick).is_ready() {}
        assert!(
            writer.poll_room(&mut context).is_pending(),
            "the slow one still holds it back"
        );
        writer.cut_off_slow();
        assert!(writer.poll_room(&mut context).is_ready());
        assert_eq!(next(&mut slow), Poll::Ready(Some(Err(Broken))));
        assert!(fill.lock().pieces.is_empty());
        assert!(
            writer.finish().is_none(),
            "a spilled body is not for the store"
        );
    }

    #[test]
    fn it_is_abandoned_when_the_last_interest_goes() {
        let (fill, _writer) = begin(1 << 20);
        let waiting = fill.interest();
        let reader = fill.reader().expect("fresh");
        let mut context = Context::from_waker(Waker::noop());
        drop(waiting);
        assert!(fill.poll_abandoned(&mut context).is_pending());
        drop(reader);
        assert!(fill.poll_abandoned(&mut context).is_ready());
    }
}
