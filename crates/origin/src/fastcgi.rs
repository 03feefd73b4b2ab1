//! FastCGI: scripts instead of a server that speaks HTTP (FastCGI Specification 1.0; RFC 3875 for what scripts are told
//! and what they answer).
//!
//! One fetch passes `place` (what the path stands for) → `call` with `params` (the request, encoded once) → `fetch` and
//! `exchange`, as for any other origin → [`exchange`] with `wait` (the head, in time), `record` and `head` (what comes)
//! → `body`. `gather` is for request bodies of unknown length. `complaints` is what scripts write to standard error.

mod body;
mod call;
mod complaints;
pub(crate) mod config;
mod exchange;
mod gather;
pub mod head;
mod link;
mod params;
mod place;
pub mod record;
mod serve;
mod wait;

pub(crate) use call::Call;
pub(crate) use complaints::Complaints;
pub(crate) use exchange::{Arrived, Exchange, Lost};
pub(crate) use link::{Hunger, Link};
pub(crate) use serve::{answered, fetch, probe};
pub(crate) use wait::Limits;
