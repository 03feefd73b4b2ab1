//! Which of a client's fields an origin may believe, and so may get.

use super::SURROGATE_CAPABILITY;
use crate::{
    ask::Ask,
    policy::{KeySpec, Policy},
};
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// Fields with which a client could make an origin answer for another URI, host or method than the keyed one, or in a
/// way that is meant for a part of the application itself. They are passed on only if the route says so or keys on
/// them.
pub static POISONOUS: [HeaderName; 70] = [
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-server"),
    HeaderName::from_static("x-forwarded-scheme"),
    HeaderName::from_static("x-forwarded-prefix"),
    HeaderName::from_static("x-forwarded-port"),
    HeaderName::from_static("x-forwarded-path"),
    HeaderName::from_static("x-host"),
    HeaderName::from_static("x-original-host"),
    HeaderName::from_static("x-original-url"),
    HeaderName::from_static("x-rewrite-url"),
    HeaderName::from_static("x-http-method-override"),
    HeaderName::from_static("x-http-method"),
    HeaderName::from_static("x-method-override"),
    HeaderName::from_static("x-http-host-override"),
    HeaderName::from_static("x-forwarded-ssl"),
    HeaderName::from_static("x-forwarded-protocol"),
    HeaderName::from_static("x-url-scheme"),
    HeaderName::from_static("front-end-https"),
    HeaderName::from_static("x-scheme"),
    HeaderName::from_static("x-script-name"),
    HeaderName::from_static("x-forwarded-uri"),
    HeaderName::from_static("x-original-uri"),
    HeaderName::from_static("x-forwarded-https"),
    HeaderName::from_static("cloudfront-forwarded-proto"),
    HeaderName::from_static("x-arr-ssl"),
    HeaderName::from_static("x-request-uri"),
    HeaderName::from_static("x-forwarded-url"),
    HeaderName::from_static("x-forwarded-request-uri"),
    HeaderName::from_static("x-http-path-override"),
    HeaderName::from_static("x-invoke-path"),
    HeaderName::from_static("x-invoke-query"),
    HeaderName::from_static("x-invoke-output"),
    HeaderName::from_static("x-invoke-status"),
    HeaderName::from_static("x-invoke-error"),
    HeaderName::from_static("x-matched-path"),
    HeaderName::from_static("x-now-route-matches"),
    HeaderName::from_static("x-middleware-prefetch"),
    HeaderName::from_static("x-middleware-subrequest"),
    HeaderName::from_static("x-react-router-spa-mode"),
    HeaderName::from_static("x-react-router-prerender-data"),
    HeaderName::from_static("x-sendfile-type"),
    HeaderName::from_static("x-accel-mapping"),
    HeaderName::from_static("x-base-url"),
    HeaderName::from_static("x-backend-host"),
    HeaderName::from_static("host-override"),
    HeaderName::from_static("x-original-method"),
    HeaderName::from_static("x-forwarded-method"),
    HeaderName::from_static("cf-visitor"),
    HeaderName::from_static("x-proto"),
    HeaderName::from_static("x-forwarded-context"),
    HeaderName::from_static("x-proxyhost"),
    HeaderName::from_static("x-proxyscheme"),
    HeaderName::from_static("x-proxyport"),
    HeaderName::from_static("x-proxycontextpath"),
    HeaderName::from_static("x-proxied-https"),
    HeaderName::from_static("wl-proxy-ssl"),
    HeaderName::from_static("x-vhm-host"),
    HeaderName::from_static("x-vhm-root"),
    HeaderName::from_static("x-request-base"),
    HeaderName::from_static("x-nuxt-no-ssr"),
    HeaderName::from_static("x-astro-path"),
    HeaderName::from_static("x-original-proto"),
    HeaderName::from_static("x-original-prefix"),
    HeaderName::from_static("x-original-forwarded-host"),
    HeaderName::from_static("x-envoy-original-path"),
    HeaderName::from_static("x-envoy-original-host"),
    HeaderName::from_static("x-rewrite-uri"),
    HeaderName::from_static("x-nextjs-data"),
    HeaderName::from_static("disguised-host"),
    HeaderName::from_static("forwarded"),
];

/// Those of [`POISONOUS`] that name a path or a method. They are about a page, and wrong for its includes.
const OF_ONE_TARGET: [&str; 23] = [
    "x-forwarded-path",
    "x-forwarded-uri",
    "x-original-uri",
    "x-original-url",
    "x-rewrite-url",
    "x-http-method-override",
    "x-http-method",
    "x-method-override",
    "x-request-uri",
    "x-forwarded-url",
    "x-forwarded-request-uri",
    "x-http-path-override",
    "x-invoke-path",
    "x-invoke-query",
    "x-invoke-output",
    "x-matched-path",
    "x-now-route-matches",
    "x-original-method",
    "x-forwarded-method",
    "x-astro-path",
    "x-envoy-original-path",
    "x-rewrite-uri",
    "x-nextjs-data",
];

/// Those of [`POISONOUS`] that name the host that the client asked for.
const OF_HOST: [&str; 15] = [
    "x-forwarded-host",
    "x-forwarded-server",
    "x-forwarded-port",
    "x-host",
    "x-original-host",
    "x-http-host-override",
    "x-backend-host",
    "host-override",
    "x-base-url",
    "x-forwarded-url",
    "x-proxyhost",
    "x-vhm-host",
    "x-original-forwarded-host",
    "x-envoy-original-host",
    "disguised-host",
];

/// Those of [`POISONOUS`] that name the scheme that the client used.
const OF_SCHEME: [&str; 18] = [
    "x-forwarded-scheme",
    "x-forwarded-port",
    "x-forwarded-ssl",
    "x-forwarded-protocol",
    "x-url-scheme",
    "front-end-https",
    "x-scheme",
    "x-forwarded-https",
    "cloudfront-forwarded-proto",
    "x-arr-ssl",
    "x-base-url",
    "x-forwarded-url",
    "cf-visitor",
    "x-proto",
    "x-proxyscheme",
    "x-proxied-https",
    "wl-proxy-ssl",
    "x-original-proto",
];

/// Fields in which trusted proxies name the client's address, besides `X-Forwarded-For`, which is written anew.
pub static OF_ADDRESS: [HeaderName; 6] = [
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("x-client-ip"),
    HeaderName::from_static("x-cluster-client-ip"),
    HeaderName::from_static("client-ip"),
    HeaderName::from_static("true-client-ip"),
    HeaderName::from_static("cf-connecting-ip"),
];

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

/// Whether a field is one of [`POISONOUS`] or [`OF_ADDRESS`]. For most, the beginning of the name shows that it is not.
pub fn misleads(name: &HeaderName) -> bool {
    may_mislead(name) && (POISONOUS.contains(name) || OF_ADDRESS.contains(name))
}

fn may_mislead(name: &HeaderName) -> bool {
    matches!(
        name.as_str().as_bytes(),
        [b'x', b'-', ..]
            | [b'f', ..]
            | [b'c', b'l' | b'f', ..]
            | [b't', b'r', b'u', ..]
            | [b'w', b'l', b'-', ..]
            | [b'd', b'i', b's', ..]
            | [b'h', b'o', b's', b't', b'-', ..]
    )
}

/// Whether only trusted proxies may send a field, unless the route names it: applications believe it.
pub fn is_of_proxies(name: &HeaderName) -> bool {
    misleads(name) || *name == SURROGATE_CAPABILITY
}

/// Removes and returns the fields that a client which is no proxy of ours sends, and that the origin does not get from
/// it. They select no variant either.
pub fn set_aside(fields: &mut HeaderMap, policy: &Policy) -> Vec<(HeaderName, HeaderValue)> {
    let is_named =
        |name| policy.to_origin.pass_fields.contains(name) || policy.key.headers.contains(name);
    let of_proxies = fields.keys().filter(|name| is_of_proxies(name));
    let unnamed: Vec<_> = of_proxies
        .filter(|name| !is_named(*name))
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

/// Whether a field that [misleads] goes to the origin for this client.
pub fn is_passed(ask: &Ask, name: &HeaderName) -> bool {
    is_named(ask, name) || (ask.client().is_believed() && may_be_passed(ask, name))
}

/// Whether a field that [misleads] goes to the origin if a trusted proxy sends it.
pub fn may_be_passed(ask: &Ask, name: &HeaderName) -> bool {
    is_named(ask, name) || !tells_unkeyed(&ask.policy().key, name)
}

/// Whether a field names a host or scheme that is no part of the key. A trusted proxy writes there what any client
/// asked it for.
fn tells_unkeyed(key: &KeySpec, name: &HeaderName) -> bool {
    (!key.host && OF_HOST.contains(&name.as_str()))
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

    /// A name that the check of its beginning wrongly excludes would be passed on.
    #[test]
    fn no_field_is_overlooked_by_its_beginning() {
        for name in POISONOUS.iter().chain(&OF_ADDRESS) {
            assert!(misleads(name), "{name}");
        }
        for name in [
            "host",
            "cookie",
            "connection",
            "proxy",
            "te",
            "from",
            "x-own",
            "dnt",
        ] {
            assert!(!misleads(&HeaderName::from_static(name)), "{name}");
        }
    }

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

    #[test]
    fn what_a_field_tells_of_is_told_of_fields_that_there_are() {
        let all = OF_ONE_TARGET.iter().chain(&OF_HOST).chain(&OF_SCHEME);
        for name in all {
            assert!(POISONOUS.contains(&HeaderName::from_static(name)), "{name}");
        }
    }
}
