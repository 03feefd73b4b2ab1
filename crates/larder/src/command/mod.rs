//! The commands, one a file.

pub mod bench;
pub mod check;
pub mod completions;
pub mod demo;
pub mod disk;
pub mod explain;
pub mod purge;
pub mod schema;
pub mod serve;
