//! A look at a request's content: it is polled, and nobody waits for more.

use std::task::{Context, Waker};

/// Who is woken after a look. One value, since wakers that do nothing need not be equal.
static NOBODY: &Waker = Waker::noop();

/// Returns the context of a look.
pub(super) fn looking() -> Context<'static> {
    Context::from_waker(NOBODY)
}

/// Whether a request's content is polled only to see what has come of it. No time limit may begin then: when it is
/// polled again is not its client's to decide.
pub fn is_look(cx: &Context<'_>) -> bool {
    cx.waker().will_wake(NOBODY)
}
