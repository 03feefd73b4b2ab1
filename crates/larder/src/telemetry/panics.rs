//! Counts panics, wherever in the process they happen: a request's, a body's, a fetch's or a thread's.

use std::{
    panic,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

static SEEN: AtomicU64 = AtomicU64::new(0);

/// Counts from now on; what was done about a panic before is still done. To be called once.
pub fn watch() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        SEEN.fetch_add(1, Relaxed);
        before(panic);
    }));
}

/// How many there were.
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
