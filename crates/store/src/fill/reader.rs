//! The reader of a fill.

use super::{Broken, End, Fill, Interest, Keeping};
use crate::{BodyPiece, Pieces};
use bytes::Bytes;
use rules::range::Span;
use std::{
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

/// Follows a fill from its first byte.
#[derive(Debug)]
pub struct Reader {
    interest: Interest,
    number: u64,
    /// The pieces that it reads from disk before it goes on in memory.
    behind: Option<Box<Pieces>>,
}

/// What comes next for a reader.
enum Next {
    Here(Bytes),
    /// What memory has begins further on. This is the body up to some byte, and where to go on in it.
    Behind(BodyPiece, u64),
    End,
    Broken(Broken),
    Wait,
}

impl Reader {
    pub(super) fn new(interest: Interest, number: u64) -> Self {
        Self {
            interest,
            number,
            behind: None,
        }
    }

    /// Returns the next piece; `None` at the end of a complete body. After an error it is not polled again.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        let mut readable = true;
        loop {
            if let Some(behind) = &mut self.behind {
                match ready!(behind.poll_next(context)) {
                    Some(Ok(bytes)) => {
                        let passed = self.pass(bytes.len() as u64);
                        return Poll::Ready(Some(passed.map(|()| bytes)));
                    }
                    // Memory may have what the device could not give.
                    Some(Err(_)) => readable = false,
                    None => {}
                }
                self.behind = None;
            }
            return match self.next(context) {
                Next::Here(bytes) => Poll::Ready(Some(Ok(bytes))),
                Next::Behind(written, at) if readable => {
                    let rest = Span {
                        first: at,
                        last: u64::MAX,
                    };
                    if let Some(rest) = written.cut(0, rest) {
                        self.behind = Some(Box::new(vec![rest].into()));
                        continue;
                    }
                    Poll::Ready(Some(Err(Broken::Unreadable)))
                }
                Next::Behind(..) => Poll::Ready(Some(Err(Broken::Unreadable))),
                Next::Broken(why) => Poll::Ready(Some(Err(why))),
                Next::End => Poll::Ready(None),
                Next::Wait => Poll::Pending,
            };
        }
    }

    fn next(&self, context: &mut Context<'_>) -> Next {
        let mut state = self.interest.fill.lock();
        let Some(at) = state.readers.at(self.number) else {
            return Next::Broken(Broken::Late);
        };
        if let Some(piece) = state.held.piece(at) {
            let passed = state.pass(self.number, piece.len() as u64);
            drop(state);
            let writer = match passed {
                Ok(writer) => writer,
                Err(why) => return Next::Broken(why),
            };
            wake(writer);
            return Next::Here(piece);
        }
        if at < state.held.first() {
            return match &state.keeping {
                Keeping::Backed(written) | Keeping::Left(written) => {
                    Next::Behind(written.clone(), at)
                }
                Keeping::Memory | Keeping::Nowhere => Next::Broken(Broken::Late),
            };
        }
        match state.end {
            Some(End::Complete) => Next::End,
            Some(End::Failed(why)) => Next::Broken(why),
            None => {
                state.readers.wait(self.number, context.waker());
                Next::Wait
            }
        }
    }

    /// Skips `bytes` without reading them. Called before the first read, when a part of the body is asked for.
    pub fn skip(&mut self, bytes: u64) {
        self.behind = None;
        // A reader that is cut off learns that when it reads.
        let _ = self.pass(bytes);
    }

    /// Notes that it has taken `bytes` more.
    fn pass(&self, bytes: u64) -> Result<(), Broken> {
        let mut state = self.interest.fill.lock();
        let writer = state.pass(self.number, bytes)?;
        drop(state);
        wake(writer);
        Ok(())
    }

    /// Whether the fill is spilled: what it reads is not kept.
    pub fn is_spilled(&self) -> bool {
        self.interest.fill.lock().is_spilled()
    }

    /// Whether the writer may have to wait for this reader: the fill is spilled, and more is to come. As long as the
    /// fill may still be spilled, `context` is woken when that happens.
    pub fn may_hold_up(&self, context: &Context<'_>) -> bool {
        let mut state = self.interest.fill.lock();
        if state.end.is_some() {
            return false;
        }
        let is_spilled = state.is_spilled();
        if !is_spilled {
            state.readers.wait(self.number, context.waker());
        }
        is_spilled
    }

    /// The fill that it follows.
    pub fn fill(&self) -> &Arc<Fill> {
        &self.interest.fill
    }

    /// Like [`Interest::keep`].
    pub fn keep(&self) {
        self.interest.fill.lock().keep();
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.interest.fill.lock();
        state.readers.leave(self.number);
        state.trim();
        let writer = state.writer.take();
        drop(state);
        wake(writer);
    }
}

fn wake(writer: Option<Waker>) {
    if let Some(writer) = writer {
        writer.wake();
    }
}
