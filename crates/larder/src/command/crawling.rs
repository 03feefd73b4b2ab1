//! Reads the arguments that the commands for whole sites share.

use http::{HeaderName, HeaderValue};
use std::io;

/// Parses a header field, `Name: value`.
pub fn field(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let read = || {
        let (name, value) = text.split_once(':')?;
        Some((name.trim().parse().ok()?, value.trim().parse().ok()?))
    };
    read().ok_or_else(|| "it is no header field; write Name: value".to_owned())
}

/// Reads a list of URLs, one a line; skips empty lines and those that begin with `#`.
///
/// # Errors
/// Those of the reader.
pub fn lines(lines: impl Iterator<Item = io::Result<String>>) -> io::Result<Vec<String>> {
    let mut list = Vec::new();
    for line in lines {
        let line = line?;
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            list.push(line.to_owned());
        }
    }
    Ok(list)
}
