//! The way back to the client on one stream, until the final answer begins.

use super::super::interim::{MOST_WAITING, passed_on};
use bytes::Bytes;
use h2::server::SendResponse;
use http::{HeaderMap, Response, StatusCode};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

/// Sends any number of interim responses, until the final answer [takes over](Self::take). Code that has interim
/// responses to send shares it.
#[derive(Debug)]
pub(in crate::listen) struct Reply(Mutex<Before>);

/// The state before the final answer.
#[derive(Debug)]
struct Before {
    /// `None` if the final answer has begun, or will not begin any more.
    respond: Option<SendResponse<Bytes>>,
    /// Bytes of interim responses that were sent: those that the client does not take wait in memory.
    sent: usize,
}

impl Reply {
    pub(super) fn new(respond: SendResponse<Bytes>) -> Self {
        Self(Mutex::new(Before {
            respond: Some(respond),
            sent: 0,
        }))
    }

    /// Tells the client to send the content that it holds back (RFC 9110 section 10.1.1).
    pub(in crate::listen) fn go_on(&self) {
        self.send(StatusCode::CONTINUE, HeaderMap::new());
    }

    /// Sends an interim response, if the final answer has not begun.
    pub(in crate::listen) fn send_interim(&self, status: StatusCode, fields: &HeaderMap) {
        self.send(status, passed_on(fields));
    }

    fn send(&self, status: StatusCode, fields: HeaderMap) {
        let mut before = self.lock();
        let size: usize = fields
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len())
            .sum();
        let sent = before.sent.saturating_add(size);
        if sent > MOST_WAITING {
            return;
        }
        before.sent = sent;
        let Some(respond) = &mut before.respond else {
            return;
        };
        let mut interim = Response::new(());
        *interim.status_mut() = status;
        *interim.headers_mut() = fields;
        // It is only a hint: the final answer notices the end of the stream.
        let _ = respond.send_informational(interim);
    }

    /// Waits until the client has cancelled the stream, or the connection has ended.
    pub(super) fn poll_left(&self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.lock().respond {
            Some(respond) => respond.poll_reset(cx).map(drop),
            None => Poll::Ready(()),
        }
    }

    /// Takes the stream for the final answer.
    pub(super) fn take(&self) -> Option<SendResponse<Bytes>> {
        self.lock().respond.take()
    }

    /// Never contended: everything of a connection runs on one thread.
    fn lock(&self) -> MutexGuard<'_, Before> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
