//! The threads on which a runtime waits for files and for names.

use std::{io, thread, time::Duration};
use tokio::runtime::{Builder, Handle};

/// So many at most. They read and look up; where more is to be done it waits.
const MOST: usize = 64;

/// A thread that was made stays: where the system has none to give later, those that are there go on with what waits. Without one
/// tokio panics.
const STAYS: Duration = Duration::from_secs(u32::MAX as u64);

/// Has the runtime that is built keep its threads.
pub fn stay(builder: &mut Builder) -> &mut Builder {
    builder.max_blocking_threads(MOST).thread_keep_alive(STAYS)
}

/// Begins with one.
///
/// # Errors
/// The system has none to give.
pub fn begin(runtime: &Handle) -> io::Result<()> {
    // Tokio would panic.
    let tried = thread::Builder::new().spawn(|| ())?;
    let _ = tried.join();
    drop(runtime.spawn_blocking(|| ()));
    Ok(())
}
