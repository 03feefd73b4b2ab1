//! Access logs: a line becomes a [`Line`], whatever wrote it.
//!
//! | room | what it reads |
//! |---|---|
//! | `format` | finds out which of these it is |
//! | `combined` | common and combined logs, Larder's own among them |
//! | `template` | what nginx's `log_format` or varnishncsa's `-F` describes |
//! | `json` | an object a line: Larder, Caddy, nginx |
//! | `w3c` | `CloudFront` and others that begin with `#Fields:` |
//! | `slot`, `names` | what a part of a line means, and what each server calls it |
//! | `source` | files, compressed or not, as blocks of lines |

pub mod combined;
pub mod format;
pub mod json;
mod names;
mod slot;
pub mod source;
mod stamp;
pub mod template;
pub mod w3c;

#[cfg(test)]
mod tests;

pub use format::{Format, Parser};
pub use slot::{Answered, Bad, Heed, Line};
