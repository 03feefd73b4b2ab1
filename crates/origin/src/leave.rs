//! A server's leave to send content, for which a client waits that said `Expect: 100-continue` (RFC 9110 section 10.1.1).

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

/// A server that knows nothing of the expectation never gives leave. So long is it waited for, as `curl` does.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the server says, on its way to the content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leave(Arc<Given>);

#[derive(Debug, Default)]
struct Given {
    given: AtomicBool,
    waits: Mutex<Option<Waker>>,
}

/// The wait for it.
#[derive(Debug)]
pub(crate) struct Awaiting {
    leave: Leave,
    patience: Pin<Box<Sleep>>,
}

impl Leave {
    /// The server has said `100 Continue`.
    pub(crate) fn give(&self) {
        self.0.given.store(true, Relaxed);
        let waits = self.waits().take();
        if let Some(waker) = waits {
            waker.wake();
        }
    }

    /// The wait for it, from now on.
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
