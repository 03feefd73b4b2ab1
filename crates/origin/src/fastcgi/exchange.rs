//! One request and its response on a connection.
//!
//! There is no task beside it: waiting for the head or reading the body moves both directions on. The request's body is
//! [sent](sending) while the response comes in, because a script may answer before it has read everything.

mod arrival;
mod sending;

pub(crate) use arrival::{Arrived, Lost};

use super::{
    call::Call,
    complaints::{Complaints, Heard},
    link::Link,
    record::{self, Decoder, Ended, Event},
};
use crate::{
    Error, Kind,
    link::Alarm,
    upload::{Awaited, Outgoing},
};
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use sending::Sending;
use std::{
    collections::VecDeque,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::io::AsyncReadExt;

/// Bytes read from the socket at once.
const PIECE: usize = 32 * 1024;

/// When PHP said that the script broke off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fatal {
    /// Before there was any output: what came afterwards is what PHP or the script has to say of it.
    BeforeOutput,
    /// When a part of the page had been written.
    InOutput,
}

/// A request under way. If it is dropped before its end, it asks the server to give up, and closes the connection.
pub(crate) struct Exchange {
    link: Option<Link>,
    server: Arc<str>,
    call: Arc<Call>,
    complaints: Arc<Complaints>,
    sending: Sending,
    /// Output so far, in bytes.
    came: u64,
    input: BytesMut,
    decoder: Decoder,
    heard: Heard,
    fatal: Option<Fatal>,
    /// Output that came together with what was asked for.
    ahead: VecDeque<Bytes>,
    ended: Option<Ended>,
}

impl Exchange {
    pub(crate) fn new(
        link: Link,
        call: &Arc<Call>,
        complaints: &Arc<Complaints>,
        body: Outgoing,
    ) -> Self {
        Self {
            server: Arc::clone(&link.peer.label),
            link: Some(link),
            call: Arc::clone(call),
            complaints: Arc::clone(complaints),
            sending: Sending::new(&call.records, body),
            came: 0,
            input: BytesMut::new(),
            decoder: Decoder::default(),
            heard: Heard::default(),
            fatal: None,
            ahead: VecDeque::new(),
            ended: None,
        }
    }

    /// Fails if PHP said that the script broke off in its page. PHP ends a request properly whatever happened in it, and
    /// says so only on standard error. A script that says so by its status is believed. What came after it is `shown`,
    /// or else is not what it seems to be either.
    pub(crate) fn broke_off(&self, status: StatusCode, shown: bool) -> Result<(), Error> {
        let in_page = match self.fatal {
            Some(Fatal::InOutput) => true,
            Some(Fatal::BeforeOutput) => !shown,
            None => false,
        };
        if in_page && !status.is_server_error() {
            return Err(Error::new(Kind::Script).because("PHP reports a fatal error"));
        }
        Ok(())
    }

    /// Whether the request wants no content.
    pub(crate) fn is_head(&self) -> bool {
        self.call.is_head
    }

    /// Returns how many bytes of output are here and have not been taken.
    pub(crate) fn ahead(&self) -> u64 {
        self.ahead.iter().map(|piece| piece.len() as u64).sum()
    }

    /// Takes output that is here, and then the end, if that is here.
    pub(crate) fn take_ahead(&mut self) -> Option<Event> {
        match self.ahead.pop_front() {
            Some(piece) => Some(Event::Output(piece)),
            None => self.ended.map(Event::End),
        }
    }

    /// Returns how the request ended, if that is known.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Returns the end if it has come and no output is left.
    pub(crate) fn is_at_end(&self) -> Option<Ended> {
        self.ended.filter(|_| self.ahead.is_empty())
    }

    /// Returns the next output, or the end.
    pub(crate) fn poll_output(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event, Error>> {
        if let Some(event) = self.take_ahead() {
            return Poll::Ready(Ok(event));
        }
        let event = ready!(self.poll_event(cx))?;
        if let Event::Output(_) = event {
            self.run_ahead()?;
        }
        Poll::Ready(Ok(event))
    }

    /// Decodes what has come already.
    fn run_ahead(&mut self) -> Result<(), Error> {
        while let Some(event) = self.decode()? {
            match event {
                Event::Output(piece) => self.ahead.push_back(piece),
                Event::End(ended) => self.ended = Some(ended),
                Event::Complaint(_) => {}
            }
        }
        Ok(())
    }

    /// Returns the next event. Complaints are recorded and skipped.
    fn decode(&mut self) -> Result<Option<Event>, Error> {
        loop {
            let event = self.decoder.next(&mut self.input);
            match event.map_err(|wrong| Error::new(Kind::Protocol).because(wrong))? {
                Some(Event::Complaint(piece)) => self.hear(&piece),
                Some(Event::Output(piece)) => {
                    self.came += piece.len() as u64;
                    return Ok(Some(Event::Output(piece)));
                }
                event => return Ok(event),
            }
        }
    }

    fn hear(&mut self, complaint: &[u8]) {
        if self.heard.hear(complaint) {
            let is_first = self.came == 0;
            let fatal = if is_first {
                Fatal::BeforeOutput
            } else {
                Fatal::InOutput
            };
            self.fatal.get_or_insert(fatal);
        }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Result<Event, Error>> {
        loop {
            if let Some(event) = self.decode()? {
                return Poll::Ready(Ok(event));
            }
            let Some(link) = &mut self.link else {
                return Poll::Ready(Err(Error::new(Kind::Truncated)));
            };
            self.sending.poll(link, cx)?;
            self.input.reserve(PIECE);
            let read = pin!(link.stream.read_buf(&mut self.input)).poll(cx);
            match ready!(read) {
                Ok(0) => return Poll::Ready(Err(Error::new(Kind::Truncated))),
                Ok(_) => {}
                Err(cause) => return Poll::Ready(Err(Error::new(Kind::Truncated).because(cause))),
            }
        }
    }

    /// Returns the connection if the next request may be sent on it.
    pub(crate) fn release(&mut self) -> Option<Link> {
        let clean = self.call.keeps
            && self.ended.is_some_and(|ended| ended.protocol == 0)
            && self.sending.is_done()
            && self.input.is_empty();
        let mut link = self.link.take()?;
        link.reused = true;
        clean.then_some(link)
    }

    /// Returns the side that we wait for.
    pub(crate) fn awaited(&self) -> Awaited {
        self.sending.awaited()
    }

    /// Returns the connection's alarm, and how much of the request and the output has moved so far. Complaints do not
    /// count: they bring no page nearer.
    pub(crate) fn alarm(&mut self) -> Option<(&mut Alarm, u64)> {
        let link = self.link.as_mut()?;
        let moved = self.sending.wrote() + self.came;
        Some((&mut link.alarm, moved))
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if let Some(text) = self.heard.take() {
            self.complaints.put(&self.server, &self.call.url, text);
        }
        // In the middle of a record this would be taken for content.
        if let Some(link) = &self.link
            && self.ended.is_none()
            && self.sending.is_between_records()
        {
            link.stream.last_words(&record::ABORT);
        }
    }
}
