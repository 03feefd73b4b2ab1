//! The wall clock, for what leaves this process or outlives it.

use rules::time::Time;
use std::time::SystemTime;

/// The present moment. The servers' own expiry begins when they get a command, so their clocks need not agree with it.
pub(crate) fn now() -> Time {
    SystemTime::now().into()
}
