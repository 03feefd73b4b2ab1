//! Responses to `POST` that may be stored (RFC 9110 section 9.3.3).

use super::Exchange;
use crate::{
    directives::{DirectiveSource, ResponseDirectives},
    freshness, invalidate,
};
use http::{StatusCode, header::CONTENT_LOCATION};

/// Whether the response to a `POST` may answer a later `GET`.
///
/// It must have succeeded, its content must be a representation of the target (`Content-Location` is the target
/// itself), and it must say explicitly how long it is fresh. A 204 or 205 has no content, which does not mean that the
/// target has none (RFC 9110 sections 15.3.5 and 15.3.6).
pub(super) fn is_storable(
    exchange: &Exchange<'_>,
    directives: &ResponseDirectives,
    read_from: &DirectiveSource,
) -> bool {
    let is_whole = !matches!(
        exchange.status,
        StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::PARTIAL_CONTENT
    );
    is_whole
        && exchange.status.is_success()
        && freshness::has_explicit(exchange.response, directives, read_from)
        && is_located_at_target(exchange)
}

fn is_located_at_target(exchange: &Exchange<'_>) -> bool {
    let mut lines = exchange.response.get_all(CONTENT_LOCATION).iter();
    let (Some(location), None) = (lines.next(), lines.next()) else {
        return false;
    };
    invalidate::names(location.as_bytes(), exchange.target)
}
