//! The applications in `examples/` run as their pages say, with Larder before them, and the tests count what Larder
//! saves them.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails, in its helpers too"
)]

mod common;
mod django;
mod fiber;
mod flask;
mod java;
mod php;
