//! The parts of `multipart/byteranges` (RFC 9110 section 14.6).

use super::{Span, content_range};
use http::HeaderValue;

/// Renders the head of one part of `multipart/byteranges`, with its CRLFs (section 15.3.7.2). `boundary` comes without
/// dashes. The head opens with the CRLF that ends the previous part; before the first part it is harmless (section
/// 14.6).
pub fn part_head(
    boundary: &str,
    content_type: Option<&HeaderValue>,
    span: Span,
    length: u64,
) -> Vec<u8> {
    let mut head = format!("\r\n--{boundary}\r\n").into_bytes();
    if let Some(content_type) = content_type {
        head.extend_from_slice(b"Content-Type: ");
        head.extend_from_slice(content_type.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"Content-Range: ");
    head.extend_from_slice(content_range(span, length).as_bytes());
    head.extend_from_slice(b"\r\n\r\n");
    head
}

/// Renders the closing delimiter.
pub fn part_end(boundary: &str) -> Vec<u8> {
    format!("\r\n--{boundary}--\r\n").into_bytes()
}
