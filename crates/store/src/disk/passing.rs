//! Faults of the system that say nothing of the file they came with: it lacks memory or descriptors at the moment.

use rustix::io::Errno;
use std::{io, thread, time::Duration};

/// A read that fails in this way is tried again so many times, after this time.
const TIMES: usize = 10;
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// Whether the same may work later, with the same file. Whoever gives something up for such an error loses what is
/// sound.
pub(super) fn is_passing(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::INTR | Errno::AGAIN)
    )
}

/// Reads, and again after each `pause` as long as the fault may pass: in all [`TIMES`] more.
pub(super) fn patiently<T>(
    pause: Duration,
    mut read: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    for _ in 0..TIMES {
        match read() {
            Err(error) if is_passing(&error) => thread::sleep(pause),
            done => return done,
        }
    }
    read()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_waited_for() {
        for (error, times, wanted) in [
            (Errno::MFILE, 1, true),
            (Errno::NFILE, TIMES, true),
            (Errno::NOMEM, TIMES, true),
            (Errno::INTR, 2, true),
            (Errno::AGAIN, 2, true),
            (Errno::NOMEM, TIMES + 1, false),
            (Errno::IO, 1, false),
            (Errno::ACCESS, 1, false),
            (Errno::NOENT, 1, false),
        ] {
            let mut failures = 0;
            let read = patiently(Duration::ZERO, || {
                failures += 1;
                if failures > times {
                    Ok(())
                } else {
                    Err(error.into())
                }
            });
            assert_eq!(read.is_ok(), wanted, "{error:?}, {times} times");
        }
    }
}
