//! Writes heads of answers.

use super::{buffer::WriteBuffer, framing::Framing, verb::Verb};
use http::{HeaderName, HeaderValue, Response, StatusCode, Version, header};
use std::fmt::Write as _;

/// What the request says that decides how its answer is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplyContext {
    pub(super) verb: Verb,
    pub(super) version: Version,
    /// Whether this is the last answer.
    pub(super) closes: bool,
}

impl ReplyContext {
    /// The beginning of the status line.
    pub(super) fn version_text(self) -> &'static [u8] {
        match self.version {
            Version::HTTP_10 => b"HTTP/1.0 ",
            _ => b"HTTP/1.1 ",
        }
    }
}

/// Writes a whole head; `None` if a field is about the connection or the framing, if one must be made up, or if the
/// head is too long.
pub(super) fn write_head<B>(
    buffer: &mut WriteBuffer,
    response: &Response<B>,
    framing: Framing,
    asked: ReplyContext,
) -> Option<()> {
    buffer.put(asked.version_text())?;
    let told = write_fields(buffer, response.status(), response.headers(), framing)?;
    write_framing(buffer, framing, told)?;
    write_end(buffer, asked)
}

/// Writes the rest of the status line. A status without a known reason gets none (RFC 9112 section 4).
pub(super) fn write_status(buffer: &mut WriteBuffer, status: StatusCode) -> Option<()> {
    buffer.put(status.as_str().as_bytes())?;
    buffer.put(b" ")?;
    buffer.put(status.canonical_reason().unwrap_or_default().as_bytes())?;
    buffer.put(b"\r\n")
}

/// Writes a head from the status on, without what [`write_framing`] and [`write_end`] write. Returns whether it has the
/// length; `None` as for [`write_head`].
pub(super) fn write_fields<'a>(
    buffer: &mut WriteBuffer,
    status: StatusCode,
    fields: impl IntoIterator<Item = (&'a HeaderName, &'a HeaderValue)>,
    framing: Framing,
) -> Option<bool> {
    write_status(buffer, status)?;
    let (mut dated, mut told) = (false, false);
    for (name, value) in fields {
        match *name {
            header::CONNECTION | header::TRANSFER_ENCODING | header::TRAILER | header::UPGRADE => {
                return None;
            }
            header::DATE => dated = true,
            header::CONTENT_LENGTH if told || !framing.agrees_with(value.as_bytes()) => {
                return None;
            }
            header::CONTENT_LENGTH => told = true,
            _ => {}
        }
        buffer.put_field(name, value)?;
    }
    dated.then_some(told)
}

/// Writes how the content is framed, if that is needed and no field has said it.
pub(super) fn write_framing(buffer: &mut WriteBuffer, framing: Framing, told: bool) -> Option<()> {
    match framing {
        Framing::Length(length) if !told => write!(buffer, "content-length: {length}\r\n").ok(),
        Framing::Chunks => buffer.put(b"transfer-encoding: chunked\r\n"),
        Framing::None | Framing::Length(_) | Framing::UntilClose => Some(()),
    }
}

/// Writes whether the connection stays open, and ends the head.
pub(super) fn write_end(buffer: &mut WriteBuffer, asked: ReplyContext) -> Option<()> {
    buffer.put(match (asked.version, asked.closes) {
        (Version::HTTP_10, false) => b"connection: keep-alive\r\n\r\n",
        (Version::HTTP_10, true) | (_, false) => b"\r\n",
        (_, true) => b"connection: close\r\n\r\n",
    })
}
