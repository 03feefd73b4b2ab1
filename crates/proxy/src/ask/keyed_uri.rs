//! The parts of a URI that are keyed and sent.

use super::Key;
use crate::{
    content_key::{json, operation},
    policy::Policy,
};
use rules::key::{self, QueryChoice};
use std::{borrow::Cow, fmt::Write as _};

/// Returns the key of another URI of this site, as `policy` builds it, without the parts that depend on request fields;
/// `None` if `uri` is not a URI of this site.
pub fn key_of(uri: &str, policy: &Policy) -> Option<Key> {
    let (scheme, rest) = uri.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(at);
    let host = key::normalize_host(authority, &scheme)?;
    let (path, query) = target
        .split_once('?')
        .map_or((target, None), |(path, query)| (path, Some(query)));
    let path = if path.is_empty() {
        "/".into()
    } else {
        key::normalize(path)
    };
    let query = chosen(policy, query.map(key::normalize));
    Some(Key::build(
        &policy.key,
        &scheme,
        &host,
        &path,
        query.as_deref(),
    ))
}

/// Returns the query as it is keyed and sent, from a normalised query: tracking parameters dropped, the rest chosen and
/// sorted.
pub fn chosen<'a>(policy: &Policy, normal: Option<Cow<'a, str>>) -> Option<Cow<'a, str>> {
    let spec = &policy.key;
    let mut normal = normal?;
    if policy.graphql.is_some()
        && let Some(canonical) = canonical_json(&normal)
    {
        normal = Cow::Owned(canonical);
    }
    if spec.drop == QueryChoice::All && spec.query == QueryChoice::All && !spec.sort {
        return Some(normal);
    }
    let kept = key::choose_query(Some(&normal), &spec.drop, false)?;
    let kept = key::choose_query(Some(&kept), &spec.query, spec.sort)?;
    Some(Cow::Owned(kept.into_owned()))
}

/// Returns the query with the JSON in `variables` and `extensions` in canonical form, if it has one: clients write the
/// JSON of the same persisted GraphQL query in different orders. `None` if nothing changes.
fn canonical_json(query: &str) -> Option<String> {
    let mut changed = false;
    let pairs: Vec<Cow<'_, str>> = query
        .split('&')
        .map(|pair| {
            let canonical = pair.split_once('=').and_then(|(name, value)| {
                // Some services take a plus sign for a space, others do not.
                let is_json = matches!(name, "variables" | "extensions") && !value.contains('+');
                let text = operation::decode(value).filter(|_| is_json)?;
                let form = percent_encoded(&json::canonical(&text)?);
                (form != value).then(|| format!("{name}={form}"))
            });
            changed |= canonical.is_some();
            canonical.map_or(Cow::Borrowed(pair), Cow::Owned)
        })
        .collect();
    changed.then(|| pairs.join("&"))
}

/// Encodes all but unreserved bytes (RFC 3986 section 2.3), as [`key::normalize`] leaves them.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
