//! Which of a client's fields an origin may believe, and so may get.

pub mod names;
mod overriding;

pub use names::misleads;
pub use overriding::{all_name, is_overridden, may_be_overridden};

use super::SURROGATE_CAPABILITY;
use crate::{
    ask::Ask,
    policy::{KeySpec, Policy},
};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use names::{OF_HOST, OF_ONE_TARGET, OF_SCHEME, POISONOUS};
use overriding::is_override;

/// Removes fields that are about a page's target and not about the targets of its includes.
pub fn strip_target(fields: &mut HeaderMap) {
    for name in OF_ONE_TARGET {
        fields.remove(name);
    }
}

/// Removes fields that are about a page's host, and those that its visitor sent to that host alone. For an include from
/// another host.
pub fn strip_host(fields: &mut HeaderMap) {
    for name in POISONOUS
        .iter()
        .chain([&header::COOKIE, &header::AUTHORIZATION])
    {
        fields.remove(name);
    }
}

/// Whether only trusted proxies may send a field, unless the route names it: applications believe it.
pub fn is_of_proxies(name: &HeaderName) -> bool {
    misleads(name) || *name == SURROGATE_CAPABILITY
}

/// Removes and returns the fields that a client which is no proxy of ours sends, and that the origin does not get from
/// it. They select no variant either. `overrides` says whether it may have the method taken for another.
pub fn set_aside(
    fields: &mut HeaderMap,
    policy: &Policy,
    overrides: bool,
) -> Vec<(HeaderName, HeaderValue)> {
    let is_passed = |name| {
        policy.to_origin.pass_fields.contains(name)
            || policy.key.headers.contains(name)
            || (overrides && is_override(name))
    };
    let of_proxies = fields.keys().filter(|name| is_of_proxies(name));
    let unnamed: Vec<_> = of_proxies
        .filter(|name| !is_passed(*name))
        .cloned()
        .collect();
    let mut aside = Vec::new();
    for name in unnamed {
        if let header::Entry::Occupied(lines) = fields.entry(&name) {
            let (_, lines) = lines.remove_entry_mult();
            aside.extend(lines.map(|line| (name.clone(), line)));
        }
    }
    aside
}

/// Whether a field that [misleads] goes to the origin for this client. An override that it may not send was set aside.
pub fn is_passed(ask: &Ask, name: &HeaderName) -> bool {
    is_named(ask, name)
        || (ask.client().is_believed() && may_be_passed(ask, name))
        || (is_override(name) && may_be_overridden(&ask.method, ask.policy()))
}

/// Whether a field that [misleads] goes to the origin if a trusted proxy sends it.
pub fn may_be_passed(ask: &Ask, name: &HeaderName) -> bool {
    is_named(ask, name) || !tells_unkeyed(&ask.policy().key, name)
}

/// Whether a field names a host or scheme that is no part of the key, where a trusted proxy writes what any client asked
/// it for; or the proxy itself, as Traefik does: several of them would each have pages of their own.
pub(super) fn tells_unkeyed(key: &KeySpec, name: &HeaderName) -> bool {
    name == "x-forwarded-server"
        || (!key.host && OF_HOST.contains(&name.as_str()))
        || (!key.scheme && OF_SCHEME.contains(&name.as_str()))
}

/// Whether the route passes this field on, or keys on it.
pub fn is_named(ask: &Ask, name: &HeaderName) -> bool {
    let policy = ask.policy();
    policy.to_origin.pass_fields.contains(name) || policy.key.headers.contains(name)
}

/// Whether applications may take a field for another. CGI and its successors write an underscore for each hyphen (RFC
/// 3875 section 4.1.18), some servers for anything but a letter or a digit. CGI also calls the path `SCRIPT_NAME`, and
/// the environment's proxy `HTTP_PROXY` (CVE-2016-5385). Such a field is dropped from a trusted proxy too, which may
/// have passed on what any client wrote.
pub fn is_ambiguous(name: &HeaderName) -> bool {
    let name = name.as_str();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !name.bytes().all(is_plain) || name == "proxy"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PHP and lighttpd write `_` for each of these.
    #[test]
    fn names_that_become_others() {
        for name in [
            "x_host",
            "x.original.url",
            "x~host",
            "x!host",
            "a+b",
            "proxy",
        ] {
            assert!(is_ambiguous(&HeaderName::from_static(name)), "{name}");
        }
        for name in ["x-host", "x-1", "accept", "sec-ch-ua"] {
            assert!(!is_ambiguous(&HeaderName::from_static(name)), "{name}");
        }
    }
}
