//! A page while it is sent. It counts among those taken from the store until nearly all of it is gone.

use crate::{Error, ResponseBody, gate::Pass};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// Most bytes handed on at a time. The receiver's only limit may be that it asks for no more.
const PIECE: usize = 128 << 10;

/// The rest of a page.
struct PageBody {
    rest: Bytes,
    /// Given back when the body is dropped: after its end was seen, or when nobody wants it any more.
    _pass: Pass,
}

/// Makes a body of `bytes`.
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
