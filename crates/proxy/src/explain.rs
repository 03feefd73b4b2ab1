//! Explain: why a URL is or is not answered from the store, without asking an origin or the shared tier. What is stored is judged in
//! `judge`.

mod judge;

use crate::{
    ask,
    cache::Cache,
    hit_for_miss::Unshared,
    outcome::Bypass,
    policy::Policy,
    routing::{self, Subject},
    walk::{bypass::rule, forward::page_key_of, receive, user_context},
};
use http::{HeaderMap, Method, StatusCode};
use judge::Judge;
use rules::{freshness, key, reuse::Verdict};
use std::{borrow::Cow, time::Duration};
use store::Variants;

/// What would happen to a GET for a URL now.
#[derive(Debug)]
pub struct Explanation {
    /// The name of the route taken.
    pub route: String,
    /// The cache key as text ([`Key::text`](ask::Key::text)).
    pub key: String,
    /// Why the route passes the store by, if it does.
    pub bypass: Option<&'static str>,
    /// Whether answers for this key were lately not reusable.
    pub hit_for_miss: bool,
    /// Why the last answer for this key was of no use to others, as far as that is remembered.
    pub unshared: Option<Unshared>,
    /// What is stored under the key: newest first, memory before disk. What lies on disk is there where memory does not decide.
    pub stored: Vec<StoredExplanation>,
    /// Which of `stored` the request selects.
    pub selected: Option<usize>,
    /// Whether there is a shared tier that would be asked before the origin. It was not asked for this.
    pub shared: bool,
}

/// Where a stored response lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// In memory; its body may lie on disk.
    Memory,
    /// On disk alone.
    Disk,
}

/// One stored response, judged.
#[derive(Debug)]
pub struct StoredExplanation {
    /// Where it lies.
    pub tier: Tier,
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
    /// How much of the body is held, and where: `whole`, `disk` (whole, in a file of its own or in its segment), `parts` or
    /// `filling`.
    pub form: &'static str,
    /// Whether it was invalidated by name.
    pub invalidated: bool,
    /// What the origin's failing would make of it.
    pub on_failure: OnFailure,
    /// Seconds past its lifetime in which it is sent while a fresh one is fetched behind it (RFC 5861 section 3).
    pub while_revalidate: u32,
    /// Whether another's copy would do where this one may not be sent, and not just the origin's word.
    pub replaceable: bool,
}

/// What is done with a stored response where the origin, once asked, fails (RFC 5861 section 4, RFC 9111 section 4.2.4).
#[derive(Clone, Copy, Debug)]
pub struct OnFailure {
    /// Whether it would be sent now, were it chosen, if the origin answered with an error.
    pub error: bool,
    /// The same, if the origin could not be reached.
    pub unreachable: bool,
    /// For how many seconds past its lifetime it is sent if the origin answers with an error.
    pub error_window: u32,
    /// The same, if the origin cannot be reached.
    pub unreachable_window: u32,
}

/// Explains a GET for `uri` (absolute) with `fields`. `None` if the URI is not one we could be asked for. Waits for the disk
/// where that may decide.
pub async fn explain(cache: &Cache, uri: &str, fields: &HeaderMap) -> Option<Explanation> {
    let site = cache.site.load_full();
    let (scheme, rest) = uri.split_once("://")?;
    let (host, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let host = key::normalize_host(host, scheme)?;
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let path = match path {
        "" => Cow::Borrowed("/"),
        path => key::normalize(path),
    };
    let query = query.map(key::normalize);
    let subject = Subject {
        host: routing::without_port(&host),
        path: &path,
        query: query.as_deref(),
        method: &Method::GET,
        fields,
        client: routing::Client::default(),
    };
    let chosen = routing::choose(&site.routes, &subject);
    let is_ambiguous = routing::is_ambiguous(&site.routes, &subject, chosen);
    let route = site.routes.get(chosen)?;
    let mut key = ask::key_of(uri, &route.policy)?;
    key.extend(route, fields);
    let now = receive::now();
    let bypass = bypass(&route.policy, &path, query.as_deref(), fields)
        .or_else(|| is_ambiguous.then_some(Bypass::Path))
        .map(Bypass::token);
    let mut fields = fields.clone();
    if route.policy.key.drop_cookies || rule::stores_nothing(&route.policy.bypass, &fields) {
        ask::set_cookies_aside(&mut fields, &route.policy.key);
    }
    let judge = Judge {
        cache,
        policy: &route.policy,
        key: &key,
        fields: &fields,
        now,
    };
    let (stored, selected) = judge.stored().await;
    let page = page_of(cache, key.as_bytes(), &fields);
    let hit_for_miss = cache.hit_for_miss.knows(&page, now);
    let replaceable = selected
        .and_then(|index| stored.get(index))
        .is_none_or(|one| one.replaceable);
    Some(Explanation {
        route: route.name.clone(),
        shared: cache.shared.is_some() && bypass.is_none() && !hit_for_miss && replaceable,
        bypass,
        hit_for_miss,
        unshared: cache.hit_for_miss.why(&page),
        stored,
        selected,
        key: key.text(),
    })
}

/// What is remembered of such a request is remembered under this key.
fn page_of<'a>(cache: &Cache, key: &'a [u8], fields: &HeaderMap) -> Cow<'a, [u8]> {
    let held = cache.memory.peek(key);
    let held = held.iter().flat_map(Variants::as_slice);
    page_key_of(key, fields, held)
}

fn bypass(policy: &Policy, path: &str, query: Option<&str>, fields: &HeaderMap) -> Option<Bypass> {
    if !policy.cache {
        return Some(Bypass::Route);
    }
    let by_rule = rule::site_bypass(&policy.bypass, &Method::GET, path, query, fields);
    // The application alone knows it, and is not asked here.
    let by_group = policy.user_context.is_some()
        && user_context::is_somebody(fields)
        && !fields.contains_key(user_context::HASH);
    by_rule.or_else(|| by_group.then_some(Bypass::Group))
}
