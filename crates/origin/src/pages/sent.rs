//! A page on its way out: it counts among those that are taken from the store until nearly all of it has gone.

use crate::{Error, ResponseBody, gate::Pass};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// How much is handed on at a time: what takes it in may have no bound of its own but that it asks for no more.
const PIECE: usize = 128 << 10;

/// What is left of a page.
struct PageBody {
    rest: Bytes,
    /// Given back when the body is dropped, which is after its end was seen, or when nobody wants it any more.
    _pass: Pass,
}

/// The body that `bytes` are.
pub(super) fn body(bytes: Bytes, pass: Pass) -> ResponseBody {
    ResponseBody::own(PageBody {
        rest: bytes,
        _pass: pass,
    })
}

impl Body for PageBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let rest = &mut self.get_mut().rest;
        let piece = rest.split_to(rest.len().min(PIECE));
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
