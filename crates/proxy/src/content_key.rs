//! Content as part of the cache key: of `QUERY`, and of `POST` to a GraphQL service.
//!
//! Content is read before lookup, within a limit and counted in the budget, and its meaning is added to the key: JSON
//! in a canonical form ([`json`]), anything else byte for byte. The origin gets it as it came. A request bypasses the
//! store if its content is not understood, too large, or not a query ([`operation`]). Other requests never come here.
//! GraphQL requests are judged alike by any method: `QUERY` says that nothing changes, but a document may say
//! otherwise.

pub mod errors;
mod graphql;
pub mod json;
mod media;
pub mod operation;

pub use graphql::read_get;

#[cfg(test)]
mod tests;

use crate::{
    ask::Ask,
    cache::Worker,
    error::{BadRequest, Failure},
    listen::{Cut, RequestBody},
};
use bytes::{Bytes, BytesMut};
use http::{HeaderName, Method, header};
use http_body::Body as _;
use http_body_util::BodyExt;
use media::{essence, is_in_utf8, is_json, media_type};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use store::Reservation;

/// The content of a request that is part of its key, and the operation that it asks for.
#[derive(Debug, Default)]
pub struct Content {
    /// The content as it came, if it is keyed, and the bytes of the budget that it holds.
    pub keyed: Option<Box<(Bytes, Reservation)>>,
    /// Why it is not keyed, if it might have been.
    pub unkeyed: Option<Unkeyed>,
    /// The name of the GraphQL operation.
    pub operation: Option<Box<str>>,
}

/// Why a request whose content might have been keyed bypasses the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unkeyed {
    /// Longer than the route reads, or no room in the budget.
    TooLarge,
    /// A type or a coding that is not read.
    Type,
    /// Not what its type says, or ambiguous.
    Malformed,
    /// Several GraphQL requests in one.
    Batch,
    /// GraphQL without a document: its effect is unknown.
    NoDocument,
    /// A mutation or a subscription.
    Effect,
    /// A query that the site does not store.
    Operation,
    /// A condition, which only the application can judge. A GraphQL request is known to be a query then.
    Condition,
}

impl Unkeyed {
    /// All reasons.
    pub const ALL: [Self; 8] = [
        Self::TooLarge,
        Self::Type,
        Self::Malformed,
        Self::Batch,
        Self::NoDocument,
        Self::Effect,
        Self::Operation,
        Self::Condition,
    ];

    /// Returns the reason as written in `detail` of `Cache-Status`.
    pub const fn token(self) -> &'static str {
        match self {
            Self::TooLarge => "content-too-large",
            Self::Type => "content-type",
            Self::Malformed => "malformed",
            Self::Batch => "batch",
            Self::NoDocument => "no-document",
            Self::Effect => "mutation",
            Self::Operation => "operation",
            Self::Condition => "condition",
        }
    }
}

/// Whether the content of this request must be read before lookup.
pub fn concerns(ask: &Ask) -> bool {
    let policy = ask.policy();
    let by_method = match ask.method {
        Method::POST => policy.graphql.is_some(),
        _ => is_query(&ask.method),
    };
    by_method && policy.cache && policy.largest_content > 0 && ask.receipt.upgrade.is_none()
}

/// Whether the method is `QUERY` (draft-ietf-httpbis-safe-method-w-body): safe and idempotent, with its content part of
/// the key.
pub fn is_query(method: &Method) -> bool {
    method.as_str() == "QUERY"
}

/// Reads the content of a request that it [`concerns`] into its key, and returns it as it came.
///
/// # Errors
/// The client left, or framed its content wrongly.
pub async fn read(
    worker: &Worker,
    ask: &mut Ask,
    mut content: RequestBody,
) -> Result<RequestBody, Failure> {
    if let Err(why) = head_allows(ask) {
        ask.content.unkeyed = Some(why);
        return Ok(content);
    }
    let allowed = ask.site.largest_request_body.unwrap_or(u64::MAX);
    let most = ask.policy().largest_content.min(allowed);
    let mut held = worker.cache.memory.budget().reservation();
    let mut bytes = BytesMut::new();
    let mut whole = content.size_hint().lower() <= most;
    while whole && let Some(frame) = content.frame().await {
        let frame = frame.map_err(|cut| match cut {
            Cut::Late => Failure::BodyTooLate,
            Cut::Http1(_) | Cut::Http2(_) => Failure::BadRequest(BadRequest::Content),
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let length = data.len() as u64;
        whole = bytes.len() as u64 + length <= most && held.grow(length);
        bytes.extend_from_slice(&data);
    }
    let bytes = bytes.freeze();
    let keyed = if whole {
        key(ask, &bytes)
    } else {
        Err(Unkeyed::TooLarge)
    };
    match keyed {
        Ok(()) => {
            content.put_back(bytes.clone(), None);
            ask.content.keyed = Some(Box::new((bytes, held)));
        }
        Err(why) => {
            content.put_back(bytes, Some(held));
            ask.content.unkeyed = Some(why);
        }
    }
    Ok(content)
}

/// Checks the head of the request. An encoded GraphQL request is only for a recipient that decodes it. Its conditions
/// are judged behind its content, which tells whether it changes anything.
fn head_allows(ask: &Ask) -> Result<(), Unkeyed> {
    let is_graphql = ask.policy().graphql.is_some();
    if !is_graphql && is_conditional(ask) {
        return Err(Unkeyed::Condition);
    }
    let media = media_type(&ask.fields).ok_or(Unkeyed::Type)?;
    let is_plain_json = essence(media).eq_ignore_ascii_case("application/json")
        && is_in_utf8(media)
        && !ask.fields.contains_key(header::CONTENT_ENCODING);
    (!is_graphql || is_plain_json)
        .then_some(())
        .ok_or(Unkeyed::Type)
}

/// Whether the request has a condition. For methods other than `GET` and `HEAD`, RFC 9110 section 13.1.2 answers one that
/// fails with 412; an application that knows `QUERY` may answer with 304. A range is no condition: it means nothing here
/// (section 14.2).
fn is_conditional(ask: &Ask) -> bool {
    const CONDITIONS: [HeaderName; 4] = [
        header::IF_MATCH,
        header::IF_NONE_MATCH,
        header::IF_MODIFIED_SINCE,
        header::IF_UNMODIFIED_SINCE,
    ];
    CONDITIONS.iter().any(|name| ask.fields.contains_key(name))
}

/// Adds the meaning of the content to the key.
fn key(ask: &mut Ask, bytes: &[u8]) -> Result<(), Unkeyed> {
    if ask.policy().graphql.is_some() {
        return graphql::key(ask, bytes);
    }
    let plain = !ask.fields.contains_key(header::CONTENT_ENCODING);
    let media = media_type(&ask.fields).ok_or(Unkeyed::Type)?.to_owned();
    let canonical = std::str::from_utf8(bytes)
        .ok()
        .filter(|_| plain && is_json(essence(&media)))
        .and_then(json::canonical);
    let sum = match &canonical {
        Some(canonical) => digest(canonical.as_bytes()),
        None => digest(bytes),
    };
    let form = if canonical.is_some() { "json" } else { "bytes" };
    let joined = |name: HeaderName| {
        let lines = ask.fields.get_all(name).iter();
        lines
            .map(|line| String::from_utf8_lossy(line.as_bytes()))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (coding, language) = (
        joined(header::CONTENT_ENCODING),
        joined(header::CONTENT_LANGUAGE),
    );
    let values: [&str; 5] = [&media, &coding, &language, form, &sum];
    ask.key.content("QUERY", &values.map(str::as_bytes));
    Ok(())
}

/// Returns the SHA-256 in hex, so that nobody can make two contents with one digest.
pub fn digest(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
