//! A request on its way out: what is encoded, and the body that is still to be read for it.

use crate::{
    Error, Kind,
    fastcgi::{link::Link, record},
    upload::{Awaited, Outgoing},
};
use bytes::{Buf, BytesMut};
use http_body::Body as _;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::{io::AsyncWrite, time::Instant};

/// What is still to be sent of a request, and how much was.
pub(super) struct Sending {
    /// Bytes that are encoded and not yet sent.
    out: BytesMut,
    /// What is still to be read of the request's body.
    upload: Option<Outgoing>,
    /// The body that was read to its end, until all of it is sent. Its memory counts until then.
    spent: Option<Outgoing>,
    /// Whether the client has not sent the next piece yet.
    awaits_client: bool,
    /// Whether the server does not read any more. It may answer all the same.
    deaf: bool,
    wrote: u64,
    /// When some of the request was last sent.
    sent_at: Option<Instant>,
}

impl Sending {
    /// Begins with the encoded `head` of a request.
    pub(super) fn new(head: &[u8], body: Outgoing) -> Self {
        let mut out = BytesMut::from(head);
        let upload = if body.is_end_stream() {
            record::end_of_stdin(&mut out);
            None
        } else {
            Some(body)
        };
        Self {
            out,
            upload,
            spent: None,
            awaits_client: false,
            deaf: false,
            wrote: 0,
            sent_at: None,
        }
    }

    /// Sends as much as possible on `link`. Only the client's own failure is an error: if the server does not read the
    /// request to its end, its answer shows what it makes of that.
    pub(super) fn poll(&mut self, link: &mut Link, cx: &mut Context<'_>) -> Result<(), Error> {
        loop {
            if self.poll_flush(link, cx).is_pending() || self.deaf {
                return Ok(());
            }
            let Some(upload) = &mut self.upload else {
                self.spent = None;
                return Ok(());
            };
            match Pin::new(upload).poll_frame(cx) {
                Poll::Pending => {
                    self.awaits_client = true;
                    return Ok(());
                }
                Poll::Ready(Some(Ok(frame))) => {
                    let data = frame.into_data().unwrap_or_default();
                    record::stdin(&mut self.out, &data);
                }
                Poll::Ready(Some(Err(cause))) => {
                    // If a file of ours cannot be read, that is not the client's fault.
                    return Err(cause.downcast::<Error>().map_or_else(
                        |cause| Error::new(Kind::RequestBody).because(cause),
                        |error| *error,
                    ));
                }
                Poll::Ready(None) => {
                    record::end_of_stdin(&mut self.out);
                    self.spent = self.upload.take();
                }
            }
            self.awaits_client = false;
        }
    }

    fn poll_flush(&mut self, link: &mut Link, cx: &mut Context<'_>) -> Poll<()> {
        while !self.out.is_empty() && !self.deaf {
            match ready!(Pin::new(&mut link.stream).poll_write(cx, &self.out)) {
                Ok(sent) if sent > 0 => {
                    self.out.advance(sent);
                    self.wrote += sent as u64;
                    self.sent_at = Some(Instant::now());
                }
                _ => self.deaf = true,
            }
        }
        Poll::Ready(())
    }

    /// Returns the side that we wait for.
    pub(super) fn awaited(&self) -> Awaited {
        if self.awaits_client {
            Awaited::Client
        } else {
            Awaited::Server(self.sent_at)
        }
    }

    /// Bytes sent so far.
    pub(super) fn wrote(&self) -> u64 {
        self.wrote
    }

    /// Whether the server has taken all of the request.
    pub(super) fn is_done(&self) -> bool {
        self.upload.is_none() && self.out.is_empty() && !self.deaf
    }

    /// Whether something was sent, and no record is sent in part: another one may follow.
    pub(super) fn is_between_records(&self) -> bool {
        self.wrote > 0 && self.out.is_empty()
    }

    /// Returns the body, if the server does not read the request and nothing of it was sent.
    pub(super) fn unsent(&mut self) -> Option<Outgoing> {
        (self.deaf && self.wrote == 0).then(|| {
            let none = Outgoing::empty;
            self.upload.take().unwrap_or_else(none)
        })
    }
}
