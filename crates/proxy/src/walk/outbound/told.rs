//! What a trusted peer tells the origin of the request, as part of the key. Such a peer passes on what any client wrote:
//! an answer that was made from it is only for requests that say the same.

mod forwarded;

use super::{
    CAPABILITY, ESI_CAPABILITY, SURROGATE_CAPABILITY,
    sent::is_edited,
    trust::{names::poisons, tells_unkeyed},
};
use crate::{
    ask::Key,
    policy::{Esi, Policy},
    routing,
};
use http::{HeaderMap, HeaderName, HeaderValue, header::FORWARDED};
use rules::forwarded::as_written::without_nodes;

/// Whether a field is keyed if a trusted peer sends it and the origin gets it. What names the client's address is not:
/// each client would have a store of its own.
pub fn is_keyed_if_told(name: &HeaderName) -> bool {
    poisons(name) || *name == SURROGATE_CAPABILITY
}

/// Adds to the key of a request from a trusted peer what it tells the origin, unless all of it is what the key says
/// already: beside another field that says something else, it may be what the application believes. `scheme` is the
/// client's.
pub fn key_what_is_told(key: &mut Key, scheme: &str, fields: &HeaderMap, policy: &Policy) {
    let names = || {
        let names = fields.keys();
        names.filter(|name| is_keyed_if_told(name) && gets_there(policy, name))
    };
    if names().all(|name| agrees(key, scheme, fields, name, policy)) {
        return;
    }
    let mut names: Vec<_> = names().collect();
    names.sort_unstable_by_key(|name| name.as_str());
    for name in names {
        if *name == FORWARDED {
            let lines = forwarded::lines(fields, &policy.key);
            let lines = lines.iter().map(HeaderValue::as_bytes);
            let lines: Vec<_> = lines.map(without_nodes).collect();
            if !lines.is_empty() {
                key.told(name, lines.iter().map(Vec::as_slice));
            }
        } else {
            let lines = fields.get_all(name).iter();
            key.told(name, lines.map(HeaderValue::as_bytes));
        }
    }
}

/// Whether the origin gets a field that a trusted peer sends, and the site has not decided itself whether it is keyed.
fn gets_there(policy: &Policy, name: &HeaderName) -> bool {
    !policy.to_origin.pass_fields.contains(name)
        && !policy.key.headers.contains(name)
        && !tells_unkeyed(&policy.key, name)
        && !is_edited(policy, name)
}

/// Whether a field says what the key says too, or what we tell the origin for every request. Load balancers send these
/// fields with values that agree; others are told of in few requests, or are not for us to understand.
fn agrees(key: &Key, scheme: &str, fields: &HeaderMap, name: &HeaderName, policy: &Policy) -> bool {
    let mut lines = fields.get_all(name).iter();
    if *name == SURROGATE_CAPABILITY {
        let has_esi = policy.esi != Esi::Off;
        return lines.all(|line| line == CAPABILITY || (has_esi && line == ESI_CAPABILITY));
    }
    if *name == FORWARDED {
        let lines = forwarded::lines(fields, &policy.key);
        return forwarded::agrees(&lines, key, scheme, &policy.key);
    }
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return false;
    };
    let line = line.as_bytes();
    match name.as_str() {
        "x-forwarded-host" | "x-host" | "x-original-host" => line == key.host_bytes(),
        "x-forwarded-port" => line == port(key.host(), scheme).as_bytes(),
        "x-forwarded-scheme"
        | "x-forwarded-protocol"
        | "x-scheme"
        | "x-url-scheme"
        | "cloudfront-forwarded-proto" => line == scheme.as_bytes(),
        "x-forwarded-ssl" | "front-end-https" => line == b"on" && scheme == "https",
        "cf-visitor" => line == b"{\"scheme\":\"https\"}" && scheme == "https",
        _ => false,
    }
}

/// Returns the port that the client used.
fn port<'a>(host: &'a str, scheme: &str) -> &'a str {
    let written = host.strip_prefix(routing::without_port(host));
    let written = written.and_then(|rest| rest.strip_prefix(':'));
    written.unwrap_or(if scheme == "https" { "443" } else { "80" })
}
