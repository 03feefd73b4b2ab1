//! How far an include has come.

use crate::{
    body::ReplyBody,
    listen::Later,
    walk::{esi::context::Context, page},
};
use http::{Response, StatusCode};
use http_body::Body;
use std::{
    rc::Rc,
    task::{self, Poll, Waker},
    time::Duration,
};
use tokio::task::JoinHandle;

pub(super) enum FragmentState {
    /// It was not asked for.
    Idle,
    /// It was asked for; its head is not there yet.
    AwaitingHead(Task),
    /// Its head said that it is good. Holds its content, and how many bytes of it may come.
    Good(ReplyBody, u64),
    /// It came to nothing.
    Missing,
}

/// The wait for a fragment's head. It ends when this is dropped.
pub(super) struct Task(pub(super) JoinHandle<Option<ReplyBody>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl FragmentState {
    pub(super) fn good(body: ReplyBody, context: &Context) -> Self {
        Self::Good(body, context.largest)
    }

    /// Asks for `alt` in place of what failed.
    pub(super) fn instead(context: &Rc<Context>, alt: Option<String>, wait: Duration) -> Self {
        match alt.and_then(|alt| context.walk(&alt)) {
            Some(Ok(response)) => {
                good(context, response).map_or(Self::Missing, |body| Self::good(body, context))
            }
            Some(Err(answer)) => Self::begun(context, answer, None, wait),
            None => Self::Missing,
        }
    }

    /// Waits for an answer that does not come at once. A task waits, since clients read the page as slowly as they
    /// like, and what is being asked for has time limits of its own.
    pub(super) fn begun(
        context: &Rc<Context>,
        answer: Later<ReplyBody>,
        alt: Option<String>,
        wait: Duration,
    ) -> Self {
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
    answer: Later<ReplyBody>,
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

/// Returns the content of an answer that may stand in a page. It is decoded if it came in a coding although none was
/// asked for.
pub(super) fn good(context: &Context, response: Response<ReplyBody>) -> Option<ReplyBody> {
    let status = response.status();
    let fits = response.body().size_hint().lower() <= context.largest;
    if !fits {
        return None;
    }
    if !status.is_success() || status == StatusCode::PARTIAL_CONTENT {
        // Other requests may be answered with it.
        response.into_body().keep();
        return None;
    }
    if page::is_identity(response.headers()) {
        let memory = &context.worker().cache.memory;
        return Some(response.into_body().gathered(memory));
    }
    let coding = page::coding_of(response.headers())?;
    let cache = &context.worker().cache;
    let (counts, memory) = (&cache.compressor.counts, &cache.memory);
    response.into_body().decoded(coding, counts, memory)
}
