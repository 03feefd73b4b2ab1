//! The threads on which a runtime waits for files and for names.

use std::{io, thread, time::Duration};
use tokio::runtime::{Builder, Handle};

/// The most threads. They read files and look up names; further work waits.
const MOST: usize = 64;

/// A thread stays once it was made. If the system has none to give later, the existing ones go on with the waiting
/// work; without any thread, tokio panics.
const STAYS: Duration = Duration::from_secs(u32::MAX as u64);

/// Sets how many threads the runtime has, and that it keeps them.
pub fn stay(builder: &mut Builder) -> &mut Builder {
    builder.max_blocking_threads(MOST).thread_keep_alive(STAYS)
}

/// Starts the first thread.
///
/// # Errors
/// The system has no thread to give.
pub fn begin(runtime: &Handle) -> io::Result<()> {
    // Tried first: tokio would panic.
    let tried = thread::Builder::new().spawn(|| ())?;
    let _ = tried.join();
    drop(runtime.spawn_blocking(|| ()));
    Ok(())
}
