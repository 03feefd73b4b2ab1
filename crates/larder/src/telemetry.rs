//! What the program reports about its work: the access log, its own log, and the metrics.

pub mod access_log;
pub mod log;
pub mod metrics;
pub mod panics;
