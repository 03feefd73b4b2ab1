//! Explain: why a URL is or is not answered from the store, without asking an origin.

use crate::{
    ask::{self, Key},
    cache::Cache,
    policy::Policy,
    routing::{self, Subject},
    walk::{
        lookup::{self, reuse_site},
        receive,
    },
};
use http::{HeaderMap, HeaderName, Method, StatusCode};
use rules::{
    directives, freshness, key,
    reuse::{self, Verdict},
    time::Time,
    vary,
};
use std::{borrow::Cow, time::Duration};
use store::{Body, Stored, Variant, purge::Standing};

/// What would happen to a GET for a URL now.
#[derive(Debug)]
pub struct Explanation {
    /// The name of the route taken.
    pub route: String,
    /// The cache key as text ([`Key::text`]).
    pub key: String,
    /// Why the route passes the store by, if it does.
    pub bypass: Option<&'static str>,
    /// Whether answers for this key were lately not reusable.
    pub hit_for_miss: bool,
    /// What is stored under the key, newest first.
    pub stored: Vec<StoredExplanation>,
}

/// One stored response, judged.
#[derive(Debug)]
pub struct StoredExplanation {
    /// The status it answers with.
    pub status: StatusCode,
    /// Whether its nominated fields match the request.
    pub matches: bool,
    /// The fields its `Vary` nominates.
    pub nominated: Vec<String>,
    /// Those of them in which the request differs.
    pub differing: Vec<String>,
    /// Whether it would be sent now (RFC 9111 section 4), were it chosen.
    pub verdict: Verdict,
    /// Its age now (RFC 9111 section 4.2.3).
    pub age: Duration,
    /// How long it is fresh from its birth on (RFC 9111 section 4.2.1).
    pub lifetime: Duration,
    /// Who set the lifetime.
    pub source: freshness::Source,
    /// Bytes; `None` while the body is on its way and its length unknown.
    pub length: Option<u64>,
    /// How much of the body is held, and where: `whole` in memory, `disk` (whole, beside a head in memory), `parts` or `filling`.
    pub form: &'static str,
    /// Whether it was invalidated by name.
    pub invalidated: bool,
}

/// Explains a GET for `uri` (absolute) with `fields`. `None` if the URI is not one we could be asked for.
pub fn explain(cache: &Cache, uri: &str, fields: &HeaderMap) -> Option<Explanation> {
    let site = cache.site.load();
    let (scheme, rest) = uri.split_once("://")?;
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let host = key::normalize_host(&rest[..at], scheme)?;
    let (path, query) = match rest[at..].split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (&rest[at..], None),
    };
    let path = if path.is_empty() { "/" } else { path };
    let subject = Subject {
        host: routing::without_port(&host),
        path,
        query,
        method: &Method::GET,
        fields,
        client: None,
    };
    let route = site.routes.get(routing::choose(&site.routes, &subject))?;
    let mut key = ask::key_of(uri, &route.policy)?;
    key.extend(route, fields);
    let now = receive::now();
    let normal = query.map(key::normalize);
    let bypass = bypass(&route.policy, path, normal.as_deref(), fields);
    let mut fields = fields.clone();
    if route.policy.key.drop_cookies || lookup::stores_nothing(&route.policy.bypass, &fields) {
        ask::set_cookies_aside(&mut fields, &route.policy.key);
    }
    Some(Explanation {
        route: route.name.clone(),
        bypass,
        hit_for_miss: cache.hit_for_miss.knows(key.as_bytes(), now),
        stored: stored(cache, &route.policy, &key, &fields, now),
        key: key.text(),
    })
}

fn bypass(
    policy: &Policy,
    path: &str,
    query: Option<&str>,
    fields: &HeaderMap,
) -> Option<&'static str> {
    if !policy.cache {
        return Some(crate::outcome::Bypass::Route.token());
    }
    lookup::site_bypass(&policy.bypass, &Method::GET, path, query, fields)
        .map(crate::outcome::Bypass::token)
}

fn stored(
    cache: &Cache,
    policy: &Policy,
    key: &Key,
    fields: &HeaderMap,
    now: Time,
) -> Vec<StoredExplanation> {
    let Some(variants) = cache.memory.peek(key.as_bytes()) else {
        return Vec::new();
    };
    let request = directives::request(fields);
    let site = reuse_site(policy);
    let mut scratch = Vec::new();
    let all = variants.as_slice().iter();
    all.map(|stored| {
        let matches = stored.matches(fields, &mut scratch);
        let differing = stored.variant.as_deref();
        let standing = cache.memory.log().standing(key.as_bytes(), stored);
        let stored = standing_as(stored, standing);
        StoredExplanation {
            status: stored.status,
            matches,
            nominated: nominated(&stored),
            differing: differing
                .map(|variant| self::differing(variant, fields))
                .unwrap_or_default(),
            verdict: reuse::judge(&stored.facts, &request, &site, now),
            age: stored.facts.age(now),
            lifetime: Duration::from_millis(stored.facts.lifetime_ms),
            source: stored.facts.source,
            length: stored.body.length(),
            form: form(&stored.body),
            invalidated: standing == Standing::Gone,
        }
    })
    .collect()
}

/// What purges have left of a stored response, as lookup takes it.
fn standing_as(stored: &Stored, standing: Standing) -> Cow<'_, Stored> {
    match standing {
        Standing::Stale { since, checked } => Cow::Owned(stored.stale_since(since, checked)),
        Standing::Unsure => Cow::Owned(stored.to_be_validated()),
        Standing::Good | Standing::Gone => Cow::Borrowed(stored),
    }
}

fn nominated(stored: &Stored) -> Vec<String> {
    let variant = stored.variant.iter();
    variant
        .flat_map(|variant| variant.nominated.iter().map(ToString::to_string))
        .collect()
}

const fn form(body: &Body) -> &'static str {
    match body {
        Body::Whole(_) | Body::Chunks(_) => "whole",
        Body::Disk(_) => "disk",
        Body::Parts(_) => "parts",
        Body::Filling(_) => "filling",
    }
}

/// The nominated fields whose value in the request that was answered is another one: [`vary::variant_key`] writes one line
/// for each.
fn differing(variant: &Variant, fields: &HeaderMap) -> Vec<String> {
    let lines = variant.key.split_inclusive(|byte| *byte == b'\n');
    let differs = |(name, line): &(&HeaderName, &[u8])| {
        let mut own = Vec::new();
        vary::variant_key(std::slice::from_ref(*name), fields, &mut own);
        own != *line
    };
    variant
        .nominated
        .iter()
        .zip(lines)
        .filter(differs)
        .map(|(name, _)| name.to_string())
        .collect()
}
