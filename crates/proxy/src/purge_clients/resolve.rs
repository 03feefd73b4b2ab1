//! From what a client names to purges of this site: hosts and URLs as they are keyed.

use super::{Command, Malformed, Matching, Wish};
use crate::{
    policy::{KeySpec, Site},
    purging,
};
use rules::key;
use std::net::IpAddr;
use store::purge::{On, Pattern, Purge, What};

/// The purges that a command comes to on `site`; none in half.
///
/// # Errors
/// Something in it is not what it should be.
pub fn resolve(site: &Site, command: &Command) -> Result<Vec<Purge>, Malformed> {
    let mut found: Vec<What> = Vec::new();
    let mut urls = Vec::new();
    for wish in &command.wishes {
        match wish {
            Wish::Url { host, target } => {
                let own = addresses(site, host, target)?;
                if names_no_site(host) {
                    found.extend(on_every_host(&own)?);
                }
                urls.extend(own);
            }
            wish => found.extend(purges(site, wish)?),
        }
    }
    urls.sort_unstable();
    urls.dedup();
    if !urls.is_empty() {
        found.push(What::Url(urls));
    }
    let soft = command.soft;
    Ok(found.into_iter().map(|what| Purge { what, soft }).collect())
}

fn purges(site: &Site, wish: &Wish) -> Result<Vec<What>, Malformed> {
    Ok(match wish {
        Wish::Url { host, target } => vec![What::Url(addresses(site, host, target)?)],
        Wish::Tags(tags) => vec![What::Tags(tags.clone())],
        Wish::Matching(matching) => {
            let pattern = pattern(site, matching)?;
            let is_empty = pattern.expressions().next().is_none();
            vec![if is_empty {
                What::Everything
            } else {
                What::Pattern(Box::new(pattern))
            }]
        }
        Wish::Everything => vec![What::Everything],
        Wish::Host(host) if names_no_site(host) => vec![What::Everything],
        Wish::Host(host) => keyed_hosts(site, host)?
            .into_iter()
            .map(What::Host)
            .collect(),
        Wish::Prefix { host, path } => {
            let path = key::normalize(path).into_owned();
            if names_no_site(host) {
                return Ok(vec![What::Prefix { host: None, path }]);
            }
            let hosts = keyed_hosts(site, host)?.into_iter().map(Some);
            hosts
                .map(|host| What::Prefix {
                    host,
                    path: path.clone(),
                })
                .collect()
        }
    })
}

/// Whether a host is a cache's own rather than a site's: nothing, an address, this machine. Who purges much through such a name
/// means whatever is there.
fn names_no_site(host: &str) -> bool {
    let name = crate::routing::without_port(host);
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.is_empty() || name.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok()
}

/// The URL as every route that it could take keys it, with either scheme.
fn addresses(site: &Site, host: &str, target: &str) -> Result<Vec<String>, Malformed> {
    let mut found = Vec::new();
    for scheme in ["http", "https"] {
        let host = normal_host(host, scheme)?;
        let url = format!("{scheme}://{host}{target}");
        match purging::url(site, &url) {
            Some(What::Url(addresses)) => found.extend(addresses),
            _ => return Err(Malformed::Url(url)),
        }
    }
    Ok(found)
}

/// What was asked of the cache by its own address, on every host: what begins so, since no site is named that could be purged
/// exactly; the start page alone, with which everything begins.
fn on_every_host(addresses: &[String]) -> Result<Vec<What>, Malformed> {
    let mut paths: Vec<_> = addresses.iter().filter_map(|url| target_of(url)).collect();
    paths.sort_unstable();
    paths.dedup();
    let all = paths.into_iter().map(|path| {
        Ok(if path == "/" {
            What::Pattern(Box::new(Pattern::default().with(On::Target, "^/$")?))
        } else {
            let path = path.to_owned();
            What::Prefix { host: None, path }
        })
    });
    all.collect()
}

/// Path and query of an address as it is keyed (`//host/path?query`).
fn target_of(address: &str) -> Option<&str> {
    let rest = address.strip_prefix("//")?;
    rest.get(rest.find('/')?..)
}

/// A host as it is keyed, without the port of either scheme; nothing where a route does not keep hosts apart.
fn keyed_hosts(site: &Site, host: &str) -> Result<Vec<String>, Malformed> {
    let mut hosts = vec![normal_host(host, "http")?, normal_host(host, "https")?];
    if !keys(site).all(|spec| spec.host) {
        hosts.push(String::new());
    }
    hosts.sort_unstable();
    hosts.dedup();
    Ok(hosts)
}

fn normal_host(host: &str, scheme: &str) -> Result<String, Malformed> {
    if host.is_empty() {
        return Err(Malformed::Nothing("a URL needs a host: send `Host`"));
    }
    let normal = key::normalize_host(host, scheme).map(std::borrow::Cow::into_owned);
    normal.ok_or_else(|| Malformed::Host(host.to_owned()))
}

fn keys(site: &Site) -> impl Iterator<Item = &KeySpec> {
    site.routes.iter().map(|route| &route.policy.key)
}

/// Expressions ready to be matched. One on hosts, or on names with hosts in them, is left out where some route keeps none: purging
/// too much is safe.
fn pattern(site: &Site, matching: &Matching) -> Result<Pattern, Malformed> {
    let with_hosts = keys(site).all(|spec| spec.host);
    let host = matching.host.as_ref().filter(|_| with_hosts);
    let souin = matching.souin.as_ref().filter(|_| with_hosts);
    let all = [
        (On::Host, host),
        (On::Target, matching.target.as_ref()),
        (On::ContentType, matching.content_type.as_ref()),
        (On::Tags, matching.tags.as_ref()),
        (On::Souin, souin),
    ];
    let mut pattern = Pattern::default();
    for (on, text) in all {
        if let Some(text) = text {
            pattern = pattern.with(on, text)?;
        }
    }
    Ok(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        policy::{HostPattern, Matcher},
        purge_clients::Dialect,
        sample,
    };

    /// Hosts apart, but for those below `together.example`.
    fn site() -> Site {
        let mut together = sample::policy(sample::key_spec());
        together.key.host = false;
        let matcher = Matcher {
            hosts: vec![HostPattern::Suffix("together.example".to_owned())],
            ..Matcher::default()
        };
        let mut site = sample::site(sample::policy(sample::key_spec()));
        site.routes.insert(0, sample::route(matcher, together));
        site
    }

    fn resolved(wishes: Vec<Wish>) -> Result<Vec<What>, Malformed> {
        let command = Command {
            wishes,
            soft: true,
            dialect: Dialect::Plain,
        };
        let purges = resolve(&site(), &command)?;
        assert!(purges.iter().all(|purge| purge.soft));
        Ok(purges.into_iter().map(|purge| purge.what).collect())
    }

    fn url(host: &str, target: &str) -> Wish {
        let (host, target) = (host.to_owned(), target.to_owned());
        Wish::Url { host, target }
    }

    #[test]
    fn urls_are_found_in_each_form_in_which_they_are_keyed() {
        for (host, target, keyed) in [
            ("A.example", "/%7ea", &["//a.example/~a"][..]),
            ("a.example:443", "/", &["//a.example/", "//a.example:443/"]),
            ("a.example:8080", "/", &["//a.example:8080/"]),
            // Both routes match, for all that is known here.
            (
                "x.together.example",
                "/p",
                &["///p", "//x.together.example/p"],
            ),
        ] {
            let keyed: Vec<_> = keyed.iter().map(|&text| text.to_owned()).collect();
            let found = resolved(vec![url(host, target)]);
            assert_eq!(found, Ok(vec![What::Url(keyed)]), "{host}{target}");
        }
        for (host, target) in [
            ("", "/"),
            ("a b", "/"),
            ("a.example:x", "/"),
            ("a.example", "/a b"),
        ] {
            assert!(resolved(vec![url(host, target)]).is_err(), "{host}{target}");
        }
    }

    #[test]
    fn a_cache_named_by_its_address_means_every_host() {
        for host in [
            "",
            "127.0.0.1",
            "[::1]:6081",
            "localhost:80",
            "10.0.0.7:8080",
        ] {
            let all = resolved(vec![Wish::Host(host.to_owned())]);
            assert_eq!(all, Ok(vec![What::Everything]), "{host}");
            let prefix = Wish::Prefix {
                host: host.to_owned(),
                path: "/%61".to_owned(),
            };
            let everywhere = What::Prefix {
                host: None,
                path: "/a".to_owned(),
            };
            assert_eq!(resolved(vec![prefix]), Ok(vec![everywhere]), "{host}");
        }
        let named = resolved(vec![Wish::Host("a.example".to_owned())]);
        let hosts = ["", "a.example"].map(|host| What::Host(host.to_owned()));
        assert_eq!(
            named,
            Ok(hosts.to_vec()),
            "and where hosts are kept together"
        );
    }

    #[test]
    fn a_url_of_the_cache_itself_means_what_begins_so_on_every_host() {
        for (target, on_every_host) in [
            (
                "/%61?b",
                What::Prefix {
                    host: None,
                    path: "/a?b".to_owned(),
                },
            ),
            (
                "/",
                What::Pattern(Box::new(
                    Pattern::default()
                        .with(On::Target, "^/$")
                        .expect("an expression"),
                )),
            ),
        ] {
            let found = resolved(vec![url("127.0.0.1:8080", target)]).expect("purges");
            assert_eq!(found.len(), 2, "{found:?}");
            assert_eq!(found[0], on_every_host);
            assert!(matches!(found[1], What::Url(_)), "{found:?}");
        }
    }

    #[test]
    fn an_expression_on_hosts_that_are_kept_together_is_everything() {
        let wish = Wish::Matching(Box::new(Matching {
            host: Some("^(a|b)".to_owned()),
            ..Matching::default()
        }));
        assert_eq!(resolved(vec![wish]), Ok(vec![What::Everything]));
    }

    #[test]
    fn one_on_names_is_held_against_them_where_hosts_are_kept_apart() {
        let matching = Matching {
            souin: Some("^GET-https?-a[.]example-/x".to_owned()),
            ..Matching::default()
        };
        let wish = Wish::Matching(Box::new(matching.clone()));
        assert_eq!(resolved(vec![wish]), Ok(vec![What::Everything]));
        let apart = sample::site(sample::policy(sample::key_spec()));
        let pattern = pattern(&apart, &matching).expect("an expression");
        let names = |scheme: &str| format!("GET-{scheme}-a.example-/xy");
        let both = [names("http"), names("https")].join("\n");
        assert!(pattern.matches(|_| &both));
        assert!(!pattern.matches(|_| "GET-http-b.a.example-/x"));
    }

    #[test]
    fn one_bad_wish_spoils_all() {
        let everything = Wish::Everything;
        let bad = Wish::Matching(Box::new(Matching {
            tags: Some("(".to_owned()),
            ..Matching::default()
        }));
        assert!(resolved(vec![everything, bad]).is_err());
    }
}
