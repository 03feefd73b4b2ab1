//! One request from socket to socket: the walk, collapse, outcome.

pub mod listen;
pub mod policy;
