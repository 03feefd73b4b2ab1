//! Pure HTTP caching rules: no I/O, no clock (`now` is an argument), no async, no logging, no configuration.
//!
//! The table of RFC sections and the functions that hold them is completed here as the rooms fill.

pub mod directives;
mod etag;
pub mod fields;
pub mod freshness;
pub mod invalidate;
pub mod key;
pub mod partial;
pub mod precondition;
pub mod range;
pub mod reuse;
pub mod status;
pub mod storable;
pub mod surrogate;
pub mod time;
mod uri;
pub mod validate;
pub mod vary;
