//! What shows that a request is made for somebody other than its peer.

use crate::target::Target;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use rules::key;
use std::borrow::Cow;

/// A field that only a request on somebody else's behalf has.
#[derive(Debug, PartialEq, Eq)]
pub struct Sign {
    /// The field.
    pub name: HeaderName,
    /// The token for `detail` in `Cache-Status`.
    pub token: &'static str,
}

macro_rules! signs {
    ($($name:literal)*) => {
        [$(Sign {
            name: HeaderName::from_static($name),
            token: concat!("purge-with-", $name),
        }),*]
    };
}

/// Fields with which proxies name the client they act for, and those with which browsers name the page that sends the
/// request. No purge client sends any of them, except that some fill `Referer` in with what they ask for. A page can
/// make its reader's browser omit most of the latter, which is why `Accept-Language` counts too.
static SIGNS: [Sign; 26] = signs![
    "x-forwarded-for"
    "forwarded"
    "via"
    "x-real-ip"
    "x-client-ip"
    "x-cluster-client-ip"
    "cluster-client-ip"
    "client-ip"
    "x-forwarded-proto"
    "x-forwarded-host"
    "true-client-ip"
    "cf-connecting-ip"
    "cf-connecting-ipv6"
    "cdn-loop"
    "fastly-client-ip"
    "fly-client-ip"
    "x-azure-clientip"
    "x-azure-socketip"
    "x-appengine-user-ip"
    "x-envoy-external-address"
    "proxy-client-ip"
    "wl-proxy-client-ip"
    "origin"
    "sec-fetch-site"
    "referer"
    "accept-language"
];

/// Returns the first field that shows that a request with these fields is made for somebody other than its peer.
pub fn of_another(target: &Target, fields: &HeaderMap) -> Option<&'static Sign> {
    SIGNS.iter().find(|sign| match sign.name {
        header::REFERER => is_referred(target, fields),
        header::ACCEPT_LANGUAGE => speaks_a_language(fields),
        _ => fields.contains_key(&sign.name),
    })
}

/// Whether `Referer` names a page: anything but the request's own target. WordPress 4.6 to 6.1 fills in what it asks
/// for, under the host where it connects, which is often not the one in `Host`. So hosts are not compared.
///
/// This lets no page of an attacker purge: it can have its reader's browser omit the field as well, and must be known
/// by the others. So must a browser that loads the address of a purge again from there: it sends `Accept-Language`, and
/// `Sec-Fetch-Site` over TLS and to its own machine.
fn is_referred(target: &Target, fields: &HeaderMap) -> bool {
    let mut lines = fields.get_all(header::REFERER).iter();
    lines.any(|line| {
        let line = line.as_bytes().trim_ascii();
        !line.is_empty() && !is_for(line, target)
    })
}

/// Whether a URI has this path and query.
fn is_for(uri: &[u8], target: &Target) -> bool {
    let (Ok(uri), Some(target)) = (str::from_utf8(uri), target.origin_form()) else {
        return false;
    };
    origin_form(uri).is_some_and(|form| key::normalize(&form) == key::normalize(&target))
}

/// Returns path and query of a URI that has an authority.
fn origin_form(uri: &str) -> Option<Cow<'_, str>> {
    let (_scheme, rest) = uri.split_once("://")?;
    let (rest, _fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (_authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    Some(match target {
        path if path.starts_with('/') => path.into(),
        query => ["/", query].concat().into(),
    })
}

/// Whether the fields name a language, as browsers always do. `*` is what Node.js sends by itself, and what a page can
/// make a browser send. But no page can set `Sec-Fetch-Mode`: Node.js sends it as well, and browsers never without
/// `Sec-Fetch-Site`.
fn speaks_a_language(fields: &HeaderMap) -> bool {
    let is_of_node = fields.contains_key("sec-fetch-mode");
    let mut lines = fields.get_all(header::ACCEPT_LANGUAGE).iter();
    lines.any(|line: &HeaderValue| !is_of_node || line != "*")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sign(target: &str, referers: &[&[u8]]) -> Option<&'static str> {
        let target: Target = target.parse::<http::Uri>().expect("a target").into();
        let lines = referers.iter();
        let lines = lines.map(|line| {
            let line = HeaderValue::from_bytes(line).expect("a value");
            (header::REFERER, line)
        });
        of_another(&target, &lines.collect()).map(|sign| sign.token)
    }

    #[test]
    fn a_request_may_refer_to_itself() {
        for (target, referer, own) in [
            ("/a", "http://site.test/a", true),
            ("/a", "https://site.test/a", true),
            ("/a", "http://127.0.0.1:8080/a", true),
            ("/a", "http://[::1]:8080/a", true),
            ("http://site.test/a", "http://site.test/a", true),
            ("/a?q=1", "http://site.test/a?q=1", true),
            ("/a", "http://site.test/a#top", true),
            ("/", "http://site.test", true),
            ("/", "http://site.test/", true),
            ("/?q", "http://site.test?q", true),
            ("/.*", "http://site.test/.*", true),
            ("/%7Ea%2f", "http://site.test/~a%2F", true),
            ("/%C3%A9", "http://site.test/é", true),
            ("/a", "", true),
            ("/a", " ", true),
            ("/a", "http://site.test/", false),
            ("/a", "http://site.test/A", false),
            ("/a", "http://site.test/a/", false),
            ("/a", "http://site.test/a?", false),
            ("/a", "http://site.test/a?q=1", false),
            ("/a?q=1", "http://site.test/a", false),
            ("/a?q=1", "http://site.test/a?q=1#&q=2", true),
            ("/a", "http://site.test", false),
            ("/a", "/a", false),
            ("/a", "a", false),
            ("/a", "about:blank", false),
            ("/http://site.test/a", "http://site.test/a", false),
            ("*", "http://site.test/*", false),
        ] {
            let found = sign(target, &[referer.as_bytes()]);
            let wanted = (!own).then_some("purge-with-referer");
            assert_eq!(found, wanted, "{target} from {referer:?}");
        }
        let (own, other) = (&b"http://site.test/a"[..], &b"http://site.test/b"[..]);
        assert_eq!(sign("/a", &[own, own]), None);
        for lines in [[own, other], [other, own], [b"", other]] {
            assert!(sign("/a", &lines).is_some(), "{lines:?}");
        }
        assert!(sign("/a", &[b"http://site.test/a\xff"]).is_some());
    }

    proptest! {
        #[test]
        fn any_bytes_may_be_referred_to(bytes in prop::collection::vec(any::<u8>(), 0..30)) {
            if HeaderValue::from_bytes(&bytes).is_ok() {
                let is_blank = bytes.trim_ascii().is_empty();
                prop_assert!(!is_blank || sign("/a", &[&bytes]).is_none());
            }
        }

        #[test]
        fn whatever_is_asked_for_may_refer_to_itself(target in "/[!$-~]{0,20}") {
            prop_assume!(!target.contains('#') && target.parse::<http::Uri>().is_ok());
            let referer = format!("http://site.test{target}");
            prop_assert_eq!(sign(&target, &[referer.as_bytes()]), None);
        }
    }
}
