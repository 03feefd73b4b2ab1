//! Content that is coded or decoded while it is sent.

use super::{
    codec::{Decoder, Encoder},
    counts::Counts,
};
use crate::body::Content;
use bytes::{Bytes, BytesMut};
use rules::coding::Coding;
use std::{
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Context, Poll},
};
use store::Memory;

/// Bytes that are taken in one turn: a worker has other requests to serve.
const TURN: usize = 64 << 10;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Content in another coding, made as it is sent. When the content pauses, what has come so far is flushed: a page that
/// is written bit by bit is meant to be seen bit by bit.
#[derive(Debug)]
pub struct Recoded {
    content: Content,
    work: Work,
    /// What has come and is still to be coded or decoded.
    rest: Bytes,
    ended: bool,
    counts: Arc<Counts>,
}

#[derive(Debug)]
enum Work {
    Encode {
        encoder: Encoder,
        coding: Coding,
        /// Whether something was taken since the last flush.
        held: bool,
        sizes: (u64, u64),
    },
    Decode(Decoder),
    /// Nothing any more: its memory is given back.
    Done,
}

/// The result of one step.
enum Step {
    Out(Bytes),
    /// Nothing yet: more content is needed.
    More,
    /// The turn is over.
    Rest,
}

impl Recoded {
    /// Returns `content` in `coding`, at the fast level, for one client. Returns the content as an error if the budget
    /// has no room for another encoder: it is to be sent as it is.
    pub fn encoded(
        content: Content,
        coding: Coding,
        counts: &Arc<Counts>,
        memory: &Memory,
    ) -> Result<Content, Content> {
        let length = content.length();
        let Some(encoder) = Encoder::for_one(memory.budget(), coding, length) else {
            counts.refused.fetch_add(1, Relaxed);
            return Err(content);
        };
        memory.make_room();
        counts.pass(coding);
        let work = Work::Encode {
            encoder,
            coding,
            held: false,
            sizes: (0, 0),
        };
        Ok(Self::boxed(content, work, counts))
    }

    /// Returns `content`, which is in `coding`, decoded; `None` if memory has no room for another decoder.
    pub fn decoded(
        content: Content,
        coding: Coding,
        counts: &Arc<Counts>,
        memory: &Arc<Memory>,
    ) -> Option<Content> {
        let start = match &content {
            Content::Empty => return Some(content),
            Content::Whole(bytes) => &**bytes,
            Content::Stored(stored) => stored
                .body
                .whole()
                .map(|content| &**content)
                .unwrap_or_default(),
            _ => &[],
        };
        let decoder = Decoder::new(coding, start, memory)?;
        counts.decoded.fetch_add(1, Relaxed);
        Some(Self::boxed(content, Work::Decode(decoder), counts))
    }

    fn boxed(content: Content, work: Work, counts: &Arc<Counts>) -> Content {
        Content::Recoded(Box::new(Self {
            content,
            work,
            rest: Bytes::new(),
            ended: false,
            counts: counts.clone(),
        }))
    }

    /// Whether everything has been given out.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// The content before it is coded or decoded.
    pub const fn content(&self) -> &Content {
        &self.content
    }

    /// As [`content`](Self::content).
    pub const fn content_mut(&mut self) -> &mut Content {
        &mut self.content
    }

    /// Whether the content comes from a fill.
    pub fn follows(&self) -> bool {
        self.content.follows()
    }

    /// The next bytes; `None` at the end. After an error it is not polled again.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        let mut turn = TURN;
        loop {
            if self.ended {
                return Poll::Ready(None);
            }
            match self.work.step(&mut self.rest, &mut turn) {
                Ok(Step::Out(bytes)) => return Poll::Ready(Some(Ok(bytes))),
                Ok(Step::More) => {}
                Ok(Step::Rest) => {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Err(error) => return self.fail(error.into()),
            }
            let last = match self.content.poll(context) {
                Poll::Ready(Some(Ok(bytes))) => {
                    self.rest = bytes;
                    continue;
                }
                Poll::Ready(Some(Err(error))) => return self.fail(error),
                Poll::Ready(None) => {
                    let last = self.work.finish();
                    self.end();
                    last
                }
                Poll::Pending => self.work.pause(),
            };
            return match last {
                Ok(bytes) if !bytes.is_empty() => Poll::Ready(Some(Ok(bytes))),
                Ok(_) if self.ended => Poll::Ready(None),
                Ok(_) => Poll::Pending,
                Err(error) => self.fail(error.into()),
            };
        }
    }

    fn fail(&mut self, error: Error) -> Poll<Option<Result<Bytes, Error>>> {
        self.end();
        Poll::Ready(Some(Err(error)))
    }

    /// Stops: nothing more is given out.
    fn end(&mut self) {
        self.ended = true;
        if let Work::Encode { coding, sizes, .. } = std::mem::replace(&mut self.work, Work::Done) {
            self.counts.coded(coding, sizes);
        }
    }
}

impl Work {
    fn step(&mut self, rest: &mut Bytes, turn: &mut usize) -> io::Result<Step> {
        if rest.is_empty() && !matches!(self, Self::Decode(_)) {
            return Ok(Step::More);
        }
        if *turn == 0 {
            return Ok(Step::Rest);
        }
        match self {
            Self::Encode {
                encoder,
                held,
                sizes,
                ..
            } => {
                let piece = rest.split_to(rest.len().min(*turn));
                *turn -= piece.len();
                let mut out = BytesMut::new();
                encoder.push(&piece, &mut out)?;
                *held = true;
                sizes.0 += piece.len() as u64;
                sizes.1 += out.len() as u64;
                Ok(if out.is_empty() && rest.is_empty() {
                    Step::More
                } else if out.is_empty() {
                    Step::Rest
                } else {
                    Step::Out(out.freeze())
                })
            }
            Self::Decode(decoder) => {
                let out = decoder.step(rest, turn)?;
                Ok(if !out.is_empty() {
                    Step::Out(out)
                } else if *turn == 0 {
                    Step::Rest
                } else {
                    Step::More
                })
            }
            Self::Done => Ok(Step::More),
        }
    }

    /// Flushes, since the content pauses.
    fn pause(&mut self) -> io::Result<Bytes> {
        let mut out = BytesMut::new();
        if let Self::Encode {
            encoder,
            held,
            sizes,
            ..
        } = self
            && std::mem::take(held)
        {
            encoder.flush(&mut out)?;
            sizes.1 += out.len() as u64;
        }
        Ok(out.freeze())
    }

    /// Finishes, since the content has ended.
    fn finish(&mut self) -> io::Result<Bytes> {
        let mut out = BytesMut::new();
        match self {
            Self::Encode { encoder, sizes, .. } => {
                encoder.finish(&mut out)?;
                sizes.1 += out.len() as u64;
            }
            Self::Decode(decoder) if decoder.is_whole() => {}
            // A body that breaks off must not look complete.
            Self::Decode(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Self::Done => {}
        }
        Ok(out.freeze())
    }
}

impl Drop for Recoded {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests;
