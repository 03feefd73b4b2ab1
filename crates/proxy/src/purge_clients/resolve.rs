//! Turns what a client names into purges of this site: hosts and URLs as they are keyed.

use super::{Command, Malformed, Matching, Wish};
use crate::{
    policy::{KeySpec, Site},
    purging::{self, Hosts, target_of},
};
use rules::key;
use std::net::IpAddr;
use store::purge::{BadPattern, On, Pattern, Purge, What};

/// Returns all the purges that a command means on `site`.
///
/// # Errors
/// Something in it is not valid. Then nothing is to be purged.
pub fn resolve(site: &Site, command: &Command) -> Result<Vec<Purge>, Malformed> {
    let mut found: Vec<What> = Vec::new();
    let mut urls = Vec::new();
    for wish in &command.wishes {
        match wish {
            Wish::Url { host, target } => {
                if names_no_site(host) {
                    let targets = targets(site, host, target)?;
                    found.extend(targets.iter().map(|target| on_every_host(target)));
                }
                if !host.is_empty() {
                    urls.extend(addresses(site, host, target)?);
                }
            }
            Wish::Prefix { host, path } if path.contains('?') => {
                found.extend(purges(site, wish)?);
                found.extend(keyed_otherwise(site, host, path)?);
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
        Wish::Expression {
            host,
            target,
            is_said,
        } => {
            let matching = Matching {
                host: expression_on_host(site, host)?,
                target: Some(target.clone()),
                ..Matching::default()
            };
            match pattern(site, &matching) {
                Err(Malformed::Pattern(BadPattern::Syntax(_))) if !is_said => Vec::new(),
                made => vec![What::Pattern(Box::new(made?))],
            }
        }
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

/// Whether a host is the cache's own rather than a site's: empty, an address, this machine. A client that purges many
/// responses by such a name means all sites.
fn names_no_site(host: &str) -> bool {
    let name = crate::routing::without_port(host);
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.is_empty() || name.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok()
}

/// Returns the URL as every route that it could take keys it, with either scheme.
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

/// Returns the host, or one in its place of a URL of which only path and query count.
fn or_any(host: &str) -> &str {
    if host.is_empty() { "localhost" } else { host }
}

/// Returns path and query as every route for the path keys them, whatever hosts the route is for.
fn targets(site: &Site, host: &str, target: &str) -> Result<Vec<String>, Malformed> {
    let host = normal_host(or_any(host), "http")?;
    let url = format!("http://{host}{target}");
    let addresses = purging::addresses_on_any_host(site, &url);
    if addresses.is_empty() {
        return Err(Malformed::Url(url));
    }
    let targets = addresses.iter().filter_map(|address| target_of(address));
    let mut targets: Vec<_> = targets.map(str::to_owned).collect();
    targets.sort_unstable();
    // What begins with another is purged with it, except with the start page.
    targets.dedup_by(|next, kept| next == kept || *kept != "/" && next.starts_with(kept.as_str()));
    Ok(targets)
}

/// Returns more purges for a prefix with a query that a route keys otherwise: with sorted parameters, or only some of
/// them. The beginning of the key is then not known: everything with this path and a query is purged, and the path
/// alone if all of the query may be dropped.
fn keyed_otherwise(site: &Site, host: &str, target: &str) -> Result<Vec<What>, Malformed> {
    let Some((path, _)) = target.split_once('?') else {
        return Ok(Vec::new());
    };
    let url = format!("http://{}{target}", or_any(host));
    if !purging::rewrites_query(site, &url) {
        return Ok(Vec::new());
    }
    let begins = Wish::Prefix {
        host: host.to_owned(),
        path: format!("{path}?"),
    };
    let mut found = purges(site, &begins)?;
    if names_no_site(host) {
        let alone = purging::addresses_without_query(site, &url, Hosts::Any);
        let path = alone.first().and_then(|address| target_of(address));
        found.extend(path.map(on_every_host));
        return Ok(found);
    }
    let mut alone = Vec::new();
    for scheme in ["http", "https"] {
        let url = format!("{scheme}://{}{target}", normal_host(host, scheme)?);
        alone.extend(purging::addresses_without_query(site, &url, Hosts::Its));
    }
    alone.sort_unstable();
    alone.dedup();
    if !alone.is_empty() {
        found.push(What::Url(alone));
    }
    Ok(found)
}

/// Returns the purge on every host, for a request to the cache's own address: everything that begins so, since no site
/// is named in which to purge exactly, and an expression for each path would soon be one too many. Of `/`, only the
/// start page, since every path begins with it.
fn on_every_host(target: &str) -> What {
    match target {
        "/" => purging::on_every_host(target),
        _ => What::Prefix {
            host: None,
            path: target.to_owned(),
        },
    }
}

/// Returns the host as it is keyed, without the port of either scheme; also the empty host if a route does not key
/// hosts.
fn keyed_hosts(site: &Site, host: &str) -> Result<Vec<String>, Malformed> {
    let mut hosts = vec![normal_host(host, "http")?, normal_host(host, "https")?];
    if !keys(site).all(|spec| spec.host) {
        hosts.push(String::new());
    }
    hosts.sort_unstable();
    hosts.dedup();
    Ok(hosts)
}

/// Returns an expression for a host as it is keyed; `None` if no site is named: then any host matches.
fn expression_on_host(site: &Site, host: &str) -> Result<Option<String>, Malformed> {
    if names_no_site(host) {
        return Ok(None);
    }
    let hosts = keyed_hosts(site, host)?;
    let hosts: Vec<_> = hosts.iter().map(|host| regex::escape(host)).collect();
    Ok(Some(format!("^(?:{})$", hosts.join("|"))))
}

fn normal_host(host: &str, scheme: &str) -> Result<String, Malformed> {
    let normal = key::normalize_host(host, scheme).map(std::borrow::Cow::into_owned);
    normal.ok_or_else(|| Malformed::Host(host.to_owned()))
}

fn keys(site: &Site) -> impl Iterator<Item = &KeySpec> {
    site.routes.iter().map(|route| &route.policy.key)
}

/// Compiles expressions. Those on hosts, or on names with hosts in them, are left out if some route does not key hosts:
/// purging too much is safe.
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
