//! Invalidate: what a successful unsafe request makes invalid (RFC 9111 section 4.4, RFC 9875 section 3).

use crate::{
    ask::{self, Ask},
    cache::Worker,
    outcome::bump,
    routing::{self, Subject},
    walk::admit::{group_mark, is_group_mark, uri_mark},
};
use http::{HeaderMap, Method, StatusCode};
use rules::{invalidate, surrogate};

/// Invalidates what this exchange says: the target, `Location` and `Content-Location` of the same origin, cache groups.
pub fn invalidate(worker: &Worker, ask: &Ask, status: StatusCode, response: &HeaderMap) {
    if !invalidate::invalidates(&ask.method, status) {
        return;
    }
    let target = ask.uri();
    forget(worker, ask, &target);
    for other in invalidate::others(response, &target) {
        forget(worker, ask, &other);
    }
    for group in surrogate::invalidated_groups(response) {
        worker
            .cache
            .memory
            .invalidations()
            .append(&group_mark(ask.scheme, ask.host(), &group));
    }
    bump(&worker.counters.invalidations);
}

/// Forgets every stored response of `uri`, whatever its key holds besides.
fn forget(worker: &Worker, ask: &Ask, uri: &str) {
    for route in routes_of(ask, uri) {
        let policy = &ask.site.routes[route].policy;
        if let Some(key) = ask::key_of(uri, policy) {
            forget_groups(worker, key.as_bytes());
            worker.cache.flights.forget(key.as_bytes());
            worker.cache.memory.invalidate(key.as_bytes());
        }
        if ask.site.routes[route].key_has_extras() {
            worker.cache.memory.invalidations().append(&uri_mark(uri));
        }
    }
}

/// What is stored under `key` takes its cache groups with it (RFC 9875 section 2.2.1).
fn forget_groups(worker: &Worker, key: &[u8]) {
    let Some(variants) = worker.cache.memory.peek(key) else {
        return;
    };
    let marks = variants
        .as_slice()
        .iter()
        .filter_map(|stored| stored.marks.as_ref());
    for name in marks
        .flat_map(|marks| marks.names())
        .filter(|name| is_group_mark(name))
    {
        worker.cache.memory.invalidations().append(name);
    }
}

/// The routes a GET for `uri` could take. Conditions on fields and clients may hold for some requests and not for others,
/// so every route counts whose host and path match.
fn routes_of(ask: &Ask, uri: &str) -> Vec<usize> {
    let Some((_, rest)) = uri.split_once("://") else {
        return Vec::new();
    };
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, target) = rest.split_at(at);
    let (path, query) = target
        .split_once('?')
        .map_or((target, None), |(path, query)| (path, Some(query)));
    let host = routing::without_port(host);
    let fields = HeaderMap::new();
    let subject = Subject {
        host,
        path: if path.is_empty() { "/" } else { path },
        query,
        method: &Method::GET,
        fields: &fields,
        client: None,
    };
    let places = ask.site.routes.iter().enumerate();
    places
        .filter(|(_, route)| routing::could_match(&route.matcher, &subject))
        .map(|(index, _)| index)
        .collect()
}
