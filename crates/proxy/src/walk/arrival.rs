//! Arrival: the content of an origin's answer. Some of it may have come together with the head.

use crate::error::Failure;
use bytes::Bytes;
use http_body::Body as _;
use origin::ResponseBody;
use std::{
    collections::VecDeque,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use store::Pieces;

/// The longest content, in bytes, that is looked for at once. When it is stored, it is copied next to its head, so that
/// nothing holds the larger buffer in which it came.
pub const AT_ONCE: u64 = 16 << 10;

/// Stored content comes in pieces of at most this many bytes: each is copied, and other tasks need the worker too.
const STORED_AT_ONCE: usize = 256 << 10;

/// The content of an origin's answer.
pub struct Arrival {
    body: ResponseBody,
    /// Bytes that the body must still bring, if anything relies on that.
    owed: Option<u64>,
    /// Stored content that the body completes.
    around: Option<Box<Around>>,
    /// What was already read and is to be read again first.
    ahead: VecDeque<ArrivalPiece>,
}

/// The stored content before and after the content that arrives.
pub struct Around {
    /// Comes before the body.
    pub before: Pieces,
    /// Comes after all that is [owed](Arrival::of_length).
    pub after: Pieces,
}

/// The next piece of an arrival.
pub enum ArrivalPiece {
    /// From the origin, perhaps a slice of a larger buffer.
    Received(Bytes),
    /// From the store. There may be much more of it at hand.
    Stored(Bytes),
    /// Nothing: the content was whole.
    End,
    /// Nothing: the content broke off.
    Broken(Failure),
}

impl Arrival {
    /// An arrival of `body`, of any length.
    pub fn new(body: ResponseBody) -> Self {
        Self {
            body,
            owed: None,
            around: None,
            ahead: VecDeque::new(),
        }
    }

    /// Makes it broken unless the body brings exactly `length` bytes.
    #[must_use]
    pub fn of_length(self, length: u64) -> Self {
        Self {
            owed: Some(length),
            ..self
        }
    }

    /// Puts it between stored content.
    #[must_use]
    pub fn between(self, around: Around) -> Self {
        Self {
            around: Some(Box::new(around)),
            ..self
        }
    }

    /// See [`ResponseBody::unread`].
    pub fn unread(&self) -> u64 {
        self.body.unread()
    }

    /// See [`ResponseBody::read_little_if`].
    pub fn read_little_if(&mut self, short: bool) {
        self.body.read_little_if(short);
    }

    /// Takes out all of the content, at most `most` bytes, if it has already come. Otherwise what has come is returned
    /// next.
    ///
    /// # Errors
    /// If it has come and is broken.
    pub fn whole(&mut self, cx: &mut Context<'_>, most: u64) -> Result<Option<Bytes>, Failure> {
        let mut length = 0;
        while length <= most {
            match self.poll_on(cx) {
                Poll::Ready(ArrivalPiece::End) => return Ok(Some(self.joined())),
                Poll::Ready(ArrivalPiece::Broken(why)) => return Err(why),
                Poll::Ready(ArrivalPiece::Received(data) | ArrivalPiece::Stored(data)) => {
                    length += data.len() as u64;
                    self.ahead.push_back(ArrivalPiece::Received(data));
                }
                Poll::Pending => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Polls for the next piece. Must not be polled again after the last piece or an error.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<ArrivalPiece> {
        let next = match self.ahead.pop_front() {
            Some(piece) => piece,
            None => ready!(self.poll_on(cx)),
        };
        Poll::Ready(match next {
            ArrivalPiece::Stored(mut all) if all.len() > STORED_AT_ONCE => {
                let first = all.split_to(STORED_AT_ONCE);
                self.ahead.push_front(ArrivalPiece::Stored(all));
                ArrivalPiece::Stored(first)
            }
            piece => piece,
        })
    }

    fn poll_on(&mut self, cx: &mut Context<'_>) -> Poll<ArrivalPiece> {
        let Some(around) = &mut self.around else {
            return self.poll_body(cx);
        };
        if let Some(piece) = ready!(poll_stored(&mut around.before, cx)) {
            return Poll::Ready(piece);
        }
        if self.owed != Some(0) {
            return self.poll_body(cx);
        }
        match ready!(poll_stored(&mut around.after, cx)) {
            Some(piece) => Poll::Ready(piece),
            // It must end here.
            None => self.poll_body(cx),
        }
    }

    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<ArrivalPiece> {
        loop {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    // Trailers are dropped: they are neither stored nor merged into the head (RFC 9110 section 6.5.1).
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(self.counted(data));
                    }
                }
                Some(Err(error)) => {
                    return Poll::Ready(ArrivalPiece::Broken(Failure::Origin(Arc::new(error))));
                }
                None if self.owed.is_none_or(|owed| owed == 0) => {
                    return Poll::Ready(ArrivalPiece::End);
                }
                None => return Poll::Ready(ArrivalPiece::Broken(Failure::BadPart)),
            }
        }
    }

    /// Returns data of the body, or an error if that is more than the body must bring.
    fn counted(&mut self, data: Bytes) -> ArrivalPiece {
        if let Some(owed) = &mut self.owed {
            let Some(left) = owed.checked_sub(data.len() as u64) else {
                return ArrivalPiece::Broken(Failure::BadPart);
            };
            *owed = left;
        }
        ArrivalPiece::Received(data)
    }

    fn joined(&mut self) -> Bytes {
        let mut pieces = mem::take(&mut self.ahead)
            .into_iter()
            .filter_map(|piece| match piece {
                ArrivalPiece::Received(data) | ArrivalPiece::Stored(data) => Some(data),
                ArrivalPiece::End | ArrivalPiece::Broken(_) => None,
            });
        let first = pieces.next().unwrap_or_default();
        let others: Vec<Bytes> = pieces.collect();
        if others.is_empty() {
            return first;
        }
        [&[first], others.as_slice()].concat().concat().into()
    }
}

/// Polls for the next stored piece; `None` if nothing is left.
fn poll_stored(pieces: &mut Pieces, cx: &mut Context<'_>) -> Poll<Option<ArrivalPiece>> {
    let next = ready!(pieces.poll_next(cx));
    Poll::Ready(next.map(|read| {
        read.map_or(
            ArrivalPiece::Broken(Failure::Internal),
            ArrivalPiece::Stored,
        )
    }))
}
