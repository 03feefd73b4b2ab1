//! The commands, one a file.

pub mod check;
pub mod completions;
pub mod schema;
