//! The request's body on its way to the server, watched so that a time limit knows who is to blame.

mod front;
mod kept;
mod look;
mod progress;

pub use look::is_look;
pub use progress::UNSENT;

pub(crate) use progress::{Awaited, Upload};

use crate::{
    RequestBody,
    gate::Pass,
    leave::{Awaiting, Leave},
};
use bytes::Bytes;
use front::Front;
use http_body::{Body, Frame, SizeHint};
use kept::Kept;
use progress::{Progress, Stage};
use std::{
    error::Error,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// Why content broke off.
type Cause = Box<dyn Error + Send + Sync>;

/// A request body as the HTTP engines read it. A body without content is not watched and allocates nothing.
pub(crate) struct Outgoing {
    body: RequestBody,
    /// What [came](Self::take_what_came) of it before. Mostly `None`.
    front: Option<Box<Front>>,
    progress: Option<Arc<Progress>>,
    /// Its wait for the server's leave. Until that has come, the body is not read.
    awaits: Option<Awaiting>,
    /// Its turn among uploads, until all of it has come.
    turn: Option<Pass>,
    /// Whether its length was announced, and is short enough to [keep](Self::keep) it.
    is_short: bool,
    /// What was handed on of it, if it is kept.
    kept: Option<Box<Kept>>,
}

impl Outgoing {
    pub(crate) fn new(body: RequestBody) -> Self {
        let progress = (!body.is_end_stream()).then(|| Arc::new(Progress::new()));
        let length = body.size_hint().exact();
        Self {
            body,
            front: None,
            progress,
            awaits: None,
            turn: None,
            is_short: length.is_some_and(|length| length <= kept::MOST),
            kept: None,
        }
    }

    /// Takes in what has come of it already, up to a small amount. Returns whether no more is to come.
    pub(crate) fn take_what_came(&mut self) -> bool {
        let front = self.front.get_or_insert_default();
        front.take(&mut self.body, &mut look::looking())
    }

    /// Holds its turn among uploads until all of it has come.
    pub(crate) fn hold(&mut self, turn: Pass) {
        self.turn = Some(turn);
    }

    /// Records that the server takes some of the piece that was handed on last.
    pub(crate) fn moves(&self) {
        if let Some(progress) = &self.progress {
            progress.moves();
        }
    }

    /// Makes it wait for the server's leave.
    pub(crate) fn await_leave(&mut self, leave: &Leave) {
        self.awaits = Some(leave.wait());
    }

    /// Keeps what is handed on, so that the content can be [rewound](Self::rewound), if its length was announced and is
    /// not too much. Content of unknown length is not kept, not even once all of it is here: what is kept holds all the
    /// room that was taken for it in the memory budget, which is as much as content may ever take if its length is not
    /// known.
    pub(crate) fn keep(&mut self) {
        self.kept = (self.progress.is_some() && self.is_short).then(Box::default);
    }

    /// Whether all that was handed on is kept.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Keeps nothing any more.
    pub(crate) fn forget(&mut self) {
        self.kept = None;
    }

    /// Returns the content from its beginning, if all that was handed on of it was kept.
    pub(crate) fn rewound(mut self) -> Option<Self> {
        let kept = self.kept.take()?;
        self.front = Some(Box::new(kept.then(self.front.take())));
        self.progress = Some(Arc::new(Progress::new()));
        self.awaits = None;
        Some(self)
    }

    /// Makes a request's content once more. `None`: it has none.
    pub(crate) fn again(content: Option<&Bytes>) -> Self {
        content.map_or_else(Self::empty, |content| {
            let full = http_body_util::Full::new(content.clone());
            let body = http_body_util::BodyExt::map_err(full, |never| match never {});
            Self::new(RequestBody::new(body))
        })
    }

    pub(crate) fn empty() -> Self {
        let none = http_body_util::Empty::new();
        Self {
            body: RequestBody::new(http_body_util::BodyExt::map_err(
                none,
                |never| match never {},
            )),
            front: None,
            progress: None,
            awaits: None,
            turn: None,
            is_short: true,
            kept: None,
        }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Cause;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        if let Some(awaits) = &mut this.awaits {
            ready!(awaits.poll(cx));
            this.awaits = None;
        }
        let Some(progress) = &this.progress else {
            return Pin::new(&mut this.body).poll_frame(cx);
        };
        ready!(progress.poll_sent(cx));
        let polled = match &mut this.front {
            None => Pin::new(&mut this.body).poll_frame(cx),
            Some(front) => front.poll_next(&mut this.body, cx),
        };
        if polled.is_pending() {
            progress.set(Stage::AwaitsClient);
        }
        let frame = ready!(polled);
        progress.moves();
        progress.set(match &frame {
            Some(Ok(_)) if this.is_end_stream() => Stage::Done,
            Some(Ok(_)) => Stage::Flowing,
            Some(Err(_)) => Stage::Failed,
            None => Stage::Done,
        });
        if progress.stage() != Stage::Flowing {
            this.turn = None;
        }
        if let Some(kept) = &mut this.kept {
            let is_over = progress.stage() == Stage::Done;
            let is_kept = match &frame {
                Some(Err(_)) => false,
                Some(Ok(frame)) => kept.take(Some(frame), is_over),
                None => kept.take(None, is_over),
            };
            if !is_kept {
                this.kept = None;
            }
        }
        Poll::Ready(frame.map(|frame| frame.map(|frame| progress.hand_on(frame))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.front {
            None => self.body.is_end_stream(),
            Some(front) => front.is_end_stream(&self.body),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.front {
            None => self.body.size_hint(),
            Some(front) => front.size_hint(&self.body),
        }
    }
}
