//! What nobody reads of a request's content over HTTP/2.
//!
//! While some of it is still to come when the answer is whole and nobody is there to read it, `h2` ends the stream with
//! `RST_STREAM` (`NO_ERROR`, RFC 9113 section 8.1). A client must not discard the answer for that, but curl 7.88 does if
//! both come at once. So the stream is kept for a moment, as the connection is over HTTP/1.1 (RFC 9112 section 9.6).

use origin::http2::Inlet;
use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Waker},
    time::Duration,
};
use tokio::{runtime::Handle, time::timeout};

/// Drops what comes until the content ends, for `linger_time` at most.
pub(super) fn leave(content: Arc<Inlet>, linger_time: Duration) {
    let mut look = Context::from_waker(Waker::noop());
    if content.poll_end(&mut look).is_ready() {
        return;
    }
    // Without a runtime, nothing comes any more. The task is not a local one: those cannot begin everywhere.
    if let Ok(runtime) = Handle::try_current() {
        runtime.spawn(async move {
            let _ = timeout(linger_time, poll_fn(|cx| content.poll_end(cx))).await;
        });
    }
}
