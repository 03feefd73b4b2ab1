//! The commands, one in each file.

mod asking;
pub mod bench;
pub mod check;
pub mod completions;
mod crawling;
pub mod demo;
pub mod disk;
pub mod explain;
pub mod publish;
pub mod purge;
pub mod schema;
pub mod serve;
pub mod simulate;
pub mod warm;

pub use asking::admin_address;
