//! Responses to `POST` that may be stored (RFC 9110 section 9.3.3).

use super::Exchange;
use crate::{directives::ResponseDirectives, freshness};
use http::{StatusCode, header::CONTENT_LOCATION};

/// Whether the response to a `POST` may answer a later `GET`: it succeeded, its content is a representation of the target
/// (`Content-Location` is the target itself), and it says explicitly how long it is fresh. A 204 or 205 has no content, which
/// does not mean that the target has none (RFC 9110 sections 15.3.5 and 15.3.6).
pub(super) fn is_storable(
    exchange: &Exchange<'_>,
    directives: &ResponseDirectives,
    targeted: bool,
) -> bool {
    let is_whole = !matches!(
        exchange.status,
        StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::PARTIAL_CONTENT
    );
    is_whole
        && exchange.status.is_success()
        && freshness::has_explicit(exchange.response, directives, targeted)
        && is_located_at_target(exchange)
}

fn is_located_at_target(exchange: &Exchange<'_>) -> bool {
    let mut lines = exchange.response.get_all(CONTENT_LOCATION).iter();
    let (Some(location), None) = (lines.next(), lines.next()) else {
        return false;
    };
    location
        .to_str()
        .is_ok_and(|location| is_same(location, exchange.target))
}

/// Whether a reference, resolved against the target (RFC 3986 section 5.2), is the target. Dot segments are not resolved:
/// a reference that has some is taken for another resource, which costs a fetch and no more.
fn is_same(reference: &str, target: &str) -> bool {
    let Some((scheme, behind)) = target.split_once("://") else {
        return false;
    };
    let path_at = behind.find('/').unwrap_or(behind.len());
    let (authority, path_and_query) = behind.split_at(path_at);
    let path = path_and_query.split('?').next().unwrap_or_default();
    if reference.is_empty() {
        return true;
    }
    if let Some(rest) = reference.strip_prefix("//") {
        return is_at(rest, authority, path_and_query);
    }
    if reference.starts_with('/') {
        return reference == path_and_query;
    }
    if reference.starts_with('?') {
        return path_and_query.strip_prefix(path) == Some(reference);
    }
    match reference.split_once("://") {
        Some((other, rest)) if is_scheme(other) => {
            other.eq_ignore_ascii_case(scheme) && is_at(rest, authority, path_and_query)
        }
        _ => {
            let directory = path.rfind('/').map_or(0, |slash| slash + 1);
            path_and_query
                .split_at_checked(directory)
                .is_some_and(|(_, name)| name == reference)
        }
    }
}

/// Whether what follows `//` is this authority, in any case, with this path and query.
fn is_at(rest: &str, authority: &str, path_and_query: &str) -> bool {
    let path_at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (other, path) = rest.split_at(path_at);
    other.eq_ignore_ascii_case(authority) && path == path_and_query
}

fn is_scheme(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}
