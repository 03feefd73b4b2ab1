//! What the program tells of its work: the access log and the metrics.

pub mod access_log;
pub mod metrics;
pub mod panics;
