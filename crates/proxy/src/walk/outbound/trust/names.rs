//! Fields that applications believe, by what they tell.

use http::HeaderName;

/// Fields with which a client could make an origin answer for another URI, host or method than the keyed one, or in a
/// way that is meant for a part of the application itself. They are passed on only if the route says so or keys on
/// them, except that [overrides](super::overriding) pass where nothing stored is concerned.
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
pub const OF_ONE_TARGET: [&str; 23] = [
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
pub const OF_HOST: [&str; 15] = [
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
pub const OF_SCHEME: [&str; 18] = [
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
pub static OF_ADDRESS: [HeaderName; 15] = [
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("x-client-ip"),
    HeaderName::from_static("x-cluster-client-ip"),
    HeaderName::from_static("client-ip"),
    HeaderName::from_static("true-client-ip"),
    HeaderName::from_static("cf-connecting-ip"),
    HeaderName::from_static("cf-connecting-ipv6"),
    HeaderName::from_static("fastly-client-ip"),
    HeaderName::from_static("fly-client-ip"),
    HeaderName::from_static("x-azure-clientip"),
    HeaderName::from_static("x-azure-socketip"),
    HeaderName::from_static("x-appengine-user-ip"),
    HeaderName::from_static("x-envoy-external-address"),
    HeaderName::from_static("proxy-client-ip"),
    HeaderName::from_static("wl-proxy-client-ip"),
];

/// Whether a field is one of [`POISONOUS`] or [`OF_ADDRESS`].
pub fn misleads(name: &HeaderName) -> bool {
    poisons(name) || tells_address(name)
}

/// Whether a field is one of [`POISONOUS`]. For most, the beginning of the name shows that it is not.
pub fn poisons(name: &HeaderName) -> bool {
    may_mislead(name) && POISONOUS.contains(name)
}

/// Whether a field is one of [`OF_ADDRESS`].
pub fn tells_address(name: &HeaderName) -> bool {
    may_mislead(name) && OF_ADDRESS.contains(name)
}

fn may_mislead(name: &HeaderName) -> bool {
    matches!(
        name.as_str().as_bytes(),
        [b'x', b'-', ..]
            | [b'f', ..]
            | [b'c', b'l' | b'f', ..]
            | [b't', b'r', b'u', ..]
            | [b'w', b'l', b'-', ..]
            | [b'p', b'r', b'o', b'x', b'y', b'-', ..]
            | [b'd', b'i', b's', ..]
            | [b'h', b'o', b's', b't', b'-', ..]
    )
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

    #[test]
    fn what_a_field_tells_of_is_told_of_fields_that_there_are() {
        let all = OF_ONE_TARGET.iter().chain(&OF_HOST).chain(&OF_SCHEME);
        for name in all {
            assert!(POISONOUS.contains(&HeaderName::from_static(name)), "{name}");
        }
    }
}
