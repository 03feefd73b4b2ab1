//! Simulate: what a cache would have done with the requests in an access log.
//!
//! ```text
//! log::source → log::Parser → Reader ─┬─ Simulation (memory, lifetime, rule) ─┐
//!  (a thread)     (the caller's thread)  └─ … on threads of their own ───────────┴→ Report
//! ```
//!
//! [`reader`](Reader) puts each line to the walk's own functions (`proxy::replay`): route, key, bypass, and whether the answer
//! would be stored, for how long. What is left of a line is an [`Event`](event::Event), which every simulation judges with
//! `rules::reuse` against what it keeps. What it keeps follows the store's own rule of eviction (`store::model`).
//!
//! Memory is bounded: at most [`urls::MOST`] URLs are followed, and as many variants of them. Where a log has more, one in two,
//! four, … of them is, chosen by a hash, with memory sizes scaled accordingly (SHARDS: Waldspurger and others, FAST 2015). What
//! a simulation comes to is estimated so: misses, stale hits, waits for another's fetch, evictions, answers that are too large for it.
//! What is known of the log alone is counted in full; of requests whose answers are not stored, which
//! may be for a single URL, the share that missed is estimated, over their full number.

mod answer;
mod clock;
mod coming;
mod counts;
mod event;
mod keep;
pub mod log;
mod plan;
mod reader;
pub mod report;
mod run;
mod tally;
mod urls;

pub use plan::{Eviction, Plan, Wanted};
pub use reader::{Assumptions, Reader};
pub use report::Report;
pub use run::{Failed, simulate};
