//! The content of an answer, by its source. `reply` sends it, and reports what was sent.

mod broken;
mod following;
mod reply;
mod trailing;
mod transit;
mod unstored;

pub use reply::ReplyBody;
pub use trailing::announced;
pub use transit::counted;
pub use unstored::Unstored;

use crate::{ask::Ask, compress::Recoded, listen::Splices, walk::esi::Composer};
use bytes::Bytes;
use following::Following;
use http::HeaderMap;
use http_body::SizeHint;
use rules::range::Span;
use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};
use store::{Body, BodyPiece, Memory, Part, Pieces, Stored, disk, fill::Reader};
use trailing::Trailing;
use transit::Transit;

/// The source of an answer's content.
#[derive(Debug, Default)]
pub enum Content {
    /// No content.
    #[default]
    Empty,
    /// Content that is missing after all: the answer breaks off.
    Missing,
    /// One buffer.
    Whole(Bytes),
    /// Content of a stored response [in one buffer](store::Body::whole): the common hit. Most of it is copied from
    /// there, without counting another reference.
    Stored(Arc<Stored>),
    /// Several buffers, or content that is read from disk.
    Pieces(Box<Pieces>),
    /// As [`Pieces`](Self::Pieces), over a connection that can send from files.
    Spliced(Box<Pieces>, Arc<Splices>),
    /// A fill that is followed while it is written.
    Following(Following),
    /// Content straight from the origin.
    Origin(Unstored),
    /// Nothing more, but the origin's trailers.
    Trailers(Box<HeaderMap>),
    /// A page composed while its fragments arrive.
    Composed(Box<Composer>),
    /// Any of these, coded or decoded on its way.
    Recoded(Box<Recoded>),
    /// Any of these that is not in the store, or may not be, on its way to a client.
    Passing(Box<Passing>),
}

/// Content on its way to a client.
#[derive(Debug)]
pub struct Passing {
    content: Content,
    transit: Transit,
    /// `None`: its client gets no trailers.
    trailing: Option<Trailing>,
}

impl Content {
    /// Makes content of pieces, one after another.
    pub fn pieces(mut pieces: Vec<BodyPiece>) -> Self {
        match (pieces.pop(), pieces.is_empty()) {
            (None, _) => Self::Empty,
            (Some(BodyPiece::Memory(only)), true) => Self::Whole(only),
            (Some(last), _) => {
                pieces.push(last);
                Self::Pieces(Box::new(pieces.into()))
            }
        }
    }

    /// All of a stored body. If some of it is missing, the content breaks off: it must look neither empty nor whole.
    pub fn all_of(body: &Body) -> Self {
        let last = match body.length() {
            Some(0) => return Self::Empty,
            length => length.and_then(|length| length.checked_sub(1)),
        };
        let pieces = last.and_then(|last| body.slice(Span { first: 0, last }));
        pieces.map_or(Self::Missing, Self::pieces)
    }

    /// A fill's whole body, with the announced `length`.
    pub fn following(reader: Reader, length: Option<u64>) -> Self {
        Self::Following(Following::new(reader, length))
    }

    /// A part of a fill's body. The fill continues to its end when this part has been sent.
    pub fn following_part(mut reader: Reader, skip: u64, length: u64) -> Self {
        reader.keep();
        reader.skip(skip);
        Self::following(reader, Some(length))
    }

    /// Prepares content for its way to the client of `ask`: what is not in the store counts on its way, and of an
    /// origin's trailers only what the client gets goes there.
    pub fn counted(mut self, memory: &Arc<Memory>, ask: &Ask) -> Self {
        if let Self::Origin(body) = &mut self
            && let Some(whole) = body.take_whole()
        {
            return Self::Whole(transit::counted(whole, memory));
        }
        let transit = match &self {
            // What is to be stored counts with its fill.
            Self::Following(_) => Transit::new(memory, Some(0), 0),
            content if content.passes() => Transit::new(memory, content.length(), content.unread()),
            _ => return self,
        };
        let trailing = match &self {
            Self::Origin(_) => Trailing::of(ask),
            _ => None,
        };
        Self::Passing(Box::new(Passing {
            content: self,
            transit,
            trailing,
        }))
    }

    /// Prepares content for a client whose connection can send from files, if it has `splices`. The content is not
    /// looked into any more.
    pub fn spliced(self, splices: Option<&Arc<Splices>>) -> Self {
        match (self, splices) {
            (Self::Pieces(pieces), Some(splices)) => Self::Spliced(pieces, splices.clone()),
            (content, _) => content,
        }
    }

    /// Whether it is made, or comes from an origin, for one client, as it is sent.
    pub fn passes(&self) -> bool {
        match self {
            Self::Origin(_) | Self::Composed(_) | Self::Recoded(_) => true,
            content => content.is_spilled(),
        }
    }

    /// Whether the bytes that it gave last count where they come from: in the store, with a fill that is kept, or by
    /// themselves.
    pub(crate) fn gave_counted(&self) -> bool {
        match self {
            Self::Composed(composer) => composer.gave_counted(),
            content => !content.passes(),
        }
    }

    /// Whether it comes from a fill that is not kept.
    pub(crate) fn is_spilled(&self) -> bool {
        match self {
            Self::Following(following) => following.is_spilled(),
            Self::Recoded(recoded) => recoded.content().is_spilled(),
            _ => false,
        }
    }

    /// Whether it holds a turn at the origin as long as it is not read, and keeps other readers of the same content
    /// waiting. If that may still come, `context` is woken when it does.
    pub(crate) fn holds_turn(&self, context: &Context<'_>) -> bool {
        match self {
            Self::Origin(body) => !body.is_ended(),
            Self::Following(following) => following.may_hold_up(context),
            Self::Recoded(recoded) => recoded.content().holds_turn(context),
            Self::Passing(passing) => passing.content.holds_turn(context),
            _ => false,
        }
    }

    /// The fill that it comes from, unless it is composed.
    fn followed(&self) -> Option<&Following> {
        match self {
            Self::Following(following) => Some(following),
            Self::Recoded(recoded) => recoded.content().followed(),
            Self::Passing(passing) => passing.content.followed(),
            _ => None,
        }
    }

    /// Sets whether an origin's content is read little by little, since memory is short.
    pub(crate) fn read_little_if(&mut self, short: bool) {
        match self {
            Self::Origin(body) => body.read_little_if(short),
            Self::Composed(composer) => composer.read_little_if(short),
            Self::Recoded(recoded) => recoded.content_mut().read_little_if(short),
            _ => {}
        }
    }

    /// See [`Unstored::unread`].
    pub(crate) fn unread(&self) -> u64 {
        match self {
            Self::Origin(body) => body.unread(),
            Self::Composed(composer) => composer.unread(),
            Self::Recoded(recoded) => recoded.content().unread(),
            _ => 0,
        }
    }

    /// Takes the trailers of an origin's content that has ended and goes out as it came.
    fn trailers(&mut self) -> Option<HeaderMap> {
        match self {
            Self::Trailers(trailers) => {
                let trailers = std::mem::take(&mut **trailers);
                *self = Self::Empty;
                Some(trailers)
            }
            Self::Passing(passing) => {
                let Passing {
                    content, trailing, ..
                } = &mut **passing;
                let trailers = content.trailers()?;
                Some(trailing.as_ref()?.passed(trailers))
            }
            _ => None,
        }
    }

    /// Its length in bytes, if that is known.
    pub(crate) fn length(&self) -> Option<u64> {
        self.size_hint().exact()
    }

    /// Whether it comes from a fill that is still to be read.
    pub(crate) fn follows(&self) -> bool {
        match self {
            Self::Following(_) => true,
            Self::Recoded(recoded) => recoded.follows(),
            Self::Composed(composer) => composer.follows(),
            Self::Passing(passing) => passing.content.follows(),
            _ => false,
        }
    }

    /// The next bytes; `None` at the end. After an error it is not polled again.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        match self {
            Self::Empty | Self::Trailers(_) => Poll::Ready(None),
            Self::Missing => Poll::Ready(Some(Err("content is missing".into()))),
            Self::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                *self = Self::Empty;
                Poll::Ready(Some(Ok(bytes)))
            }
            Self::Stored(stored) => {
                let bytes = stored.body.in_one();
                *self = Self::Empty;
                Poll::Ready(Some(bytes.ok_or_else(|| "content is missing".into())))
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
            Self::Passing(passing) => {
                let Passing {
                    content, transit, ..
                } = &mut **passing;
                if !content.passes() {
                    return content.poll(context);
                }
                content.read_little_if(ready!(transit.poll_turn(context)));
                let piece = content.poll(context);
                transit.may_wait(content.unread());
                let is_counted = content.gave_counted();
                Poll::Ready(ready!(piece).map(|piece| match piece {
                    Ok(piece) if !is_counted => Ok(transit.count(piece)),
                    piece => piece,
                }))
            }
            Self::Origin(body) => {
                let frame = ready!(body.poll(context));
                let Some(frame) = frame.transpose()? else {
                    return Poll::Ready(None);
                };
                Poll::Ready(match frame.into_data() {
                    Ok(data) => Some(Ok(data)),
                    Err(last) => {
                        let trailers = last.into_trailers().unwrap_or_default();
                        *self = Self::Trailers(Box::new(trailers));
                        None
                    }
                })
            }
        }
    }

    /// Whether it is known that nothing more comes.
    pub(crate) fn is_ended(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Stored(stored) => stored.body.length() == Some(0),
            Self::Pieces(pieces) | Self::Spliced(pieces, _) => pieces.left() == 0,
            Self::Following(following) => following.left() == Some(0),
            Self::Origin(body) => body.is_ended(),
            Self::Missing | Self::Trailers(_) | Self::Composed(_) => false,
            Self::Recoded(recoded) => recoded.is_ended(),
            Self::Passing(passing) => passing.content.is_ended(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty | Self::Trailers(_) => SizeHint::with_exact(0),
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stored(stored) => stored
                .body
                .length()
                .map_or_else(SizeHint::default, SizeHint::with_exact),
            Self::Pieces(pieces) | Self::Spliced(pieces, _) => SizeHint::with_exact(pieces.left()),
            Self::Following(following) => following
                .left()
                .map_or_else(SizeHint::default, SizeHint::with_exact),
            Self::Origin(body) => body.size_hint(),
            Self::Passing(passing) => passing.content.size_hint(),
            Self::Missing | Self::Composed(_) | Self::Recoded(_) => SizeHint::default(),
        }
    }
}

/// Why content broke off.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

#[cfg(test)]
mod tests;
