//! Access logs: turns a line into a [`Line`], whatever program wrote it.
//!
//! | room | what it reads |
//! |---|---|
//! | `format` | detects which of these it is |
//! | `combined` | common and combined logs, including Larder's own |
//! | `template` | what nginx's `log_format` or varnishncsa's `-F` describes |
//! | `json` | an object on each line: Larder, Caddy, nginx |
//! | `w3c` | `CloudFront` and others that begin with `#Fields:` |
//! | `line` | a line, as far as it describes a request and its answer |
//! | `meaning`, `names` | what a part of a line means, and what each server calls it |
//! | `value`, `stamp` | values and times as servers write them |
//! | `source` | files, compressed or not, as blocks of lines |

pub mod combined;
pub mod format;
pub mod json;
mod line;
mod meaning;
mod names;
pub mod source;
mod stamp;
pub mod template;
mod value;
pub mod w3c;

#[cfg(test)]
mod tests;

pub use format::{Format, Parser};
pub use line::{Answered, Bad, Heed, Line};
