//! Translates what a purge names into the terms of the site's keys, so that it finds what requests have stored.

mod prefix;

pub use prefix::{addresses_without_query, on_every_host, prefix};

use crate::{
    ask::{self, Ask, Key},
    marks,
    policy::{KeySpec, Route, Site},
    routing::{self, Subject},
};
use http::{HeaderMap, Method};
use rules::key::{self, QueryChoice};
use std::borrow::Cow;
use store::purge::{Address, What};

/// Returns the purge of one URL (`http://host/path?query`) with all its variants, in each form in which routes of
/// `site` may have keyed it. What the site does not key (dropped parameters, the order of parameters) does not count
/// here either. `None` if no client could ask for the URL.
pub fn url(site: &Site, url: &str) -> Option<What> {
    let addresses = addresses_of(site, url, Hosts::Its);
    (!addresses.is_empty()).then_some(What::Url(addresses))
}

/// Returns the addresses of one URL as every route for its path may have keyed it, whatever hosts the route is for.
pub fn addresses_on_any_host(site: &Site, url: &str) -> Vec<String> {
    addresses_of(site, url, Hosts::Any)
}

/// Returns the addresses of one URL on each route, and the one that it has as it is written: what was stored before a
/// reload made the routes key it otherwise would be found again after another.
fn addresses_of(site: &Site, url: &str, hosts: Hosts) -> Vec<String> {
    let url = without_fragment(url);
    let mut found = addresses(keys_and_routes(site, url, hosts));
    if !found.is_empty() {
        found.extend(as_written(url));
        found.sort_unstable();
        found.dedup();
    }
    found
}

fn as_written(url: &str) -> Option<String> {
    let (scheme, authority, target) = parts(url)?;
    let host = key::normalize_host(authority, scheme)?;
    let slash = if target.starts_with('/') { "" } else { "/" };
    Some(format!("//{host}{slash}{}", key::normalize(target)))
}

/// Whether some route for URLs that begin with this one, whatever hosts it is for, keys their query otherwise than it
/// is written: then the beginning of the URL does not determine the beginning of the key.
pub fn rewrites_query(site: &Site, url: &str) -> bool {
    rewrites(site, without_fragment(url), Hosts::Any)
}

fn rewrites(site: &Site, beginning: &str, hosts: Hosts) -> bool {
    let rewrites = |spec: &KeySpec| {
        spec.sort || spec.query != QueryChoice::All || spec.drop != QueryChoice::All
    };
    matching(site, beginning, hosts, Asked::Beginning)
        .into_iter()
        .any(|route| rewrites(&route.policy.key))
}

fn addresses<'a>(keys: impl Iterator<Item = (Key, &'a Route)>) -> Vec<String> {
    let address = |(key, _): (Key, _)| Address::of(key.as_bytes()).text();
    let mut addresses: Vec<String> = keys.map(address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// The hosts whose routes count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Hosts {
    /// Only the URL's host.
    Its,
    /// Every host.
    Any,
}

/// How much of a URL is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// All of it.
    Whole,
    /// The beginning: its query may continue.
    Beginning,
}

/// Returns path and query of an address as it is keyed (`//host/path?query`).
pub(crate) fn target_of(address: &str) -> Option<&str> {
    let rest = address.strip_prefix("//")?;
    rest.get(rest.find('/')?..)
}

/// Returns the purges of one host, with a port if it is not the scheme's default; `None` if `text` is not a host.
pub fn host(text: &str) -> Option<Vec<What>> {
    let known = ["http", "https"].map(|scheme| key::normalize_host(text, scheme));
    let mut hosts: Vec<_> = known
        .into_iter()
        .flatten()
        .map(|host| What::Host(host.into_owned()))
        .collect();
    hosts.dedup();
    (!hosts.is_empty()).then_some(hosts)
}

/// Returns the purge of the cache groups `names` of one host (RFC 9875), over both schemes, with a port if it is not
/// the scheme's default; `None` if `host` is not a host.
pub fn groups(host: &str, names: &[String]) -> Option<What> {
    let mut found = Vec::new();
    for scheme in ["http", "https"] {
        let host = key::normalize_host(host, scheme)?;
        let all = names.iter();
        found.extend(all.map(|name| marks::of_group(scheme, &host, name)));
    }
    found.sort_unstable();
    found.dedup();
    Some(What::Tags(found))
}

/// Returns the keys of a GET for `uri` on each route that it could take, without the parts that depend on request
/// fields. Conditions on fields and clients may hold for some requests and not for others, so every route counts whose
/// host and path match.
pub(crate) fn keys(site: &Site, uri: &str) -> Vec<Key> {
    let all = keys_and_routes(site, uri, Hosts::Its);
    all.map(|(key, _)| key).collect()
}

/// Returns the keys under which requests to `site` may have stored something for a GET for `uri` with the fields of
/// `ask`, its own among them. What is stored for other fields, and for content, is not found by these.
pub(crate) fn stored_keys(site: &Site, ask: &Ask, uri: &str) -> Vec<Key> {
    let with_fields = |(mut key, route): (Key, &Route)| {
        key.extend(route, &ask.fields);
        key
    };
    let all = keys_and_routes(site, uri, Hosts::Its);
    let mut keys: Vec<_> = all.map(with_fields).collect();
    // What a trusted proxy tells is part of it, and the sender's group.
    if !keys.contains(&ask.key) {
        keys.push(ask.key.clone());
    }
    keys
}

fn keys_and_routes<'a>(
    site: &'a Site,
    uri: &str,
    hosts: Hosts,
) -> impl Iterator<Item = (Key, &'a Route)> {
    let matching = matching(site, uri, hosts, Asked::Whole);
    matching
        .into_iter()
        .filter_map(|route| keyed_on(route, uri))
}

fn keyed_on<'a>(route: &'a Route, uri: &str) -> Option<(Key, &'a Route)> {
    Some((ask::key_of(uri, &route.policy)?, route))
}

/// Returns the routes that some request for `uri`, or for a URL that begins so, could take.
fn matching<'a>(site: &'a Site, uri: &str, hosts: Hosts, asked: Asked) -> Vec<&'a Route> {
    let Some((scheme, authority, target)) = parts(uri) else {
        return Vec::new();
    };
    let Some(host) = key::normalize_host(authority, scheme) else {
        return Vec::new();
    };
    let (path, query) = target
        .split_once('?')
        .map_or((target, None), |(path, query)| (path, Some(query)));
    let path = match path {
        "" => Cow::Borrowed("/"),
        path => key::normalize(path),
    };
    let fields = HeaderMap::new();
    let query = query.map(key::normalize);
    let subject = Subject {
        host: routing::without_port(&host),
        path: &path,
        query: query.as_deref(),
        method: &Method::GET,
        fields: &fields,
        client: routing::Client::default(),
    };
    let routes = site.routes.iter();
    let could_match = |Route { matcher, .. }: &&Route| {
        let is_for_host = hosts == Hosts::Any || routing::is_for_host(matcher, &subject);
        is_for_host
            && match asked {
                Asked::Whole => routing::may_match_on_its_hosts(matcher, &subject),
                Asked::Beginning => routing::is_for_path(matcher, &subject),
            }
    };
    routes.filter(could_match).collect()
}

/// Returns scheme, authority, and path with query; `None` if it is not a URL, or has characters that no URL has. The case
/// of the scheme does not matter (RFC 3986 section 3.1).
fn parts(url: &str) -> Option<(&str, &str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let is_known = ["http", "https"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known));
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at_checked(at)?;
    (is_known && is_target(target)).then_some((scheme, authority, target))
}

/// Whether a request could have this target: no white space and no control characters.
fn is_target(text: &str) -> bool {
    !text
        .chars()
        .any(|letter| letter.is_whitespace() || letter.is_control())
}

/// Removes the fragment, which is only for the browser (RFC 9110 section 7.1).
fn without_fragment(url: &str) -> &str {
    url.split_once('#').map_or(url, |(before, _)| before)
}

#[cfg(test)]
mod tests;
