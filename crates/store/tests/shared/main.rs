//! The shared tier before real servers: what one node keeps another finds, and nothing that happens to the server holds
//! up a request or makes a wrong answer.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic is how a test fails"
)]

mod cost;
mod faults;
mod keeping;
mod leases;
mod support;
