//! Counts panics anywhere in the process: of a request, a body, a fetch or a thread.

use std::{
    panic,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

static SEEN: AtomicU64 = AtomicU64::new(0);

/// Begins to count panics. The panic hook that was set before still runs. Must be called only once.
pub fn watch() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        SEEN.fetch_add(1, Relaxed);
        before(panic);
    }));
}

/// Returns the number of panics so far.
pub fn seen() -> u64 {
    SEEN.load(Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_on_any_thread_is_counted() {
        watch();
        let before = seen();
        let ended = std::thread::spawn(|| panic!("for a test")).join();
        assert!(ended.is_err());
        assert!(seen() > before);
    }
}
