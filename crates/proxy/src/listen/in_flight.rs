//! A request that is being answered: its connection is not idle, and may wait for its client.

use super::{Serve, http2::Taking, service::Session, watch::Watch};
use std::{rc::Rc, sync::Arc, task::Waker};
use store::Reservation;

/// Counts a request as in flight; on drop no more.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) watch: Arc<Watch>,
    /// Where the request is one of many on its connection.
    stream: Option<Stream>,
    /// Whether the client is what the answer's body waits for, over HTTP/1.
    owed: bool,
    /// What its head takes of the budget, where that is counted by itself.
    head: Option<Reservation>,
}

/// A request over HTTP/2.
#[derive(Debug)]
struct Stream {
    /// The limit on cancelled ones.
    most_cancelled: u32,
    finished: bool,
    /// See [`Taking`].
    taking: Rc<Taking>,
}

impl InFlight {
    pub(super) fn new<S: Serve>(session: &Session<S>) -> Self {
        let watch = &session.watch;
        watch.request_begins();
        Self {
            watch: Arc::clone(watch),
            stream: session.taking.as_ref().map(|taking| Stream {
                most_cancelled: session.limits.http2_resets,
                finished: false,
                taking: Rc::clone(taking),
            }),
            owed: false,
            head: None,
        }
    }

    /// Holds what the request's head takes of the budget until it is answered.
    pub(super) fn hold(&mut self, head: Option<Reservation>) {
        self.head = head;
    }

    /// Whether others share its connection.
    pub(super) fn is_one_of_many(&self) -> bool {
        self.stream.is_some()
    }

    /// The answer is complete, as far as we go.
    pub(super) fn finish(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.finished = true;
        }
    }

    /// The answer's body gave a piece, the last one or not: the client is what it waits for from now on. Over HTTP/2 the stream ends
    /// where that takes too long, and whoever has `waker` with it.
    pub(super) fn gave(&mut self, waker: &Waker, is_last: bool) {
        match &self.stream {
            Some(stream) => {
                let pieces = &self.watch.pieces;
                let wait = pieces.begin(self.watch.worker.now(), Some(waker));
                stream.taking.set(Some(wait));
            }
            None => self.owe(!is_last),
        }
    }

    /// The client has taken what was given, or the answer has ended.
    pub(super) fn taken(&mut self) {
        match &self.stream {
            Some(stream) => {
                if let Some(wait) = stream.taking.take() {
                    self.watch.pieces.end(wait);
                }
            }
            None => self.owe(false),
        }
    }

    fn owe(&mut self, owed: bool) {
        if owed != self.owed {
            self.owed = owed;
            self.watch.owe_body(owed);
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.taken();
        self.watch.request_ends();
        if let Some(stream) = &self.stream {
            self.watch.tally(!stream.finished, stream.most_cancelled);
        }
    }
}
