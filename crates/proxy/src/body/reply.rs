//! The body of an answer, as an HTTP engine sends it.

use super::{Content, Error, broken, counted};
use crate::{
    compress::{Counts, Recoded},
    listen::AtHand,
    outcome::Ending,
};
use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use rules::coding::Coding;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use store::Memory;

/// The body of an answer, and what is told when it ends.
#[derive(Debug, Default)]
pub struct ReplyBody {
    content: Content,
    ending: Option<Box<Ending>>,
    /// The error with which it is to end.
    broken: Option<Error>,
    /// The fields of its request, as they came, once they are not needed any more.
    asked: Option<Box<HeaderMap>>,
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
    /// Tells `ending` the bytes sent, when the body ends or is dropped.
    pub fn watched(&mut self, ending: Ending) {
        self.ending = Some(Box::new(ending));
    }

    /// Takes what [watches](Self::watched) it, which is not told any more.
    pub fn unwatched(&mut self) -> Option<Box<Ending>> {
        self.ending.take()
    }

    /// Takes the fields of its request, as they came, which are not needed any more.
    pub fn gives_back(&mut self, asked: HeaderMap) {
        self.asked = Some(Box::new(asked));
    }

    /// Keeps content that has no reader but that others will want: what is on its way into the store is read to its
    /// end, whatever its length, as far as it may be stored.
    pub fn keep(self) {
        if let Some(following) = self.content.followed() {
            following.keep();
        }
    }

    /// Returns the body, whose content is in `coding`, decoded; `None` if memory has no room for a decoder.
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

    /// Makes content from an origin that has come whole one buffer like any other, and counts it.
    #[must_use]
    pub fn gathered(mut self, memory: &Memory) -> Self {
        if let Content::Origin(body) = &mut self.content
            && let Some(whole) = body.take_whole()
        {
            self.content = Content::Whole(counted(whole, memory));
        }
        self
    }

    /// As [`Content::read_little_if`].
    pub fn read_little_if(&mut self, short: bool) {
        self.content.read_little_if(short);
    }

    /// As [`Content::unread`].
    pub fn unread(&self) -> u64 {
        self.content.unread()
    }

    /// As [`Content::gave_counted`].
    pub fn gave_counted(&self) -> bool {
        self.content.gave_counted()
    }

    /// Whether the content comes from a fill that is still to be read.
    pub fn follows(&self) -> bool {
        self.content.follows()
    }

    /// Whether its content is empty or in one piece.
    pub fn is_whole(&self) -> bool {
        matches!(
            self.content,
            Content::Empty | Content::Whole(_) | Content::Stored(_)
        )
    }

    /// Takes the whole content, if it is at hand.
    pub fn take_whole(&mut self) -> Option<Bytes> {
        if !self.is_whole() {
            return None;
        }
        match std::mem::take(&mut self.content) {
            Content::Whole(bytes) => Some(bytes),
            Content::Stored(stored) => stored.body.in_one(),
            _ => Some(Bytes::new()),
        }
    }
}

impl AtHand for ReplyBody {
    fn at_hand(&self) -> Option<&[u8]> {
        match &self.content {
            Content::Whole(bytes) => Some(bytes),
            Content::Stored(stored) => stored.body.whole().map(|content| &**content),
            _ => None,
        }
    }

    fn kept(&self) -> Option<&Bytes> {
        match &self.content {
            Content::Stored(stored) => stored.body.whole(),
            _ => None,
        }
    }

    fn taken(&mut self) {
        let length = self.at_hand().map_or(0, <[u8]>::len);
        self.content = Content::Empty;
        if let Some(ending) = &mut self.ending {
            ending.sent(length as u64);
        }
    }

    fn left_unsent(&mut self, bytes: u64) {
        if let Some(ending) = &mut self.ending {
            ending.left_unsent(bytes);
        }
    }

    fn asked(&mut self) -> Option<HeaderMap> {
        self.asked.take().map(|asked| *asked)
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
        match (&mut self.ending, &polled) {
            (Some(ending), Some(Ok(data))) => ending.sent(data.len() as u64),
            (Some(ending), Some(Err(error))) => ending.breaks_off(broken::token(error)),
            _ => {}
        }
        if let Some(Err(error)) = polled {
            // An error would make the connection drop what it has not sent yet, even the head. By the next poll, that
            // is sent.
            self.broken = Some(error);
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(match polled {
            Some(data) => Some(data.map(Frame::data)),
            None => self
                .content
                .trailers()
                .map(|last| Ok(Frame::trailers(last))),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.content.is_ended()
    }

    fn size_hint(&self) -> SizeHint {
        self.content.size_hint()
    }
}
