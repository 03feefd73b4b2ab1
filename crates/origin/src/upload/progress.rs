//! How far an upload has come, for whoever waits for its answer.

use super::Outgoing;
use bytes::Bytes;
use http::Request;
use http_body::Frame;
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};
use tokio::time::Instant;

/// Bytes of a request's content that may be handed on and not yet sent. Content is handed on piece by piece: the next
/// one when no more than this is left to send. However much the engines would hold, no more is held here than this and
/// one piece.
pub const UNSENT: u64 = 16 * 1024;

/// The state of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The server takes what the client sends.
    Flowing,
    /// The client has not sent the next piece yet.
    AwaitsClient,
    /// All of it was handed on.
    Done,
    /// The client's side broke.
    Failed,
}

/// What can be seen of an upload while waiting for the answer.
#[derive(Debug)]
pub(super) struct Progress {
    stage: AtomicU8,
    began: Instant,
    /// When a piece was last handed on, or the server last [took](Outgoing::moves) some of one, in milliseconds since
    /// the upload began.
    moved: AtomicU64,
    /// Bytes that were handed on and that the server has not taken.
    unsent: AtomicU64,
    /// The task that waits until the server has taken them.
    waiting: Mutex<Option<Waker>>,
}

/// A piece that was handed on. Dropped when it has gone to the server.
struct UploadPiece {
    bytes: Bytes,
    progress: Arc<Progress>,
}

impl AsRef<[u8]> for UploadPiece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for UploadPiece {
    fn drop(&mut self) {
        let length = self.bytes.len() as u64;
        self.progress.unsent.fetch_sub(length, Relaxed);
        let waiting = self.progress.waiting.lock();
        let waiting = waiting.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            stage: AtomicU8::new(Stage::Flowing as u8),
            began: Instant::now(),
            moved: AtomicU64::new(0),
            unsent: AtomicU64::new(0),
            waiting: Mutex::default(),
        }
    }

    /// Ready when the server has taken enough of what was handed on. Until then we wait for the server.
    pub(super) fn poll_sent(&self, cx: &Context<'_>) -> Poll<()> {
        if self.unsent.load(Relaxed) <= UNSENT {
            return Poll::Ready(());
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting = Some(cx.waker().clone());
        drop(waiting);
        // A piece that was sent meanwhile woke nobody.
        if self.unsent.load(Relaxed) <= UNSENT {
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// Hands a piece on.
    pub(super) fn hand_on(self: &Arc<Self>, frame: Frame<Bytes>) -> Frame<Bytes> {
        frame.map_data(|bytes| {
            self.unsent.fetch_add(bytes.len() as u64, Relaxed);
            Bytes::from_owner(UploadPiece {
                bytes,
                progress: Arc::clone(self),
            })
        })
    }

    pub(super) fn stage(&self) -> Stage {
        const STAGES: [Stage; 4] = [
            Stage::Flowing,
            Stage::AwaitsClient,
            Stage::Done,
            Stage::Failed,
        ];
        let stage = usize::from(self.stage.load(Relaxed));
        STAGES.get(stage).copied().unwrap_or(Stage::Failed)
    }

    /// Records that it moves on.
    pub(super) fn moves(&self) {
        let passed = self.began.elapsed().as_millis();
        self.moved.store(passed as u64, Relaxed);
    }

    fn moved_at(&self) -> Instant {
        self.began + Duration::from_millis(self.moved.load(Relaxed))
    }

    pub(super) fn set(&self, stage: Stage) {
        self.stage.store(stage as u8, Relaxed);
    }
}

/// An upload as seen while waiting for the answer or reading it. The server may answer before it has read everything.
#[derive(Debug)]
pub(crate) struct Upload {
    /// `None`: there is no upload.
    progress: Option<Arc<Progress>>,
}

/// The side that we wait for while no answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// The client, which has to send the next piece.
    Client,
    /// The server: since this time, if it first waited for an upload itself.
    Server(Option<Instant>),
}

impl Upload {
    pub(crate) fn of(request: &Request<Outgoing>) -> Self {
        Self {
            progress: request.body().progress.clone(),
        }
    }

    /// Whether the client's side broke.
    pub(crate) fn has_failed(&self) -> bool {
        let progress = self.progress.as_ref();
        progress.is_some_and(|progress| progress.stage() == Stage::Failed)
    }

    /// Returns the side that we wait for.
    pub(crate) fn awaited(&self) -> Awaited {
        match &self.progress {
            None => Awaited::Server(None),
            Some(progress) if progress.stage() == Stage::AwaitsClient => Awaited::Client,
            Some(progress) => Awaited::Server(Some(progress.moved_at())),
        }
    }
}
