//! `larder publish` and `larder warm` as people use them: scripted applications, real folders, real processes.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic is how a test fails, in its helpers too"
)]

mod common;
mod crash;
mod follow;
mod larder;
mod names;
mod nginx;
mod paced;
mod purges;
mod site;
mod trouble;
mod warm;
mod watch;
