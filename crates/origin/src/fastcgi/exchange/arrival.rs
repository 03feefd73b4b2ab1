//! The start of a response: its head, in time, or the reason why there is none.

use super::Exchange;
use crate::{
    Error, Kind, Lifetime,
    connect::Speaks,
    fastcgi::{
        head::{self, Head},
        link::Link,
        record::{Ended, Event},
        wait::{Limits, Wait},
    },
    message::{self, RequestFraming},
    upload::Outgoing,
};
use bytes::BytesMut;
use http::{HeaderValue, Response, StatusCode, header::CACHE_CONTROL};
use rules::fields::{gives_lifetime, remove_where};
use std::{
    future::poll_fn,
    task::{Context, Poll, ready},
};

/// A response's head.
#[derive(Debug)]
pub(crate) enum Arrived {
    Response(Response<()>),
    /// A local redirect (RFC 3875 section 6.2.2).
    Local(String),
}

/// Why there was no head.
pub(crate) struct Lost {
    pub(crate) error: Error,
    /// The body, if nothing was sent. It then goes elsewhere.
    pub(crate) unsent: Option<Outgoing>,
    /// Whether a connection that had been used before closed without a byte of answer.
    pub(crate) was_closing: bool,
}

impl Exchange {
    /// Waits for the head.
    pub(crate) async fn head(
        mut self,
        limits: Limits,
        largest: usize,
    ) -> Result<(Arrived, Self), Box<Lost>> {
        let mut wait = Wait::new(limits);
        let mut head = BytesMut::new();
        let before = self.link.as_ref().map_or(0, Link::heard);
        let arrived = poll_fn(|cx| match self.poll_head(cx, &mut head, largest) {
            Poll::Pending => {
                let awaited = self.awaited();
                match &mut self.link {
                    Some(link) => wait.poll(link, awaited, cx).map(Err),
                    None => Poll::Pending,
                }
            }
            done @ Poll::Ready(_) => done,
        });
        match arrived.await {
            Ok(arrived) => Ok((arrived, self)),
            Err(error) => Err(Box::new(self.lost(error, before))),
        }
    }

    /// Says why no head came.
    fn lost(mut self, error: Error, before: u64) -> Lost {
        let link = self.link.take();
        let was_closing =
            link.is_some_and(|link| link.reused && link.heard() == before && !error.is_timeout());
        Lost {
            error,
            unsent: self.sending.unsent(),
            was_closing,
        }
    }

    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        head: &mut BytesMut,
        largest: usize,
    ) -> Poll<Result<Arrived, Error>> {
        loop {
            let piece = match ready!(self.poll_event(cx))? {
                Event::Output(piece) => piece,
                Event::End(ended) => return Poll::Ready(Err(headless(ended))),
                Event::Complaint(_) => continue,
            };
            let seen = head.len();
            head.extend_from_slice(&piece);
            let Some((length, whole)) = head::end(head, seen) else {
                if head.len() > largest {
                    return Poll::Ready(Err(Error::new(Kind::HeadTooLarge)));
                }
                continue;
            };
            if length > largest {
                return Poll::Ready(Err(Error::new(Kind::HeadTooLarge)));
            }
            let first = piece.slice(whole.saturating_sub(seen).min(piece.len())..);
            if !first.is_empty() {
                self.ahead.push_back(first);
            }
            self.run_ahead()?;
            let fields = head.get(..length).unwrap_or_default();
            return Poll::Ready(self.judged(fields));
        }
    }

    fn judged(&self, fields: &[u8]) -> Result<Arrived, Error> {
        let head =
            head::parse(fields).map_err(|wrong| Error::new(Kind::Malformed).because(wrong))?;
        let (status, headers) = match head {
            Head::Local(target) => return Ok(Arrived::Local(target)),
            Head::Response(status, headers) => (status, headers),
        };
        let mut response = Response::new(());
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        if self.fatal.is_some() {
            // What it said about its lifetime was meant for the page that it failed to write. The fields tell others.
            // What confirms or continues something stored has nothing to show: it fails.
            if !matches!(
                status,
                StatusCode::NOT_MODIFIED | StatusCode::PARTIAL_CONTENT
            ) {
                response.extensions_mut().insert(Lifetime::Never);
            }
            let fields = response.headers_mut();
            fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            remove_where(fields, gives_lifetime);
        }
        let asked = RequestFraming {
            upgrade: None,
            content: false,
            unnamed: false,
            signs_in: false,
        };
        message::judge(&mut response, asked, Speaks::FastCgi)?;
        Ok(Arrived::Response(response))
    }
}

/// Returns the error of a response that ended before its head.
fn headless(ended: Ended) -> Error {
    match ended.protocol {
        0 => Error::new(Kind::Malformed).because("the output ended within the header"),
        1 => Error::new(Kind::Protocol).because("the server is busy with another request"),
        2 => Error::new(Kind::Protocol).because("the server is overloaded"),
        _ => Error::new(Kind::Protocol).because("the server does not run scripts"),
    }
}
