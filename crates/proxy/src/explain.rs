//! Explain: why a URL is or is not answered from the store, without asking an origin or the shared tier.

use crate::{
    ask::{self, Key},
    cache::Cache,
    hit_for_miss::Unshared,
    outcome::Bypass,
    policy::Policy,
    routing::{self, Subject},
    walk::{bypass::rule, lookup::reuse_site, receive, user_context},
};
use http::{HeaderMap, HeaderName, Method, StatusCode};
use rules::{
    directives, freshness, key,
    reuse::{self, Failure, ValidateReason, Verdict},
    time::Time,
    vary,
};
use std::{borrow::Cow, time::Duration};
use store::{Body, Stored, Variant, Variants, purge::Standing};

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
    let subject = Subject {
        host: routing::without_port(&host),
        path: &path,
        query,
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
    let normal = query.map(key::normalize);
    let bypass = bypass(&route.policy, &path, normal.as_deref(), fields)
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
    let hit_for_miss = cache.hit_for_miss.knows(key.as_bytes(), now);
    let replaceable = selected
        .and_then(|index| stored.get(index))
        .is_none_or(|one| one.replaceable);
    Some(Explanation {
        route: route.name.clone(),
        shared: cache.shared.is_some() && bypass.is_none() && !hit_for_miss && replaceable,
        bypass,
        hit_for_miss,
        unshared: cache.hit_for_miss.why(key.as_bytes()),
        stored,
        selected,
        key: key.text(),
    })
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

/// The request that stored responses are judged for.
struct Judge<'a> {
    cache: &'a Cache,
    policy: &'a Policy,
    key: &'a Key,
    fields: &'a HeaderMap,
    now: Time,
}

impl Judge<'_> {
    /// What is stored, and which of it is selected: as lookup has it, the disk's where memory has none that matches and stands.
    async fn stored(&self) -> (Vec<StoredExplanation>, Option<usize>) {
        let here = self.cache.memory.peek(self.key.as_bytes());
        let variants = here.as_ref().map_or(&[][..], Variants::as_slice);
        let mut all: Vec<_> = variants
            .iter()
            .map(|stored| self.judge(stored, Tier::Memory))
            .collect();
        // The newest that matches; where that was invalidated, no other in memory takes its place.
        let selected = all.iter().position(|one| one.matches);
        let decides = selected.and_then(|index| all.get(index));
        if decides.is_some_and(|one| !one.invalidated) {
            return (all, selected);
        }
        if let Some(disk) = &self.cache.disk {
            let below = Variants::from_vec(disk.peek(self.key.as_bytes()).await);
            for stored in below.as_ref().map_or(&[][..], Variants::as_slice) {
                if here.as_ref().is_none_or(|here| !here.has_newer(stored)) {
                    all.push(self.judge(stored, Tier::Disk));
                }
            }
        }
        let on_disk = |one: &StoredExplanation| one.matches && one.tier == Tier::Disk;
        let below = all.iter().position(on_disk);
        (all, below.or(selected))
    }

    fn judge(&self, stored: &Stored, tier: Tier) -> StoredExplanation {
        let standing = self
            .cache
            .memory
            .log()
            .standing(self.key.as_bytes(), stored);
        let differing = stored.variant.as_deref();
        let stored = standing_as(stored, standing);
        let request = directives::request(self.fields);
        let site = reuse_site(self.policy);
        let verdict = reuse::judge(&stored.facts, &request, &site, self.now);
        let invalidated = standing == Standing::Gone;
        // Parts stand in for no whole.
        let stands_in = !invalidated && !matches!(stored.body, Body::Parts(_));
        let sent = |failure| {
            stands_in && reuse::on_failure(&stored.facts, &request, &site, failure, self.now)
        };
        let window = |failure| reuse::window_on_failure(&stored.facts, &request, &site, failure);
        StoredExplanation {
            tier,
            status: stored.status,
            matches: stored.matches(self.fields, &mut Vec::new()),
            nominated: nominated(&stored),
            differing: differing
                .map(|variant| self::differing(variant, self.fields))
                .unwrap_or_default(),
            verdict,
            age: stored.facts.age(self.now),
            lifetime: Duration::from_millis(stored.facts.lifetime_ms),
            source: stored.facts.source,
            length: stored.body.length(),
            form: form(&stored.body),
            invalidated,
            on_failure: OnFailure {
                error: sent(Failure::Status),
                unreachable: sent(Failure::Unreachable),
                error_window: window(Failure::Status),
                unreachable_window: window(Failure::Unreachable),
            },
            while_revalidate: while_revalidate(&stored),
            replaceable: invalidated
                || standing == Standing::Unsure
                || !(wants_the_origin(verdict) || stored.facts.is_always_validated()),
        }
    }
}

/// The window in seconds; 0 where there is none, or one that is shut.
fn while_revalidate(stored: &Stored) -> u32 {
    let facts = &stored.facts;
    let window = facts
        .stale_while_revalidate
        .filter(|_| !(facts.no_cache || facts.must_revalidate));
    window.unwrap_or(0)
}

/// Whether the client takes nothing but what the origin says now.
const fn wants_the_origin(verdict: Verdict) -> bool {
    let Verdict::Validate(reason) = verdict else {
        return false;
    };
    matches!(
        reason,
        ValidateReason::RequestNoCache | ValidateReason::RequestAge
    )
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
