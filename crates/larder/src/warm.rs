//! Fetches into a running cache what its clients will ask for.
//!
//! `address` reads what to fetch, `answered` reads what the cache says about it, `run` goes through all of it, and
//! `schedule` repeats that.

mod address;
mod answered;
mod run;
mod schedule;

pub use address::{Address, NotAnAddress, Variants, variants};
pub use answered::{Answered, Summary};
pub use run::{Orders, Round, Source, Warmer};
pub use schedule::{Jitter, next_round};
