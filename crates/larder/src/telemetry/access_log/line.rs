//! Formats one record as one line.

use super::stamp::Stamp;
use crate::config::written::AccessFormat;
use proxy::outcome::Record;
use serde::Serialize;
use std::{
    borrow::Cow,
    io::{self, Write},
    time::Duration,
};

/// Appends `record` to `out` as one line. It stays one line, whatever the client sent.
pub(super) fn write(
    record: &Record,
    format: AccessFormat,
    stamp: &mut Stamp,
    out: &mut impl Write,
) -> io::Result<()> {
    match format {
        AccessFormat::Combined => combined(record, stamp, out),
        AccessFormat::Json => json(record, stamp, out),
    }
}

/// `client - - [time] "request" status bytes "referer" "agent" "cache" "reason" origin-time whole-time`, times in seconds.
fn combined(record: &Record, stamp: &mut Stamp, out: &mut impl Write) -> io::Result<()> {
    match record.client {
        Some(client) => write!(out, "{client}")?,
        None => out.write_all(b"-")?,
    }
    write!(out, " - - [{}] \"", stamp.common(record.at_ms))?;
    escaped(record.method.as_str().as_bytes(), out)?;
    out.write_all(b" ")?;
    escaped(record.text.target(), out)?;
    write!(
        out,
        " {:?}\" {} {} ",
        record.version,
        record.status.as_u16(),
        record.bytes
    )?;
    quoted(record.text.referer(), out)?;
    quoted(record.text.user_agent(), out)?;
    quoted(Some(record.cache.as_bytes()), out)?;
    quoted(record.detail.map(str::as_bytes), out)?;
    match record.origin_time {
        Some(took) => write!(out, "{:.3}", took.as_secs_f64())?,
        None => out.write_all(b"-")?,
    }
    writeln!(out, " {:.3}", record.took.as_secs_f64())
}

/// Writes `"value" `, or `"-" ` if there is none.
fn quoted(value: Option<&[u8]>, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"\"")?;
    escaped(value.unwrap_or(b"-"), out)?;
    out.write_all(b"\" ")
}

/// Writes quotes, backslashes, control bytes and everything beyond ASCII as `\xHH`, as nginx does.
fn escaped(mut bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'"' && *byte != b'\\';
    while let Some(at) = bytes.iter().position(|byte| !plain(byte)) {
        let (before, after) = bytes.split_at(at);
        out.write_all(before)?;
        if let Some(byte) = after.first() {
            write!(out, "\\x{byte:02X}")?;
        }
        bytes = after.get(1..).unwrap_or_default();
    }
    out.write_all(bytes)
}

/// A line of the JSON log. Times are in milliseconds.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    client: Option<String>,
    method: &'a str,
    host: Option<Cow<'a, str>>,
    target: Cow<'a, str>,
    version: String,
    status: u16,
    bytes: u64,
    referer: Option<Cow<'a, str>>,
    user_agent: Option<Cow<'a, str>>,
    cache: &'a str,
    reason: Option<&'a str>,
    origin_ms: Option<f64>,
    took_ms: f64,
}

fn json(record: &Record, stamp: &mut Stamp, out: &mut impl Write) -> io::Result<()> {
    let line = Line {
        time: stamp.rfc3339(record.at_ms),
        client: record.client.map(|client| client.to_string()),
        method: record.method.as_str(),
        host: Some(text(record.text.host())).filter(|host| !host.is_empty()),
        target: text(record.text.target()),
        version: format!("{:?}", record.version),
        status: record.status.as_u16(),
        bytes: record.bytes,
        referer: record.text.referer().map(text),
        user_agent: record.text.user_agent().map(text),
        cache: record.cache,
        reason: record.detail,
        origin_ms: record.origin_time.map(millis),
        took_ms: millis(record.took),
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n")
}

/// Returns what a client wrote as text. Bytes that are not UTF-8 are replaced.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Returns milliseconds, with a precision of one microsecond.
fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
