//! A timer finer than a millisecond. tokio's timers have no smaller step, and a request that is sent a millisecond late
//! is reported a millisecond slower than it was.

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::{
    io,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};
use tokio::io::{Interest, unix::AsyncFd};

/// A timer of the kernel, on the runtime's poller.
#[derive(Debug)]
pub(crate) struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    /// Makes a timer. Needs a tokio runtime.
    #[allow(
        deprecated,
        reason = "it is unsound for types that change or close what they register; an `OwnedFd` does neither, and the new way is unsafe"
    )]
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self(AsyncFd::with_interest(timer, Interest::READABLE)?))
    }

    /// Waits until `when`. Must not be called again while it waits.
    pub(crate) async fn until(&mut self, when: Instant) -> io::Result<()> {
        loop {
            let left = when.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            let once = Itimerspec {
                it_interval: spec(Duration::ZERO),
                it_value: spec(left),
            };
            // Setting it discards an expiration that nobody read, so that none is left over.
            timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
            let mut ready = self.0.readable().await?;
            ready.clear_ready();
        }
    }
}

fn spec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
