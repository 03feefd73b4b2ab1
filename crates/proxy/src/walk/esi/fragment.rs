//! One include: asked for, waited for, read.

use super::{ahead::Ahead, context::Context};
use crate::{
    body::{Error, ReplyBody},
    outcome::bump,
    walk::Later,
};
use bytes::Bytes;
use esi::Address;
use http::{Response, StatusCode};
use http_body::Body;
use std::{
    fmt,
    pin::Pin,
    rc::Rc,
    task::{self, Poll, Waker, ready},
    time::Duration,
};
use tokio::task::JoinHandle;

/// One include.
pub struct Fragment {
    address: Address,
    state: FragmentState,
    /// What of its content was read before it was its turn.
    ahead: Option<Box<Ahead>>,
}

enum FragmentState {
    /// Not asked for.
    Idle,
    /// Asked for; its head is not there.
    AwaitingHead(Task),
    /// Its head said that it is good; its content, and how many bytes of it may come.
    Good(ReplyBody, u64),
    /// It came to nothing.
    Missing,
}

/// The wait for a fragment's head, which ends with whoever waits.
struct Task(JoinHandle<Option<ReplyBody>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What is known of an include.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing yet: its head is still to come.
    Open,
    /// Something can be sent in its place: its content, or nothing where it may be missing.
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
            state: FragmentState::Idle,
            ahead: None,
        }
    }
}

impl Fragment {
    /// What is known. One that may be missing is as good as there.
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

    /// Whether it is asked for and not at hand: it holds a connection or waits for one.
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

    /// Whether it is to be asked for.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, FragmentState::Idle)
    }

    /// Asks for it: first `src`, then `alt`.
    pub fn begin(&mut self, context: &Rc<Context>) {
        bump(&context.worker().counters.fragments);
        let asked = self.address.wait.unwrap_or(context.wait);
        let wait = asked.min(context.wait);
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

    fn count(&self, context: &Context) {
        if matches!(self.state, FragmentState::Missing) {
            bump(&context.worker().counters.fragments_failed);
        }
    }

    /// The whole of it, where it is at hand.
    pub fn whole(&mut self) -> Option<Bytes> {
        match &mut self.state {
            FragmentState::Good(body, _) => body.take_whole(),
            FragmentState::Missing => Some(Bytes::new()),
            FragmentState::Idle | FragmentState::AwaitingHead(_) => None,
        }
    }

    /// Whether [`whole`](Self::whole) has it.
    pub fn is_whole(&self) -> bool {
        match &self.state {
            FragmentState::Good(body, _) => body.is_whole(),
            FragmentState::Missing => true,
            FragmentState::Idle | FragmentState::AwaitingHead(_) => false,
        }
    }

    /// As [`Content::read_little`](crate::body::Content).
    pub fn read_little(&mut self, little: bool) {
        if let FragmentState::Good(body, _) = &mut self.state {
            body.read_little(little);
        }
    }

    /// As [`Content::unread`](crate::body::Content).
    pub fn unread(&self) -> u64 {
        match &self.state {
            FragmentState::Good(body, _) => body.unread(),
            FragmentState::Idle | FragmentState::AwaitingHead(_) | FragmentState::Missing => 0,
        }
    }

    /// Bytes that are [read ahead](Self::read_ahead).
    pub fn ahead(&self) -> u64 {
        self.ahead.as_ref().map_or(0, |ahead| ahead.bytes())
    }

    /// Reads what comes of its content, though it is not its turn, as far as there is room, and of all that is read so `left` bytes.
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

    /// The next bytes; `None` at the end.
    pub fn poll_next(
        &mut self,
        task: &mut task::Context<'_>,
    ) -> Poll<Option<Result<Bytes, Error>>> {
        match self.ahead.as_mut().and_then(|ahead| ahead.take()) {
            Some(read) => Poll::Ready(read),
            None => self.poll_body(task),
        }
    }

    /// The next bytes that come; `None` at the end. What breaks off in the middle breaks the page off, unless it may be missing.
    fn poll_body(&mut self, task: &mut task::Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
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
                    return Poll::Ready(Some(Ok(data)));
                }
            }
        };
        self.state = FragmentState::Missing;
        Poll::Ready((!self.address.may_fail).then_some(Err(error)))
    }
}

/// A fragment outgrew what its page's route stores.
#[derive(Debug, thiserror::Error)]
#[error("a fragment is too large")]
struct TooLarge;

impl FragmentState {
    fn good(body: ReplyBody, context: &Context) -> Self {
        Self::Good(body, context.largest)
    }

    /// What `alt` names in place of what failed.
    fn instead(context: &Rc<Context>, alt: Option<String>, wait: Duration) -> Self {
        match alt.and_then(|alt| context.walk(&alt)) {
            Some(Ok(response)) => {
                good(context, response).map_or(Self::Missing, |body| Self::good(body, context))
            }
            Some(Err(answer)) => Self::begun(context, answer, None, wait),
            None => Self::Missing,
        }
    }

    /// Waits for what does not come at once. A task does: whoever reads the page does so as slowly as they like, and what is being
    /// asked for has time limits of its own.
    fn begun(context: &Rc<Context>, answer: Later, alt: Option<String>, wait: Duration) -> Self {
        let mut answer = Box::pin(later(context.clone(), answer, alt, wait));
        let begun = answer
            .as_mut()
            .poll(&mut task::Context::from_waker(Waker::noop()));
        match begun {
            Poll::Ready(body) => body.map_or(Self::Missing, |body| Self::good(body, context)),
            Poll::Pending => Self::AwaitingHead(Task(tokio::task::spawn_local(answer))),
        }
    }
}

async fn later(
    context: Rc<Context>,
    answer: Later,
    alt: Option<String>,
    wait: Duration,
) -> Option<ReplyBody> {
    let response = tokio::time::timeout(wait, answer).await.ok();
    if let Some(body) = response.and_then(|response| good(&context, response)) {
        return Some(body);
    }
    let response = match context.walk(&alt?)? {
        Ok(response) => response,
        Err(answer) => tokio::time::timeout(wait, answer).await.ok()?,
    };
    good(&context, response)
}

/// The content of an answer that may stand in a page, decoded where it came coded although nobody asked.
fn good(context: &Context, response: Response<ReplyBody>) -> Option<ReplyBody> {
    let status = response.status();
    let fits = response.body().size_hint().lower() <= context.largest;
    if !fits {
        return None;
    }
    if !status.is_success() || status == StatusCode::PARTIAL_CONTENT {
        // Others may be answered with it.
        response.into_body().keep();
        return None;
    }
    if super::is_identity(response.headers()) {
        let memory = &context.worker().cache.memory;
        return Some(response.into_body().gathered(memory));
    }
    let coding = super::coding_of(response.headers())?;
    let cache = &context.worker().cache;
    let (counts, memory) = (&cache.compressor.counts, &cache.memory);
    response.into_body().decoded(coding, counts, memory)
}
