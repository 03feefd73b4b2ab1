//! The request that is explained, read by the walk like a client's.

use super::{Explanation, judge::Judge};
use crate::{
    ask::{self, Ask, Receipt},
    cache::{Cache, WorkerSite},
    collapse, content_key,
    listen::{Connection, InterimSink, Limits, RequestHead, parse_request, refusal},
    outcome::BypassReason,
    policy::{PurgePolicy, Site},
    purge_clients::{self, ByPath},
    routing::{self, Subject},
    said::FieldPresence,
    user_group,
    walk::{
        lookup::{self, Bypassed, bypassed},
        purge, receive,
    },
    way,
};
use http::{HeaderMap, HeaderValue, Method, Request, header};
use rules::key;
use std::{borrow::Cow, net::SocketAddr, rc::Rc, sync::Arc};
use store::{Stored, Variants};

/// A request, and why it bypasses the store, if it does.
pub(super) struct ExplainedRequest {
    ask: Box<Ask>,
    by_path: Option<ByPath>,
    bypass: Option<BypassReason>,
    refused: Option<&'static str>,
}

impl ExplainedRequest {
    /// Reads a GET for `uri` with `fields`, as it would be received within the `limits`. Its client is the one that a
    /// trusted proxy names in `fields`.
    pub(super) fn read(
        site: &Arc<Site>,
        uri: &str,
        fields: &HeaderMap,
        limits: &Limits,
    ) -> Option<Self> {
        let site: WorkerSite = Rc::new(Arc::clone(site).into());
        let (mut head, tls) = head(uri)?;
        for name in fields.keys() {
            head.fields.remove(name);
        }
        head.fields.extend(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        let refused = refused(&head, limits);
        let protocols = ask::protocol(&head.fields).cloned();
        let peer = refresher(&site.purge, &head);
        let connection = Rc::new(Connection::imagined(peer, tls));
        head.said = FieldPresence::by(&head.fields);
        let by_path = purge_clients::by_path(&site.purge, purge::spoken(&head, &connection));
        // All else that a GET can want of the cache is a fresh answer, which the head says from here on.
        purge::wanted(&site, &mut head, &connection);
        let mut receipt = Receipt::new(&connection, InterimSink::deaf());
        receipt.has_content = has_content(&head.fields);
        let mut ask = receive::receive(site, &mut head, receipt).ok()?;
        content_key::read_get(&mut ask);
        let origin = &ask.policy().origin;
        let switches = protocols.is_some_and(|protocols| origin.heeds_upgrade(&protocols));
        let bypass = bypass(&ask, switches);
        if bypass.is_none() {
            lookup::keep_cookies_from_store(&mut ask);
        }
        Some(Self {
            ask,
            by_path,
            bypass,
            refused,
        })
    }

    /// Returns the key to look for on disk, if memory has nothing for this request.
    pub(super) fn wanted_below(&self, cache: &Cache) -> Option<Vec<u8>> {
        let judge = self.judge(cache);
        (!judge.decides_here()).then(|| self.ask.key.as_bytes().to_vec())
    }

    fn judge<'a>(&'a self, cache: &'a Cache) -> Judge<'a> {
        Judge {
            cache,
            ask: &self.ask,
            bypassed: self.bypass.is_some(),
        }
    }

    /// Returns what would happen to it; `below` is what the disk has.
    pub(super) fn explained(&self, cache: &Cache, below: Vec<Arc<Stored>>) -> Explanation {
        let ask = &self.ask;
        let (stored, selected) = self.judge(cache).stored(below);
        let page = page_of(cache, ask.key.as_bytes(), &ask.fields);
        let hit_for_miss = cache.hit_for_miss.knows(&page, ask.credentials(), ask.now);
        let replaceable = selected
            .and_then(|index| stored.get(index))
            .is_none_or(|one| one.replaceable);
        let terms = lookup::terms(ask);
        let bypass = self.bypass.map(BypassReason::token);
        Explanation {
            route: ask.route().name.clone(),
            key: ask.key.text(),
            by_path: self.by_path,
            passed_over: passed_over(ask),
            refused: self.refused,
            denied: ask.policy().refuses,
            claims_group: claims_group(ask),
            redirected: receive::is_redirected(ask),
            shared: cache.shared.is_some() && bypass.is_none() && !hit_for_miss && replaceable,
            bypass,
            origin_down: is_down(ask),
            failures: ask.policy().stale.own_statuses().map(<[_]>::to_vec),
            may_be_forced: may_be_forced(ask),
            late_bypass: way::late_bypass(terms),
            only_stored: terms.only_if_cached,
            hit_for_miss,
            unshared: cache.hit_for_miss.why(&page),
            stored,
            selected,
        }
    }
}

/// Returns the head that a client sends for `uri`, without its own fields, and whether it uses TLS; `None` if no client
/// can.
fn head(uri: &str) -> Option<(RequestHead, bool)> {
    let (scheme, rest) = uri.split_once("://")?;
    let tls = scheme.eq_ignore_ascii_case("https");
    if !tls && !scheme.eq_ignore_ascii_case("http") {
        return None;
    }
    let (host, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let host = key::normalize_host(host, scheme)?;
    if target
        .bytes()
        .any(|byte| byte == b' ' || byte.is_ascii_control())
    {
        return None;
    }
    let slash = if target.starts_with('/') { "" } else { "/" };
    let head = format!("GET {slash}{target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let any = Limits {
        header_size: usize::MAX,
        target: usize::MAX,
        ..Limits::default()
    };
    let (head, _) = parse_request(head.as_bytes(), &any)?;
    Some((head, tls))
}

/// Returns why a listener refuses this head.
fn refused(head: &RequestHead, limits: &Limits) -> Option<&'static str> {
    let mut request = Request::new(());
    *request.version_mut() = head.version;
    *request.uri_mut() = head.target.clone().into_uri();
    request.headers_mut().clone_from(&head.fields);
    let lines = head.fields.iter();
    let section: usize = lines
        .map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len())
        .sum();
    let line = "GET  HTTP/1.1\r\n\r\n".len()
        + request
            .uri()
            .path_and_query()
            .map_or(0, |target| target.as_str().len());
    refusal(&request, line + section, limits)
}

/// Whether these fields say that content follows (RFC 9112 section 6.3).
fn has_content(fields: &HeaderMap) -> bool {
    let length = fields.get(header::CONTENT_LENGTH);
    let is_empty = |length: &HeaderValue| {
        length
            .as_bytes()
            .trim_ascii()
            .iter()
            .all(|byte| *byte == b'0')
    };
    fields.contains_key(header::TRANSFER_ENCODING) || length.is_some_and(|length| !is_empty(length))
}

/// Returns an address that may refresh pages, if the request asks for a refresh: it is assumed to come from such a
/// client.
fn refresher(purge: &PurgePolicy, head: &RequestHead) -> Option<SocketAddr> {
    let (target, fields) = (&head.target, &head.fields);
    let refreshes = fields.contains_key(&crate::purge_clients::X_REFRESH);
    let net = purge.allow.first().filter(|_| refreshes)?;
    (!PurgePolicy::is_for_another(target, fields)).then(|| SocketAddr::new(net.addr(), 0))
}

/// Returns why it bypasses the store. `switches` means that it asks for another protocol.
fn bypass(ask: &Ask, switches: bool) -> Option<BypassReason> {
    let why = bypassed::bypassed(ask).map(Bypassed::reason);
    if switches && why != Some(BypassReason::Route) {
        return Some(BypassReason::Upgrade);
    }
    // Only the application knows the group, and is not asked here.
    let by_group = ask.policy().user_context.is_some()
        && user_group::is_somebody(&ask.fields)
        && !ask.fields.contains_key(user_group::HASH);
    why.or_else(|| by_group.then_some(BypassReason::Group))
}

/// Whether a client that sends these fields is refused. On routes with groups, the field that stands here for what the
/// application would tell is ignored.
fn claims_group(ask: &Ask) -> bool {
    let mut fields = ask.fields.clone();
    if ask.policy().user_context.is_some() {
        fields.remove(&user_group::HASH);
    }
    ask.site.has_groups && user_group::is_forged(&fields)
}

/// Whether active checks consider every server of its origin down.
fn is_down(ask: &Ask) -> bool {
    let servers = ask.policy().origin.report().servers;
    !servers.is_empty() && servers.iter().all(|server| server.down)
}

/// Whether its `no-cache`, which is not obeyed, would be obeyed from a client that may purge.
fn may_be_forced(ask: &Ask) -> bool {
    let is_heeded = lookup::reuse_site_for(ask).client_may_force;
    let is_anybody = !PurgePolicy::is_for_another(&ask.target, &ask.fields);
    ask.directives.no_cache && !is_heeded && is_anybody && !ask.site.purge.allow.is_empty()
}

/// Returns the first route before its own that it would take if its client were known and matched.
fn passed_over(ask: &Ask) -> Option<String> {
    let client = ask.client();
    if client.address(&ask.fields).is_some() {
        return None;
    }
    let query = ask.target.normal_query();
    let subject = Subject {
        host: routing::without_port(ask.host()),
        path: ask.key.path(),
        query: query.as_deref(),
        method: &Method::GET,
        fields: &ask.fields,
        client,
    };
    let mut before = ask.site.routes.iter().take(ask.route);
    let route = before.find(|route| route.matcher.matches_but_client(&subject))?;
    Some(route.name.clone())
}

/// Returns the key under which hit-for-miss remembers such a request.
fn page_of<'a>(cache: &Cache, key: &'a [u8], fields: &HeaderMap) -> Cow<'a, [u8]> {
    let held = cache.memory.peek(key);
    let held = held.iter().flat_map(Variants::as_slice);
    collapse::key_of(key, fields, held)
}
