//! The body of an answer.

use crate::{
    compress::{Counts, Recoded},
    listen::Splices,
    outcome::Ending,
    walk::esi::Composer,
};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use origin::ResponseBody;
use rules::coding::Coding;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use store::{Memory, Part, Piece, Pieces, disk, fill::Reader};

/// Where an answer's content comes from.
#[derive(Debug, Default)]
pub enum Content {
    /// Nothing.
    #[default]
    Empty,
    /// What is not there after all: the answer breaks off.
    Missing,
    /// One buffer: the common hit.
    Whole(Bytes),
    /// Several buffers, or what is read from disk.
    Pieces(Box<Pieces>),
    /// As [`Pieces`](Self::Pieces), over a connection that can send from files.
    Spliced(Box<Pieces>, Arc<Splices>),
    /// A fill that is followed while it is written.
    Following(Following),
    /// Straight from the origin.
    Origin(ResponseBody),
    /// A page put together while its fragments arrive.
    Composed(Box<Composer>),
    /// Any of these, coded or decoded on its way.
    Recoded(Box<Recoded>),
}

/// A reader of a fill, and the bytes still to come, where that is known.
#[derive(Debug)]
pub struct Following {
    reader: Reader,
    left: Option<u64>,
}

impl Content {
    /// Pieces as content, one after another.
    pub fn pieces(mut pieces: Vec<Piece>) -> Self {
        match (pieces.pop(), pieces.is_empty()) {
            (None, _) => Self::Empty,
            (Some(Piece::Memory(only)), true) => Self::Whole(only),
            (Some(last), _) => {
                pieces.push(last);
                Self::Pieces(Box::new(pieces.into()))
            }
        }
    }

    /// A fill's whole body; `length` as announced.
    pub fn following(reader: Reader, length: Option<u64>) -> Self {
        Self::Following(Following {
            reader,
            left: length,
        })
    }

    /// A part of a fill's body. The fill goes on to its end when this part has been sent.
    pub fn following_part(mut reader: Reader, skip: u64, length: u64) -> Self {
        reader.keep();
        reader.skip(skip);
        Self::following(reader, Some(length))
    }

    /// Its length in bytes, where that is known.
    pub(crate) fn length(&self) -> Option<u64> {
        self.size_hint().exact()
    }

    /// Whether it comes from a fill that is still to be read.
    pub(crate) fn follows(&self) -> bool {
        match self {
            Self::Following(_) => true,
            Self::Recoded(recoded) => recoded.follows(),
            Self::Composed(composer) => composer.follows(),
            _ => false,
        }
    }

    /// The next bytes; `None` at the end. After an error it is not polled again.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        match self {
            Self::Empty => Poll::Ready(None),
            Self::Missing => Poll::Ready(Some(Err("content is missing".into()))),
            Self::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                *self = Self::Empty;
                Poll::Ready(Some(Ok(bytes)))
            }
            Self::Pieces(pieces) => {
                let read = ready!(pieces.poll_next(context));
                Poll::Ready(read.map(|bytes| bytes.map_err(Error::from)))
            }
            Self::Spliced(pieces, splices) => {
                let part = ready!(pieces.poll_part(context));
                Poll::Ready(part.map(|part| match part? {
                    Part::Bytes(bytes) => Ok(bytes),
                    Part::File(span) => splices.stand_in(span).ok_or_else(|| disk::Failed.into()),
                }))
            }
            Self::Following(following) => following.poll(context),
            Self::Composed(composer) => composer.poll(context),
            Self::Recoded(recoded) => recoded.poll(context),
            Self::Origin(body) => loop {
                // Trailers are not passed on (RFC 9110 section 6.5.1 lets an intermediary drop them).
                match ready!(Pin::new(&mut *body).poll_frame(context)) {
                    Some(Ok(frame)) => {
                        if let Ok(data) = frame.into_data() {
                            return Poll::Ready(Some(Ok(data)));
                        }
                    }
                    Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                    None => return Poll::Ready(None),
                }
            },
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Pieces(pieces) | Self::Spliced(pieces, _) => SizeHint::with_exact(pieces.left()),
            Self::Following(following) => following
                .left
                .map_or_else(SizeHint::default, SizeHint::with_exact),
            Self::Origin(body) => body.size_hint(),
            Self::Missing | Self::Composed(_) | Self::Recoded(_) => SizeHint::default(),
        }
    }
}

impl Following {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        // Where the length is known, the end of the fill is not waited for.
        if self.left == Some(0) {
            return Poll::Ready(None);
        }
        let Some(piece) = ready!(self.reader.poll_next(context)) else {
            return Poll::Ready(None);
        };
        let mut piece = piece?;
        if let Some(left) = &mut self.left {
            piece.truncate((*left).min(piece.len() as u64) as usize);
            *left -= piece.len() as u64;
        }
        Poll::Ready(Some(Ok(piece)))
    }
}

pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The body of an answer, and who is told when it ends.
#[derive(Debug, Default)]
pub struct ReplyBody {
    content: Content,
    ending: Option<Box<Ending>>,
    /// Whether a piece has been given out.
    begun: bool,
    /// The error with which it is to end.
    broken: Option<Error>,
}

impl From<Content> for ReplyBody {
    fn from(content: Content) -> Self {
        Self {
            content,
            ..Self::default()
        }
    }
}

impl ReplyBody {
    /// Tells `ending` of the bytes sent, when the body ends or is dropped.
    pub fn watched(&mut self, ending: Ending) {
        self.ending = Some(Box::new(ending));
    }

    /// Nobody reads it. Where it is on its way into the store, and its length is known, it is read to its end nevertheless.
    pub fn leave(self) {
        if let Content::Following(Following {
            reader,
            left: Some(_),
        }) = &self.content
        {
            reader.keep();
        }
    }

    /// Nobody reads it, and others will want it: what is on its way into the store is read to its end, whatever its length, as far as
    /// it may be stored.
    pub fn keep(self) {
        if let Content::Following(Following { reader, .. }) = &self.content {
            reader.keep();
        }
    }

    /// Its content, which is in `coding`, without it. `None` where memory has no room for a decoder.
    pub fn decoded(
        mut self,
        coding: Coding,
        counts: &Arc<Counts>,
        memory: &Arc<Memory>,
    ) -> Option<Self> {
        let content = std::mem::take(&mut self.content);
        self.content = Recoded::decoded(content, coding, counts, memory)?;
        Some(self)
    }

    /// Sends through `splices` what can be sent so. For what leaves for the client as it is, and for nothing that is still to be
    /// looked into.
    pub fn splice(&mut self, splices: &Arc<Splices>) {
        self.content = match std::mem::take(&mut self.content) {
            Content::Pieces(pieces) => Content::Spliced(pieces, splices.clone()),
            other => other,
        };
    }

    /// Whether the content comes from a fill that is still to be read.
    pub fn follows(&self) -> bool {
        self.content.follows()
    }

    /// Whether all of it is in one piece, or nothing.
    pub fn is_whole(&self) -> bool {
        matches!(self.content, Content::Empty | Content::Whole(_))
    }

    /// Takes all of it out, where it is at hand.
    pub fn take_whole(&mut self) -> Option<Bytes> {
        if !self.is_whole() {
            return None;
        }
        match std::mem::take(&mut self.content) {
            Content::Whole(bytes) => Some(bytes),
            _ => Some(Bytes::new()),
        }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Some(error) = self.broken.take() {
            return Poll::Ready(Some(Err(error)));
        }
        let polled = ready!(self.content.poll(context));
        let polled = match polled {
            Some(Err(error)) if !self.begun => {
                // An error before the first byte would make the connection drop the head with it; once round, and it is out.
                self.broken = Some(error);
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            polled => polled,
        };
        self.begun = true;
        if let (Some(ending), Some(Ok(data))) = (&mut self.ending, &polled) {
            ending.sent(data.len() as u64);
        }
        Poll::Ready(polled.map(|data| data.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Empty => true,
            Content::Whole(bytes) => bytes.is_empty(),
            Content::Pieces(pieces) | Content::Spliced(pieces, _) => pieces.left() == 0,
            Content::Following(following) => following.left == Some(0),
            Content::Origin(body) => body.is_end_stream(),
            Content::Missing | Content::Composed(_) => false,
            Content::Recoded(recoded) => recoded.is_ended(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.content.size_hint()
    }
}

#[cfg(test)]
mod tests;
