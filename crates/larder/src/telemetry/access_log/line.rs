//! Formats one record as one line.

use super::stamp::Stamp;
use crate::config::written::AccessFormat;
use http::HeaderValue;
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
    escaped(record.target.as_bytes(), out)?;
    write!(
        out,
        " {:?}\" {} {} ",
        record.version,
        record.status.as_u16(),
        record.bytes
    )?;
    quoted(record.referer.as_ref().map(HeaderValue::as_bytes), out)?;
    quoted(record.user_agent.as_ref().map(HeaderValue::as_bytes), out)?;
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
    host: Option<&'a str>,
    target: &'a str,
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
        host: Some(&*record.host).filter(|host| !host.is_empty()),
        target: &record.target,
        version: format!("{:?}", record.version),
        status: record.status.as_u16(),
        bytes: record.bytes,
        referer: text(record.referer.as_ref()),
        user_agent: text(record.user_agent.as_ref()),
        cache: record.cache,
        reason: record.detail,
        origin_ms: record.origin_time.map(millis),
        took_ms: millis(record.took),
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n")
}

/// Returns a field's value as text. Bytes that are not UTF-8 are replaced.
fn text(value: Option<&HeaderValue>) -> Option<Cow<'_, str>> {
    value.map(|value| String::from_utf8_lossy(value.as_bytes()))
}

/// Returns milliseconds, with a precision of one microsecond.
fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
