//! Media types (RFC 9110 section 8.3), and those that are handled in their own way.

use http::{HeaderMap, header};

/// Whether a response with these fields is an event stream.
pub fn begins_event_stream(fields: &HeaderMap) -> bool {
    let kind = fields.get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| is_event_stream(kind.as_bytes()))
}

/// Whether a `Content-Type` is that of an event stream, which lasts until one side ends it (HTML, section 9.2).
pub fn is_event_stream(kind: &[u8]) -> bool {
    media_type(kind).eq_ignore_ascii_case(b"text/event-stream")
}

/// Whether a media type is one of gRPC's, or of gRPC-Web's: `application/grpc` with whatever names the coding of messages.
pub fn is_grpc(kind: &[u8]) -> bool {
    let start = kind.get(.."application/grpc".len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(b"application/grpc"))
}

/// Returns a `Content-Type` without its parameters (RFC 9110 section 8.3.1).
pub fn media_type(kind: &[u8]) -> &[u8] {
    let bare = kind.split(|byte| *byte == b';').next();
    bare.unwrap_or_default().trim_ascii()
}
