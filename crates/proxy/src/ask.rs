//! What a request asks for, once it has been received: normalised, routed, keyed.

use crate::{
    cache::OwnSite,
    content_key::{Content, json, operation},
    listen::{Connection, InterimSink},
    policy::{KeySpec, Policy, Route},
    purge_clients::X_REFRESH,
    routing,
    walk::esi::Within,
};
use http::{HeaderMap, HeaderValue, Method, Uri, Version, header, uri::PathAndQuery};
use hyper::upgrade::OnUpgrade;
use rules::{
    directives::RequestDirectives,
    key::{self, QueryChoice},
    time::Time,
};
use std::{borrow::Cow, cell::Cell, fmt::Write, mem, rc::Rc, sync::Arc, time::Instant};

/// A request that may be answered from the store. Everything but its content.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent of one another: each is known of a request or not"
)]
pub struct Ask {
    pub site: OwnSite,
    /// Index of the route taken.
    pub route: usize,
    /// Whether the origin may take the path for one of another route ([`routing::is_ambiguous`]). Then the store is passed by: what is
    /// kept from everybody there must not be kept for everybody here.
    pub is_ambiguous: bool,
    pub method: Method,
    pub version: Version,
    /// The client's fields as they came, but for cookies that are kept from what may be stored ([`set_cookies_aside`]).
    pub fields: HeaderMap,
    /// `Cookie` as it came, where it was set aside. The includes of a page get it.
    pub cookies: Vec<HeaderValue>,
    /// Whether what was set aside goes to the origin if nothing is stored.
    pub stores_nothing: bool,
    /// What it brings that is part of the key.
    pub content: Content,
    pub directives: RequestDirectives,
    pub said: Said,
    pub key: Key,
    /// `http` or `https`, as the client sees it.
    pub scheme: &'static str,
    pub now: Time,
    /// When it came, where the access log wants to know how long it took.
    pub began: Option<Instant>,
    pub connection: Rc<Connection>,
    pub interim: InterimSink,
    /// The client's wish to switch protocols.
    pub upgrade: Option<Box<Upgrade>>,
    /// Whether it brings content.
    pub has_content: bool,
    /// Whether fields that `Connection` had taken away say that its peer makes it for somebody else.
    pub for_another: bool,
    /// The target as the client wrote it.
    pub uri: Uri,
    /// The pages whose include it is, where it is one.
    pub within: Option<Rc<Within>>,
    /// Whether its answer is composed of fragments.
    pub composed: Cell<bool>,
}

/// What a request speaks of: found in one look at the names of its fields, so that those that do not speak of it are not searched
/// again and again.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent of one another: what a request speaks of and what not"
)]
pub struct Said {
    /// `Connection`.
    pub connection: bool,
    /// `Cache-Control` or `Pragma`.
    pub directives: bool,
    /// A condition or a range (RFC 9110 sections 13.1 and 14.2).
    pub conditions: bool,
    /// `Accept-Encoding`.
    pub codings: bool,
    /// `X-Refresh`.
    pub refresh: bool,
}

impl Said {
    /// What a request with these fields says.
    pub fn by(fields: &HeaderMap) -> Self {
        let mut said = Self::default();
        for name in fields.keys() {
            match *name {
                header::CONNECTION => said.connection = true,
                header::CACHE_CONTROL | header::PRAGMA => said.directives = true,
                header::ACCEPT_ENCODING => said.codings = true,
                header::IF_MATCH
                | header::IF_NONE_MATCH
                | header::IF_MODIFIED_SINCE
                | header::IF_UNMODIFIED_SINCE
                | header::IF_RANGE
                | header::RANGE => said.conditions = true,
                _ => said.refresh |= *name == X_REFRESH,
            }
        }
        said
    }
}

/// A client's wish to switch protocols.
#[derive(Debug)]
pub struct Upgrade {
    /// Its connection, once we have answered 101.
    pub client: OnUpgrade,
    /// What it wants to speak.
    pub protocol: HeaderValue,
}

/// A cache key: `scheme://host/path?query`, then what the site adds. The part that goes to the origin is a slice of it,
/// so that what is keyed and what is sent cannot differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Key {
    bytes: Vec<u8>,
    /// Where the host begins, the path begins, and path and query end.
    host: usize,
    path: usize,
    end: usize,
    /// The host, where it is no part of the key.
    host_apart: Option<Box<str>>,
}

impl Key {
    /// Builds a key. `path` and `query` are normalised; `query` is chosen already.
    pub fn build(
        spec: &KeySpec,
        scheme: &str,
        host: &str,
        path: &str,
        query: Option<&str>,
    ) -> Self {
        let mut bytes = Vec::with_capacity(
            scheme.len() + host.len() + path.len() + query.map_or(0, str::len) + 8,
        );
        if spec.scheme {
            bytes.extend_from_slice(scheme.as_bytes());
            bytes.push(b':');
        }
        bytes.extend_from_slice(b"//");
        let host_at = bytes.len();
        if spec.host {
            bytes.extend_from_slice(host.as_bytes());
        }
        let start = bytes.len();
        bytes.extend_from_slice(path.as_bytes());
        if let Some(query) = query {
            bytes.push(b'?');
            bytes.extend_from_slice(query.as_bytes());
        }
        let end = bytes.len();
        Self {
            bytes,
            host: host_at,
            path: start,
            end,
            host_apart: (!spec.host).then(|| host.into()),
        }
    }

    /// Adds the route, where others may hold for what is keyed of the URI, and the fields and cookies that the site keys on. Absent, empty and present differ; lengths are part of the
    /// bytes, so that no value can pass for two.
    pub fn extend(&mut self, route: &Route, fields: &HeaderMap) {
        self.on(route);
        let spec = &route.policy.key;
        for name in &spec.headers {
            self.part(
                b'h',
                name.as_str(),
                fields.get_all(name).iter().map(HeaderValue::as_bytes),
            );
        }
        for name in &spec.cookies {
            let lines = fields.get_all(header::COOKIE).iter();
            let values = lines
                .flat_map(|line| routing::cookies(line.as_bytes()))
                .filter(|(found, _)| *found == name.as_bytes());
            self.part(b'c', name, values.map(|(_, value)| value));
        }
    }

    /// Adds the route alone.
    pub fn on(&mut self, route: &Route) {
        if route.matcher.looks_beyond(&route.policy.key) {
            // Other requests that would have the same key take other routes, with origins of their own.
            self.part(b'r', &route.name, std::iter::empty());
        }
    }

    /// Adds what a request's content means, in `values`.
    pub fn content(&mut self, method: &str, values: &[&str]) {
        self.part(b'q', method, values.iter().map(|value| value.as_bytes()));
    }

    /// Adds who asks, as a digest: what answers this key is for nobody else.
    pub fn asker(&mut self, digest: &str) {
        self.part(b'u', "", std::iter::once(digest.as_bytes()));
    }

    fn part<'a>(&mut self, kind: u8, name: &str, values: impl Iterator<Item = &'a [u8]>) {
        self.bytes.extend_from_slice(&[b'\n', kind, b':']);
        self.bytes.extend_from_slice(name.as_bytes());
        for value in values {
            self.bytes
                .extend_from_slice(format!("={}:", value.len()).as_bytes());
            self.bytes.extend_from_slice(value);
        }
    }

    /// The whole key.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The key as text for people; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// The normalised authority of the request, with port where it is not the scheme's own.
    pub fn host(&self) -> &str {
        let keyed = self.bytes.get(self.host..self.path).unwrap_or_default();
        let keyed = || std::str::from_utf8(keyed).unwrap_or_default();
        self.host_apart.as_deref().unwrap_or_else(keyed)
    }

    /// The path alone.
    pub fn path(&self) -> &str {
        let target = self.path_and_query();
        target.split_once('?').map_or(target, |(path, _)| path)
    }

    /// Path and query as they are sent to the origin. They were a string before they were keyed.
    pub fn path_and_query(&self) -> &str {
        std::str::from_utf8(self.bytes.get(self.path..self.end).unwrap_or_default()).unwrap_or("/")
    }
}

impl Ask {
    /// The policy of the route taken.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.route().policy
    }

    /// The route taken.
    #[allow(
        clippy::indexing_slicing,
        reason = "the number comes from routing within this site, which never changes"
    )]
    pub fn route(&self) -> &Route {
        &self.site.routes[self.route]
    }

    /// The authority the request is for.
    pub fn host(&self) -> &str {
        self.key.host()
    }

    /// The target URI (RFC 9110 section 7.1).
    pub fn uri(&self) -> String {
        [self.scheme, "://", self.host(), self.key.path_and_query()].concat()
    }

    /// Path and query as the client wrote them, whatever of them is keyed.
    pub fn target(&self) -> Cow<'_, str> {
        match self.uri.path_and_query().map(PathAndQuery::as_str) {
            None => "/".into(),
            // An absolute target whose path is empty (RFC 9112 section 3.2.1).
            Some(query) if query.starts_with('?') => ["/", query].concat().into(),
            Some(target) => target.into(),
        }
    }

    /// Has `fields` say again what was set aside of them.
    pub fn take_cookies_back(&mut self) {
        if self.cookies.is_empty() {
            return;
        }
        self.fields.remove(header::COOKIE);
        for line in mem::take(&mut self.cookies) {
            self.fields.append(header::COOKIE, line);
        }
    }

    /// Takes the client's fields out: all of them, and with the values they came with.
    pub fn fields_as_they_came(&mut self) -> HeaderMap {
        self.take_cookies_back();
        mem::take(&mut self.fields)
    }

    /// The `Range` field of a `GET`: with no other method it means anything (RFC 9110 section 14.2). Several lines of it are none
    /// (section 5.3: it is no list).
    pub fn range(&self) -> Option<&HeaderValue> {
        if !self.said.conditions || self.method != Method::GET {
            return None;
        }
        let mut lines = self.fields.get_all(header::RANGE).iter();
        let first = lines.next()?;
        lines.next().is_none().then_some(first)
    }
}

/// Takes the cookies out of a request, all but those that are part of the key: nothing that is fetched for the store, and no
/// variant, depends on them. Returns the lines as they came.
pub fn set_cookies_aside(fields: &mut HeaderMap, spec: &KeySpec) -> Vec<HeaderValue> {
    let header::Entry::Occupied(entry) = fields.entry(header::COOKIE) else {
        return Vec::new();
    };
    let (_, lines) = entry.remove_entry_mult();
    let lines: Vec<HeaderValue> = lines.collect();
    if spec.cookies.is_empty() {
        return lines;
    }
    let kept: Vec<Vec<u8>> = lines
        .iter()
        .flat_map(|line| routing::cookies(line.as_bytes()))
        .filter(|(name, _)| spec.cookies.iter().any(|keyed| keyed.as_bytes() == *name))
        .map(|(name, value)| [name, b"=", value].concat())
        .collect();
    if !kept.is_empty()
        && let Ok(line) = HeaderValue::from_bytes(&kept.join(b"; ".as_slice()))
    {
        fields.insert(header::COOKIE, line);
    }
    lines
}

/// The key of another URI of this site, as `policy` builds it, without the parts that depend on request fields.
/// `None` if it is no URI of ours.
pub fn key_of(uri: &str, policy: &Policy) -> Option<Key> {
    let (scheme, rest) = uri.split_once("://")?;
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(at);
    let host = key::normalize_host(authority, scheme)?;
    let (path, query) = target
        .split_once('?')
        .map_or((target, None), |(path, query)| (path, Some(query)));
    let path = if path.is_empty() {
        "/".into()
    } else {
        key::normalize(path)
    };
    let query = chosen(policy, query.map(key::normalize));
    Some(Key::build(
        &policy.key,
        scheme,
        &host,
        &path,
        query.as_deref(),
    ))
}

/// The query as it is keyed and sent, of a normalised one: tracking parameters dropped, chosen, sorted.
pub fn chosen<'a>(policy: &Policy, normal: Option<Cow<'a, str>>) -> Option<Cow<'a, str>> {
    let spec = &policy.key;
    let mut normal = normal?;
    if policy.graphql.is_some()
        && let Some(canonical) = canonical_json(&normal)
    {
        normal = Cow::Owned(canonical);
    }
    if spec.drop == QueryChoice::All && spec.query == QueryChoice::All && !spec.sort {
        return Some(normal);
    }
    let kept = key::choose_query(Some(&normal), &spec.drop, false)?;
    let kept = key::choose_query(Some(&kept), &spec.query, spec.sort)?;
    Some(Cow::Owned(kept.into_owned()))
}

/// The query with the JSON in `variables` and `extensions` in its canonical form, where it has one: of a persisted GraphQL query
/// each client writes it in another order. `None` where there is nothing to do.
fn canonical_json(query: &str) -> Option<String> {
    let mut changed = false;
    let pairs: Vec<Cow<'_, str>> = query
        .split('&')
        .map(|pair| {
            let canonical = pair.split_once('=').and_then(|(name, value)| {
                // A plus sign is a space to some and a plus sign to others.
                let is_json = matches!(name, "variables" | "extensions") && !value.contains('+');
                let text = operation::decode(value).filter(|_| is_json)?;
                let form = percent_encoded(&json::canonical(&text)?);
                (form != value).then(|| format!("{name}={form}"))
            });
            changed |= canonical.is_some();
            canonical.map_or(Cow::Borrowed(pair), Cow::Owned)
        })
        .collect();
    changed.then(|| pairs.join("&"))
}

/// As [`key::normalize`] leaves it: all but unreserved bytes encoded (RFC 3986 section 2.3).
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
