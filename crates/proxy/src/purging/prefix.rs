//! Purges of URLs that begin alike.

use super::{
    Asked, Hosts, addresses, is_target, keyed_on, matching, parts, rewrites, target_of,
    without_fragment,
};
use crate::policy::{KeySpec, Site};
use rules::key::{self, QueryChoice};
use store::purge::{On, Pattern, What};

/// The host of a URL of which only path and query count.
const NO_HOST: &str = "localhost";

/// Returns the purges of everything whose URL begins so: `http://host/path`, or `/path` for every host. If it has a
/// query that a route keys otherwise than it is written, everything with that path and a query is purged, and the path
/// alone if a route may drop all of the query. `None` if no URL begins so.
pub fn prefix(site: &Site, text: &str) -> Option<Vec<What>> {
    let text = without_fragment(text);
    let (host, target) = if text.starts_with('/') && !text.starts_with("//") {
        is_target(text).then_some((None, text))?
    } else {
        let (scheme, authority, target) = parts(text)?;
        let host = key::normalize_host(authority, scheme)?;
        (Some(host.into_owned()), target)
    };
    let slash = if target.starts_with('/') { "" } else { "/" };
    let target = key::normalize(&format!("{slash}{target}")).into_owned();
    let (url, hosts) = match host {
        Some(_) => (text.to_owned(), Hosts::Its),
        None => (format!("http://{NO_HOST}{text}"), Hosts::Any),
    };
    let with_query = target.find('?').and_then(|at| target.get(..=at));
    let Some(begins) = with_query.filter(|_| rewrites(site, &url, hosts)) else {
        return Some(vec![What::Prefix { host, path: target }]);
    };
    let mut found = without_query(site, &url, hosts);
    let path = begins.to_owned();
    found.push(What::Prefix { host, path });
    Some(found)
}

/// Returns the purges of the [path alone](addresses_without_query).
fn without_query(site: &Site, url: &str, hosts: Hosts) -> Vec<What> {
    let addresses = addresses_without_query(site, url, hosts);
    let path = addresses.first().and_then(|address| target_of(address));
    match (hosts, path) {
        (_, None) => Vec::new(),
        (Hosts::Any, Some(path)) => vec![on_every_host(path)],
        (Hosts::Its, Some(_)) => vec![What::Url(addresses)],
    }
}

/// Returns the addresses of the path alone: routes key URLs that begin so by it if they may drop all of the query. They
/// may also match only because of what comes later in it.
pub fn addresses_without_query(site: &Site, url: &str, hosts: Hosts) -> Vec<String> {
    let url_so_far = without_open_name(url);
    let drops = |spec: &KeySpec| spec.query != QueryChoice::All || spec.drop != QueryChoice::All;
    let routes = matching(site, url, hosts, Asked::Beginning).into_iter();
    let dropping = routes.filter(|route| drops(&route.policy.key));
    let mut addresses = addresses(dropping.filter_map(|route| keyed_on(route, url_so_far)));
    addresses.retain(|address| target_of(address).is_some_and(|target| !target.contains('?')));
    addresses
}

/// Removes the name that a URL ends within, which may become that of a parameter that is dropped.
fn without_open_name(url: &str) -> &str {
    let last = url.rsplit_once(['?', '&']);
    let open = last.filter(|(_, name)| !name.contains('='));
    open.map_or(url, |(before, _)| before)
}

/// Returns the purge of one path on every host, and of nothing that begins with it. A path that is too long for an
/// expression hardly begins another.
pub fn on_every_host(path: &str) -> What {
    let exactly = format!("^{}$", regex::escape(path));
    match Pattern::default().with(On::Target, &exactly) {
        Ok(pattern) => What::Pattern(Box::new(pattern)),
        Err(_) => What::Prefix {
            host: None,
            path: path.to_owned(),
        },
    }
}
