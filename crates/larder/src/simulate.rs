//! Simulates what a cache would have done with the requests in an access log.
//!
//! ```text
//! log::source → log::Parser → Reader ─┬─ Simulation (memory, lifetime, rule) ─┐
//!  (a thread)     (the caller's thread)  └─ … on threads of their own ───────────┴→ Report
//! ```
//!
//! [`reader`](Reader) calls the walk's own functions for each line (`proxy::replay`): they give route, key, bypass,
//! whether the answer would be stored, and for how long. The result is an [`Event`](event::Event), which every
//! simulation judges with `rules::reuse` against what it keeps. What it keeps follows the store's own rule of eviction
//! (`store::model`).
//!
//! Memory is bounded: at most [`urls::MOST`] URLs are followed, and as many variants of them. If a log has more, one in
//! two, four, … of them is followed, chosen by a hash, and memory sizes are scaled accordingly (SHARDS: Waldspurger and
//! others, FAST 2015). The results of a simulation are then estimates: misses, stale hits, waits for another's fetch,
//! evictions, answers that are too large. Results that depend only on the log are counted in full. Requests whose
//! answers are not stored may all be for a single URL: for these, the share that missed is estimated, and applied to
//! their full number.

mod answer;
mod clock;
mod coming;
mod counts;
mod event;
mod failed;
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
