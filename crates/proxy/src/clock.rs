//! The wall clock. Rules never read it: the walk does, and passes on what it says as `now`.

use rules::time::Time;
use std::time::SystemTime;

/// The present moment.
pub fn now() -> Time {
    SystemTime::now().into()
}
