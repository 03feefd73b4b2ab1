//! A server's leave to send content. A client that sent `Expect: 100-continue` (RFC 9110 section 10.1.1) waits for it.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};
use tokio::time::{Sleep, sleep};

/// How long we wait for leave, like `curl`. A server that does not know the expectation never gives it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The server's leave, passed to the content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leave(Arc<Given>);

#[derive(Debug, Default)]
struct Given {
    given: AtomicBool,
    waits: Mutex<Option<Waker>>,
}

/// The wait for leave.
#[derive(Debug)]
pub(crate) struct Awaiting {
    leave: Leave,
    patience: Pin<Box<Sleep>>,
}

impl Leave {
    /// Records that the server has said `100 Continue`.
    pub(crate) fn give(&self) {
        self.0.given.store(true, Relaxed);
        let waits = self.waits().take();
        if let Some(waker) = waits {
            waker.wake();
        }
    }

    /// Begins to wait now.
    pub(crate) fn wait(&self) -> Awaiting {
        Awaiting {
            leave: self.clone(),
            patience: Box::pin(sleep(PATIENCE)),
        }
    }

    fn waits(&self) -> std::sync::MutexGuard<'_, Option<Waker>> {
        self.0.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Awaiting {
    /// Ready when content may be sent.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        *self.leave.waits() = Some(cx.waker().clone());
        if self.leave.0.given.load(Relaxed) {
            return Poll::Ready(());
        }
        self.patience.as_mut().poll(cx)
    }
}
