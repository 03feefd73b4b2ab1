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
        (On::Pool, matching.pool.as_ref()),
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
mod tests;
