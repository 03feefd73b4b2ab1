//! Purges of URLs that begin alike.

use super::{
    Hosts, addresses, is_target, keys_and_routes, parts, rewrites, target_of, without_fragment,
};
use crate::policy::Site;
use rules::key;
use store::purge::{On, Pattern, What};

/// The host of a URL of which only path and query count.
const NO_HOST: &str = "localhost";

/// Returns the purges of everything whose URL begins so: `http://host/path`, or `/path` for every host. If it has a
/// query that a route keys otherwise than it is written, everything with that path and a query is purged, and what the
/// text itself is keyed as. `None` if no URL begins so.
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
    let mut found = keyed_elsewhere(site, &url, hosts, begins);
    let path = begins.to_owned();
    found.push(What::Prefix { host, path });
    Some(found)
}

/// Returns the purges of the path alone, which is how `url` is keyed where all that it has of the query is dropped.
fn keyed_elsewhere(site: &Site, url: &str, hosts: Hosts, begins: &str) -> Vec<What> {
    let mut addresses = addresses(keys_and_routes(site, url, hosts));
    addresses
        .retain(|address| target_of(address).is_some_and(|target| !target.starts_with(begins)));
    match hosts {
        _ if addresses.is_empty() => Vec::new(),
        Hosts::Its => vec![What::Url(addresses)],
        Hosts::Any => {
            let mut paths: Vec<_> = addresses.iter().filter_map(|one| target_of(one)).collect();
            paths.dedup();
            paths.into_iter().map(on_every_host).collect()
        }
    }
}

/// Returns the purge of one path on every host, and of nothing that begins with it. A path that is too long for an
/// expression hardly begins another.
fn on_every_host(path: &str) -> What {
    let exactly = format!("^{}$", regex::escape(path));
    match Pattern::default().with(On::Target, &exactly) {
        Ok(pattern) => What::Pattern(Box::new(pattern)),
        Err(_) => What::Prefix {
            host: None,
            path: path.to_owned(),
        },
    }
}
