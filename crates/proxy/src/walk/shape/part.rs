//! The parts of a stored response that a request's `Range` asks for (RFC 9110 section 14).

use super::{
    Shaped,
    without::{without_digest, without_page},
};
use crate::{ask::Ask, body::Content};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rules::range::{self, ResolvedRange, Span};
use store::{Body, BodyPiece, Stored, fill::Reader};

pub(super) fn part(
    ask: &Ask,
    stored: &Stored,
    reader: Option<Reader>,
    fields: &mut HeaderMap,
    asked: ResolvedRange,
    length: u64,
    status: StatusCode,
) -> Shaped {
    match asked {
        ResolvedRange::Unsatisfiable => {
            without_page(ask, fields);
            fields.insert(header::CONTENT_RANGE, range::unsatisfied(length));
            if let Some(reader) = reader {
                reader.keep();
            }
            Shaped {
                status: StatusCode::RANGE_NOT_SATISFIABLE,
                content: Content::Empty,
            }
        }
        ResolvedRange::One(span) => {
            let Some(content) = one_part(stored, reader, span) else {
                return Shaped {
                    status,
                    content: Content::Missing,
                };
            };
            without_digest(fields);
            fields.insert(header::CONTENT_RANGE, range::content_range(span, length));
            fields.insert(
                header::CONTENT_LENGTH,
                HeaderValue::from(span.last - span.first + 1),
            );
            Shaped {
                status: StatusCode::PARTIAL_CONTENT,
                content,
            }
        }
        ResolvedRange::Many(spans) => match several(stored, fields, &spans, length) {
            Some(content) => {
                without_digest(fields);
                Shaped {
                    status: StatusCode::PARTIAL_CONTENT,
                    content,
                }
            }
            None => fallback(stored, reader, status, length),
        },
        ResolvedRange::Whole => fallback(stored, reader, status, length),
    }
}

fn one_part(stored: &Stored, reader: Option<Reader>, span: Span) -> Option<Content> {
    if let Some(reader) = reader {
        // A part that is on its way begins at its place in the whole.
        let begins = match &stored.body {
            Body::Parts(parts) => parts.begins(),
            _ => 0,
        };
        let skip = span.first.checked_sub(begins)?;
        return Some(Content::following_part(reader, skip, span.length()));
    }
    stored.body.slice(span).map(Content::pieces)
}

/// Returns the whole instead of the requested parts, which a server may always send (RFC 9110 section 14.2).
fn fallback(stored: &Stored, reader: Option<Reader>, status: StatusCode, length: u64) -> Shaped {
    let content = match reader {
        Some(reader) => Content::following(reader, Some(length)),
        None => Content::all_of(&stored.body),
    };
    Shaped { status, content }
}

/// Returns the parts as `multipart/byteranges` (RFC 9110 section 15.3.7.2).
fn several(
    stored: &Stored,
    fields: &mut HeaderMap,
    spans: &[Span],
    length: u64,
) -> Option<Content> {
    let boundary = format!(
        "larder-{:016x}",
        stored.id().wrapping_mul(0x9e37_79b9_7f4a_7c15)
    );
    let kind = fields.get(header::CONTENT_TYPE).cloned();
    let mut pieces = Vec::with_capacity(spans.len() * 2 + 1);
    for span in spans {
        let head = range::part_head(&boundary, kind.as_ref(), *span, length);
        pieces.push(Bytes::from(head).into());
        pieces.extend(stored.body.slice(*span)?);
    }
    pieces.push(Bytes::from(range::part_end(&boundary)).into());
    let sum: u64 = pieces.iter().map(BodyPiece::len).sum();
    let kind = HeaderValue::try_from(format!("multipart/byteranges; boundary={boundary}")).ok()?;
    fields.insert(header::CONTENT_TYPE, kind);
    fields.insert(header::CONTENT_LENGTH, HeaderValue::from(sum));
    // Each part has its own; the whole answer must not have one (the same section), and one that came with the stored
    // response means nothing here.
    fields.remove(header::CONTENT_RANGE);
    Some(Content::pieces(pieces))
}
