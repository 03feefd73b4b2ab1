//! Fetching into a running cache what its readers will ask for.
//!
//! `address` reads what is to be fetched, `answered` what the cache says of it, `run` goes through all of it, `schedule` does
//! so again and again.

mod address;
mod answered;
mod run;
mod schedule;

pub use address::{Address, NotAnAddress, Variants, variants};
pub use answered::{Answered, Summary};
pub use run::{Orders, Round, Source, Warmer};
pub use schedule::{Jitter, next_round};
