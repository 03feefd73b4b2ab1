//! One include: asked for, waited for, read.

mod state;

use super::{ahead::Ahead, context::Context};
use crate::{body::Error, outcome::bump};
use bytes::Bytes;
use esi::Address;
use http_body::Body;
use state::{FragmentState, good};
use std::{
    fmt,
    pin::Pin,
    rc::Rc,
    task::{self, Poll, ready},
};

/// What a walk takes from when it is asked for a fragment until its head has come, in bytes: the task, the request, the
/// fetch. Measured with fragments that never answer.
const UNDER_WAY: usize = 6 << 10;

/// How often such a walk holds the address, measured in the same way: among others in its target, in its key, and in what
/// the origin is sent.
const COPIES: usize = 4;

/// What content that has come whole takes beside its bytes: their owner, and the allocator's rounding.
const COME: usize = 128;

/// One include.
pub struct Fragment {
    address: Address,
    /// The length of the address that was asked for.
    asked: usize,
    state: FragmentState,
    /// The content that was read before it was its turn.
    ahead: Option<Box<Ahead>>,
}

/// A piece of a fragment's content.
#[derive(Debug)]
pub struct Piece {
    /// What is sent.
    pub bytes: Bytes,
    /// As [`Content::gave_counted`](crate::body::Content).
    pub is_counted: bool,
}

/// What is known of an include.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing yet: its head is still to come.
    Open,
    /// Something can be sent in its place: its content, or nothing if it may be missing.
    Good,
    /// It failed, and must not be missing.
    Missing,
}

impl fmt::Debug for Fragment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Fragment").field(&self.fate()).finish()
    }
}

impl From<Address> for Fragment {
    fn from(address: Address) -> Self {
        Self {
            address,
            asked: 0,
            state: FragmentState::Idle,
            ahead: None,
        }
    }
}

impl Fragment {
    /// Returns what is known of it. An include that may be missing counts as good.
    pub fn fate(&self) -> Fate {
        match self.state {
            FragmentState::Idle | FragmentState::AwaitingHead(_) => Fate::Open,
            FragmentState::Good(..) => Fate::Good,
            FragmentState::Missing if self.address.may_fail => Fate::Good,
            FragmentState::Missing => Fate::Missing,
        }
    }

    /// Whether its head is still to come.
    pub fn is_awaiting_head(&self) -> bool {
        matches!(self.state, FragmentState::AwaitingHead(_))
    }

    /// Whether it was asked for and is not at hand: it holds a connection or waits for one.
    pub fn is_under_way(&self) -> bool {
        match &self.state {
            FragmentState::AwaitingHead(_) => true,
            FragmentState::Good(..)
                if self.ahead.as_ref().is_some_and(|ahead| ahead.has_ended()) =>
            {
                false
            }
            FragmentState::Good(body, _) => !body.is_whole(),
            FragmentState::Idle | FragmentState::Missing => false,
        }
    }

    /// Whether it is still to be asked for.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, FragmentState::Idle)
    }

    /// Asks for it: first `src`, then `alt`.
    pub fn begin(&mut self, context: &Rc<Context>) {
        bump(&context.worker().counters.fragments);
        let asked = self.address.wait.unwrap_or(context.wait);
        let wait = asked.min(context.wait);
        self.asked = self.addresses();
        let alt = self.address.alt.take();
        self.state = match self.address.src.take().and_then(|src| context.walk(&src)) {
            Some(Ok(response)) => match good(context, response) {
                Some(body) => FragmentState::good(body, context),
                None => FragmentState::instead(context, alt, wait),
            },
            Some(Err(answer)) => FragmentState::begun(context, answer, alt, wait),
            None => FragmentState::instead(context, alt, wait),
        };
        self.count(context);
    }

    /// Waits for its head.
    pub fn poll_head(&mut self, context: &Rc<Context>, task: &mut task::Context<'_>) {
        if let FragmentState::AwaitingHead(answer) = &mut self.state
            && let Poll::Ready(done) = Pin::new(&mut answer.0).poll(task)
        {
            let body = done.ok().flatten();
            self.state = body.map_or(FragmentState::Missing, |body| {
                FragmentState::good(body, context)
            });
            self.count(context);
        }
    }

    /// Returns the bytes of its addresses, which have values of the request in them.
    fn addresses(&self) -> usize {
        let both = [&self.address.src, &self.address.alt];
        both.into_iter().flatten().map(String::len).sum()
    }

    /// Returns the bytes of memory that it takes beside its content.
    pub fn weight(&self) -> u64 {
        let beside = match &self.state {
            FragmentState::Idle => self.addresses(),
            FragmentState::Good(..) => COME,
            FragmentState::AwaitingHead(_) | FragmentState::Missing => 0,
        };
        (size_of::<Self>() + beside) as u64 + self.walk()
    }

    /// Returns the part of its [`weight`](Self::weight) that its walk takes while its head is awaited.
    pub fn walk(&self) -> u64 {
        match &self.state {
            FragmentState::AwaitingHead(_) => (UNDER_WAY + COPIES * self.asked) as u64,
            FragmentState::Idle | FragmentState::Good(..) | FragmentState::Missing => 0,
        }
    }

    fn count(&self, context: &Context) {
        if matches!(self.state, FragmentState::Missing) {
            bump(&context.worker().counters.fragments_failed);
        }
    }

    /// Takes out all of it, if it is at hand.
    pub fn whole(&mut self) -> Option<Bytes> {
        match &mut self.state {
            FragmentState::Good(body, _) => body.take_whole(),
            FragmentState::Missing => Some(Bytes::new()),
            FragmentState::Idle | FragmentState::AwaitingHead(_) => None,
        }
    }

    /// Like [`whole`](Self::whole), unless something of it was [read ahead](Self::read_ahead).
    pub fn rest_at_hand(&mut self) -> Option<Bytes> {
        if self.ahead.is_some() {
            return None;
        }
        self.whole()
    }

    /// Whether [`whole`](Self::whole) has it.
    pub fn is_whole(&self) -> bool {
        match &self.state {
            FragmentState::Good(body, _) => body.is_whole(),
            FragmentState::Missing => true,
            FragmentState::Idle | FragmentState::AwaitingHead(_) => false,
        }
    }

    /// See [`Content::read_little_if`](crate::body::Content).
    pub fn read_little_if(&mut self, short: bool) {
        if let FragmentState::Good(body, _) = &mut self.state {
            body.read_little_if(short);
        }
    }

    /// See [`Content::unread`](crate::body::Content).
    pub fn unread(&self) -> u64 {
        match &self.state {
            FragmentState::Good(body, _) => body.unread(),
            FragmentState::Idle | FragmentState::AwaitingHead(_) | FragmentState::Missing => 0,
        }
    }

    /// Returns the bytes that are [read ahead](Self::read_ahead).
    pub fn ahead(&self) -> u64 {
        self.ahead.as_ref().map_or(0, |ahead| ahead.bytes())
    }

    /// Reads content that comes before it is its turn, as long as there is room, and at most `left` bytes of all that
    /// is read ahead.
    pub fn read_ahead(&mut self, context: &Context, task: &mut task::Context<'_>, left: &mut u64) {
        if !self.is_under_way() || self.is_awaiting_head() || *left == 0 {
            return;
        }
        let ahead = self.ahead.take();
        let mut ahead = ahead.unwrap_or_else(|| Box::new(Ahead::new(context.worker())));
        while *left > 0
            && ahead.wants_more(&context.worker().cache.memory)
            && let Poll::Ready(read) = self.poll_body(task)
        {
            let before = ahead.bytes();
            ahead.add(read);
            *left = left.saturating_sub(ahead.bytes() - before);
        }
        self.ahead = Some(ahead);
    }

    /// Polls for the next bytes; `None` at the end.
    pub fn poll_next(
        &mut self,
        task: &mut task::Context<'_>,
    ) -> Poll<Option<Result<Piece, Error>>> {
        match self.ahead.as_mut().and_then(|ahead| ahead.take()) {
            Some(Some(Ok(mut piece))) => {
                // Its fill may not be kept any more, and count nothing.
                if let FragmentState::Good(body, _) = &self.state {
                    piece.is_counted &= body.gave_counted();
                }
                Poll::Ready(Some(Ok(piece)))
            }
            Some(read) => Poll::Ready(read),
            None => self.poll_body(task),
        }
    }

    /// Polls for the next bytes that come; `None` at the end. If the content breaks off, the page breaks off too,
    /// unless the include may be missing.
    fn poll_body(&mut self, task: &mut task::Context<'_>) -> Poll<Option<Result<Piece, Error>>> {
        let (body, left) = match &mut self.state {
            FragmentState::Good(body, left) => (body, left),
            FragmentState::Missing => return Poll::Ready(None),
            FragmentState::Idle | FragmentState::AwaitingHead(_) => return Poll::Pending,
        };
        let error: Error = loop {
            match ready!(Pin::new(&mut *body).poll_frame(task)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => break error,
                Some(Ok(frame)) => {
                    let Ok(data) = frame.into_data() else {
                        continue;
                    };
                    match left.checked_sub(data.len() as u64) {
                        Some(rest) => *left = rest,
                        None => break Box::new(TooLarge),
                    }
                    return Poll::Ready(Some(Ok(Piece {
                        bytes: data,
                        is_counted: body.gave_counted(),
                    })));
                }
            }
        };
        self.state = FragmentState::Missing;
        Poll::Ready((!self.address.may_fail).then_some(Err(error)))
    }
}

/// A fragment is larger than what its page's route stores.
#[derive(Debug, thiserror::Error)]
#[error("a fragment is too large")]
struct TooLarge;
