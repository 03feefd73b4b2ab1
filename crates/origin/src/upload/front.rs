//! The part of a request's content that came before its server was asked to take it.

use super::{Cause, UNSENT};
use crate::RequestBody;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
};

/// The pieces that came, and what follows them.
#[derive(Default)]
pub(super) struct Front {
    pieces: VecDeque<Bytes>,
    rest: Rest,
}

/// What follows the pieces that came.
#[derive(Default)]
enum Rest {
    /// More may come.
    #[default]
    Open,
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
                Poll::Ready(Some(Ok(frame))) => {
                    // Trailers are dropped: nobody uses them.
                    self.pieces.extend(frame.into_data().ok());
                    if body.is_end_stream() {
                        self.rest = Rest::Ended;
                    }
                }
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
                Rest::Broken(_) => false,
            }
    }

    pub(super) fn size_hint(&self, body: &RequestBody) -> SizeHint {
        let here = self.length();
        let rest = match self.rest {
            Rest::Ended => SizeHint::with_exact(0),
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
    use proptest::prelude::*;
    use std::task::Waker;

    /// Pieces that come one after another; `None` is a pause. Then the content ends, or breaks.
    struct Script(VecDeque<Option<Bytes>>, bool);

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
                None if std::mem::take(&mut self.1) => Poll::Ready(Some(Err("broken".into()))),
                None => Poll::Ready(None),
            }
        }
    }

    proptest! {
        /// However often content is taken early, every piece comes once, in order, with the reason why there is no
        /// more, and not too much is held.
        #[test]
        fn what_came_before_comes_first(
            script in proptest::collection::vec(proptest::option::of(0_usize..9000), 0..9),
            breaks: bool,
            looks in 0_usize..6,
        ) {
            let pieces = script.iter().enumerate().map(|(at, length)| {
                let piece = length.map(|length| vec![u8::try_from(at).unwrap_or(0); length]);
                piece.map(Bytes::from)
            });
            let pieces: VecDeque<_> = pieces.collect();
            let wanted: Vec<u8> = pieces.iter().flatten().flatten().copied().collect();
            let mut body = Script(pieces, breaks).boxed_unsync();
            let mut front = Front::default();
            let mut cx = Context::from_waker(Waker::noop());
            for _ in 0..looks {
                let is_all = front.take(&mut body, &mut cx);
                prop_assert_eq!(is_all, !matches!(front.rest, Rest::Open));
                prop_assert!(front.length() < UNSENT + 9000);
            }
            let (mut got, mut broke) = (Vec::new(), false);
            loop {
                match front.poll_next(&mut body, &mut cx) {
                    Poll::Pending => {}
                    Poll::Ready(Some(Ok(frame))) => {
                        got.extend(frame.into_data().unwrap_or_default());
                    }
                    Poll::Ready(Some(Err(_))) => broke = true,
                    Poll::Ready(None) => break,
                }
            }
            prop_assert_eq!((got, broke), (wanted, breaks));
        }
    }
}
