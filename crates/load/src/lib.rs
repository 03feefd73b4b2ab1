//! Generates load on HTTP servers and reports honestly how they did.
//!
//! This crate depends on none of the others: it knows its server only by what comes over the socket, and measures any.
//!
//! [`Plan`] says what is asked for. [`run()`] generates the load, on one thread per core, and returns [`Measured`].
//! [`figures`] and [`report`] turn that into what a person or a program reads.

#![forbid(unsafe_code)]

pub mod assertion;
pub mod cached;
pub mod compare;
pub mod cookies;
pub mod fault;
pub mod fetch;
pub mod figures;
pub mod http1;
mod http2;
pub mod plan;
pub mod process;
pub mod report;
pub mod run;
pub mod shape;
pub mod site;
mod stream;
pub mod tally;
pub mod timeline;
mod timer;
pub mod times;
pub mod tls;
pub mod url;
pub mod warning;
mod worker;

pub use plan::{Plan, Version};
pub use run::{Ended, Live, Measured, Stop, run};
