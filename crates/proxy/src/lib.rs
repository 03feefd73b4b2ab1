//! One request from socket to socket: the walk, collapse, outcome.
//!
//! Begin with [`walk`]: one page that shows every way in which a request can end.

#![forbid(unsafe_code)]

mod ask;
mod body;
mod cache;
pub mod clock;
mod collapse;
pub mod compress;
pub mod content_key;
mod endings;
pub mod error;
pub mod explain;
mod heads;
pub mod hit_for_miss;
pub mod listen;
pub mod marks;
pub mod outcome;
mod patience;
pub mod policy;
pub mod purge_clients;
pub mod purging;
mod recent;
mod refetch;
pub mod replay;
pub mod routing;
mod said;
#[cfg(test)]
mod sample;
pub mod target;
mod user_group;
pub mod walk;
pub mod way;

pub use body::ReplyBody;
pub use cache::{Cache, Service, Tiers, Worker};
pub use refetch::refetch;
