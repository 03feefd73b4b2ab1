//! The part of a request's content that came before its server was asked to take it.

use super::{Cause, UNSENT};
use crate::RequestBody;
use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
};

/// The pieces that came, and what follows them.
#[derive(Default)]
pub(super) struct Front {
    pub(super) pieces: VecDeque<Bytes>,
    pub(super) rest: Rest,
}

/// What follows the pieces that came.
#[derive(Default)]
pub(super) enum Rest {
    /// More may come.
    #[default]
    Open,
    /// Trailers.
    Trailers(HeaderMap),
    /// Nothing.
    Ended,
    /// Nothing, for this reason.
    Broken(Cause),
}

impl Front {
    /// Takes in what has come of `body`, up to [`UNSENT`] bytes and one piece. Returns whether nothing follows it.
    pub(super) fn take(&mut self, body: &mut RequestBody, cx: &mut Context<'_>) -> bool {
        while matches!(self.rest, Rest::Open) && self.length() < UNSENT {
            match Pin::new(&mut *body).poll_frame(cx) {
                Poll::Pending => return false,
                Poll::Ready(None) => self.rest = Rest::Ended,
                Poll::Ready(Some(Err(cause))) => self.rest = Rest::Broken(cause),
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(piece) => {
                        self.pieces.push_back(piece);
                        if body.is_end_stream() {
                            self.rest = Rest::Ended;
                        }
                    }
                    Err(last) => {
                        self.rest = Rest::Trailers(last.into_trailers().unwrap_or_default());
                    }
                },
            }
        }
        !matches!(self.rest, Rest::Open)
    }

    /// Returns the next piece: first what is here, then what `body` gives.
    pub(super) fn poll_next(
        &mut self,
        body: &mut RequestBody,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cause>>> {
        if let Some(piece) = self.pieces.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        match std::mem::replace(&mut self.rest, Rest::Ended) {
            Rest::Ended => Poll::Ready(None),
            Rest::Trailers(trailers) => Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
            Rest::Broken(cause) => Poll::Ready(Some(Err(cause))),
            Rest::Open => {
                self.rest = Rest::Open;
                Pin::new(body).poll_frame(cx)
            }
        }
    }

    pub(super) fn is_end_stream(&self, body: &RequestBody) -> bool {
        self.pieces.is_empty()
            && match self.rest {
                Rest::Open => body.is_end_stream(),
                Rest::Ended => true,
                Rest::Trailers(_) | Rest::Broken(_) => false,
            }
    }

    pub(super) fn size_hint(&self, body: &RequestBody) -> SizeHint {
        let here = self.length();
        let rest = match self.rest {
            Rest::Ended | Rest::Trailers(_) => SizeHint::with_exact(0),
            Rest::Open | Rest::Broken(_) => body.size_hint(),
        };
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(here)) {
            hint.set_upper(upper);
        }
        let lower = rest.lower().saturating_add(here);
        hint.set_lower(lower.min(hint.upper().unwrap_or(u64::MAX)));
        hint
    }

    fn length(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use proptest::{prelude::*, sample::select};
    use std::task::Waker;

    /// Pieces that come one after another; `None` is a pause. Then something else comes, if anything.
    struct Script(VecDeque<Option<Bytes>>, Option<Last>);

    /// What ends content otherwise than without a word.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Last {
        Breaks,
        Trails,
    }

    impl Body for Script {
        type Data = Bytes;
        type Error = Cause;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Cause>>> {
            match self.0.pop_front() {
                Some(None) => Poll::Pending,
                Some(Some(piece)) => Poll::Ready(Some(Ok(Frame::data(piece)))),
                None => Poll::Ready(self.1.take().map(|last| match last {
                    Last::Breaks => Err("broken".into()),
                    Last::Trails => Ok(Frame::trailers(HeaderMap::new())),
                })),
            }
        }
    }

    proptest! {
        /// However often content is taken early, every piece comes once, in order, with the reason why there is no
        /// more, and not too much is held.
        #[test]
        fn what_came_before_comes_first(
            script in proptest::collection::vec(proptest::option::of(0_usize..9000), 0..9),
            last in proptest::option::of(select(vec![Last::Breaks, Last::Trails])),
            looks in 0_usize..6,
        ) {
            let pieces = script.iter().enumerate().map(|(at, length)| {
                let piece = length.map(|length| vec![u8::try_from(at).unwrap_or(0); length]);
                piece.map(Bytes::from)
            });
            let pieces: VecDeque<_> = pieces.collect();
            let wanted: Vec<u8> = pieces.iter().flatten().flatten().copied().collect();
            let mut body = Script(pieces, last).boxed_unsync();
            let mut front = Front::default();
            let mut cx = Context::from_waker(Waker::noop());
            for _ in 0..looks {
                let is_all = front.take(&mut body, &mut cx);
                prop_assert_eq!(is_all, !matches!(front.rest, Rest::Open));
                prop_assert!(front.length() < UNSENT + 9000);
            }
            let (mut got, mut ended) = (Vec::new(), None);
            loop {
                match front.poll_next(&mut body, &mut cx) {
                    Poll::Pending => {}
                    Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                        Ok(piece) => got.extend(piece),
                        Err(_) => ended = Some(Last::Trails),
                    },
                    Poll::Ready(Some(Err(_))) => ended = Some(Last::Breaks),
                    Poll::Ready(None) => break,
                }
            }
            prop_assert_eq!((got, ended), (wanted, last));
        }
    }
}
