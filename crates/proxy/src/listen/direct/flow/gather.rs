//! Puts the content that is at hand in a buffer, with its framing.

use super::{Flow, FlowState};
use crate::listen::{
    AtHand,
    direct::{buffer::WriteBuffer, framing::Framing},
    splice::Splices,
};
use bytes::Bytes;
use http_body::Body;
use std::{
    fmt::Write as _,
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// The most bytes that the frame of a chunk takes, and the last chunk after it (RFC 9112 section 7.1).
const FRAME: usize = 32;

/// What is written at once: a buffer, and where it is cut for a piece that was not copied to it.
pub(super) struct Run {
    pub(super) cut: usize,
    pub(super) large: Bytes,
}

impl Run {
    /// A buffer and nothing else.
    fn of(buffer: &WriteBuffer) -> Self {
        Self {
            cut: buffer.written().len(),
            large: Bytes::new(),
        }
    }
}

impl<B: Body<Data = Bytes> + AtHand + Unpin> Flow<B> {
    /// Puts pieces in `buffer` until no more is at hand, or it has no more room. One of them may be large.
    pub(super) fn gather(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut WriteBuffer,
        most_copied: usize,
    ) -> Run {
        if let Some(content) = self.body.at_hand()
            && content.len() <= most_copied.min(buffer.room())
            && self.framing == Framing::Length(content.len() as u64)
            && !Splices::is_stand_in(content)
        {
            buffer.put(content);
            self.state = FlowState::Copied;
            return Run::of(buffer);
        }
        let mut large: Option<Run> = None;
        while buffer.room() >= FRAME {
            let piece = match self.poll_piece(cx) {
                Poll::Ready(Ok(Some(piece))) => piece,
                Poll::Ready(Ok(None)) => {
                    if matches!(self.framing, Framing::Chunks) {
                        buffer.put(b"0\r\n\r\n");
                    }
                    self.state = FlowState::Whole;
                    break;
                }
                Poll::Ready(Err(())) => {
                    self.state = FlowState::Broken;
                    break;
                }
                Poll::Pending => {
                    self.state = FlowState::Stalled;
                    break;
                }
            };
            let is_short = piece.len() <= most_copied
                && piece.len() + FRAME <= buffer.room()
                && !Splices::is_stand_in(&piece);
            if !is_short && large.is_some() {
                self.left().held = piece;
                break;
            }
            let is_chunk = matches!(self.framing, Framing::Chunks);
            if is_chunk {
                // There is room.
                let _ = write!(buffer, "{:x}\r\n", piece.len());
            }
            if is_short {
                buffer.put(&piece);
            } else {
                let cut = buffer.written().len();
                large = Some(Run { cut, large: piece });
            }
            if is_chunk {
                buffer.put(b"\r\n");
            }
        }
        large.unwrap_or_else(|| Run::of(buffer))
    }

    /// The next piece of the content, which is not empty; `None` at its end. Trailers are left out (RFC 9110 section
    /// 6.5.1). An error means that the content breaks off, or is not as long as announced.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, ()>> {
        if let Some(left) = &mut self.left
            && !left.held.is_empty()
        {
            return Poll::Ready(Ok(Some(mem::take(&mut left.held))));
        }
        loop {
            if matches!(self.framing, Framing::None | Framing::Length(0)) {
                return Poll::Ready(Ok(None));
            }
            let data = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
                Some(Err(_)) => return Poll::Ready(Err(())),
                None if matches!(self.framing, Framing::Length(_)) => return Poll::Ready(Err(())),
                None => return Poll::Ready(Ok(None)),
            };
            if let Framing::Length(left) = &mut self.framing {
                // The client would take more than was announced for the next answer.
                let less = left.checked_sub(data.len() as u64);
                *left = less.ok_or(())?;
            }
            if !data.is_empty() {
                return Poll::Ready(Ok(Some(data)));
            }
        }
    }
}
