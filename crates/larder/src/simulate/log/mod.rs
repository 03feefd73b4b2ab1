//! Access logs: a line becomes a [`Line`], whatever wrote it.
//!
//! | room | what it reads |
//! |---|---|
//! | `format` | finds out which of these it is |
//! | `combined` | common and combined logs, Larder's own among them |
//! | `template` | what nginx's `log_format` or varnishncsa's `-F` describes |
//! | `json` | an object a line: Larder, Caddy, nginx |
//! | `w3c` | `CloudFront` and others that begin with `#Fields:` |
//! | `line` | a line, as far as it tells of a request and its answer |
//! | `slot`, `names` | what a part of a line means, and what each server calls it |
//! | `value`, `stamp` | values and times as servers write them |
//! | `source` | files, compressed or not, as blocks of lines |

pub mod combined;
pub mod format;
pub mod json;
mod line;
mod names;
mod slot;
pub mod source;
mod stamp;
pub mod template;
mod value;
pub mod w3c;

#[cfg(test)]
mod tests;

pub use format::{Format, Parser};
pub use line::{Answered, Bad, Heed, Line};
